"""``metalog passwd TARGET USER``: sets a SCRAM user's password, or deletes its credentials.

A password is never an argument, because others can see arguments. No message of this module repeats
a password. This module must not know how a target stores a password.
"""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.disk.files import LOCAL_FILES, read_whole
from metalog.errors import InvalidRequest
from metalog.records.primitives.text import text_problem
from metalog.scram import MAX_ITERATIONS, MIN_ITERATIONS, SALT_BYTES, ScramMechanism
from metalog.text.plurals import plural
from metalog.text.visible_text import shown
from metalog_sources.source_kinds import USER_TARGETS
from metalog_sources.targets.answers import PasswordOffer
from metalog_sources.targets.credentials import TakesPasswords, credential_target_of
from shell.arguments.confirm import confirms, require_terminal
from shell.arguments.scram_line import MECHANISMS
from shell.context import add_command_config, add_config, add_source_argument, opened_source
from shell.inputs.lockout import Deletion, add_lockout, refuse_lost_login
from shell.options import TAKES_SECRETS
from shell.output.output import Output

if TYPE_CHECKING:
    from metalog_sources.source import Source
    from metalog_sources.targets.credentials import CredentialTarget

USAGE: Final = "TARGET USER [--password-file FILE] [--mechanism M] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog passwd cluster://broker:9092 alice --command-config admin.properties
pass show kafka/alice | metalog passwd @prod alice --password-file -
metalog passwd DIR alice --delete

Without --mechanism every mechanism of the user is changed, so that no old password stays valid;
a new user gets SCRAM-SHA-256 and SCRAM-SHA-512. A password policy (KIP-506)
applies only on a metalog node, over TLS and without --iterations. Exit code: 0 done, 2 not done."""
_USER_TYPE: Final = "User:"


def configure(parser: ArgumentParser) -> None:
    add_source_argument(parser, USER_TARGETS, metavar="TARGET")
    parser.add_argument("user", metavar="USER", help="the user's login name")
    parser.add_argument("extra", nargs="*", default=[], help=SUPPRESS)
    password = parser.add_argument_group("the password")
    password.add_argument(
        "--password-file",
        metavar="FILE",
        help="file with the password as its only line; - is standard input (default: prompt twice)",
    )
    password.add_argument(
        "--mechanism",
        action="append",
        choices=tuple(MECHANISMS),
        metavar="MECHANISM",
        help="SCRAM-SHA-256 or SCRAM-SHA-512, repeatable (default: the user's;"
        " both for a new user)",
    )
    password.add_argument(
        "--iterations",
        type=int,
        metavar="N",
        help=f"{MIN_ITERATIONS} to {MAX_ITERATIONS} (default: the user's; {MIN_ITERATIONS} for"
        " a new user); with this option, metalog salts the password, so no node applies its"
        " password policy",
    )
    password.add_argument(
        "--delete", action="store_true", help="delete the user's credentials instead"
    )
    password.add_argument("--yes", action="store_true", help="with --delete: do not ask")
    add_command_config(parser)
    add_lockout(parser)
    add_config(parser)
    parser.set_defaults(salvage=None, **{TAKES_SECRETS: True})


def run(arguments: Namespace, output: Output) -> int:
    _check(arguments)
    source = opened_source(arguments, output)
    target = credential_target_of(source)
    try:
        users = target.scram_users()
        _check_name(arguments.user, users)
        if arguments.delete:
            _delete(source, target, arguments, users, output)
        else:
            _set(target, arguments, users.get(arguments.user, {}), output)
    finally:
        target.close()
    return 0


def _check(arguments: Namespace) -> None:
    if arguments.extra or arguments.rest:
        raise InvalidRequest(
            "a password cannot be an argument, where others can see it; leave it out for a prompt,"
            " or give --password-file"
        )
    if not arguments.user:
        raise InvalidRequest("USER is empty; give the name of a user")
    if problem := text_problem(arguments.user):
        raise InvalidRequest(f"USER {problem}; give another name")
    if arguments.delete:
        for option, value in (
            ("--password-file", arguments.password_file),
            ("--iterations", arguments.iterations),
        ):
            if value is not None:
                raise InvalidRequest(f"--delete needs no {option}; leave out one of these options")
    iterations = arguments.iterations
    if iterations is not None and not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise InvalidRequest(
            f"--iterations: give a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}"
        )


def _check_name(user: str, users: Iterable[str]) -> None:
    if user.startswith(_USER_TYPE) and user not in users:
        raise InvalidRequest(
            f"{user} is a principal; write its SCRAM user: {user.removeprefix(_USER_TYPE)}"
        )


def _set(
    target: CredentialTarget,
    arguments: Namespace,
    old_iterations: Mapping[ScramMechanism, int],
    output: Output,
) -> None:
    mechanisms = _chosen(arguments) or sorted(old_iterations) or list(ScramMechanism)
    password = _password(arguments, output)
    if isinstance(target, TakesPasswords):
        offer = target.password_offer()
        if offer is PasswordOffer.USABLE and arguments.iterations is None:
            _send(target, arguments.user, mechanisms, password, output)
            return
        if offer is not PasswordOffer.NONE:
            why = "with --iterations" if arguments.iterations is not None else "without TLS"
            output.warn(
                f"{why}, metalog salts the password, so the node does not apply a password policy"
            )
    for mechanism in mechanisms:
        iterations = arguments.iterations or old_iterations.get(mechanism, MIN_ITERATIONS)
        salt = os.urandom(SALT_BYTES)
        target.set_password(arguments.user, mechanism, password, salt, iterations)
        _say(output, "set", arguments.user, mechanism, iterations)


def _send(
    target: TakesPasswords,
    user: str,
    mechanisms: Sequence[ScramMechanism],
    password: str,
    output: Output,
) -> None:
    """The node chooses the iterations."""
    for mechanism in mechanisms:
        target.send_password(user, mechanism, password)
        iterations = target.scram_users()[user][mechanism]
        _say(output, "set", user, mechanism, iterations)


def _delete(
    source: Source,
    target: CredentialTarget,
    arguments: Namespace,
    users: Mapping[str, Mapping[ScramMechanism, int]],
    output: Output,
) -> None:
    user = arguments.user
    if user not in users:
        from authorizer.analysis.explain.names import nearest_name

        near = nearest_name(user, users.keys())
        advice = f"did you mean {near}?" if near else "metalog users lists the users"
        raise InvalidRequest(f"there is no SCRAM user {user}; {advice}")
    mechanisms = _chosen(arguments) or sorted(users[user])
    for mechanism in mechanisms:
        if mechanism not in users[user]:
            raise InvalidRequest(f"{user} has no {mechanism.mechanism_name} credential")
    if not arguments.yes:
        require_terminal(output.err, "--yes")
    if not arguments.allow_lockout:
        refuse_lost_login(source, target, Deletion(user, mechanisms, users), arguments, output)
    if not arguments.yes:
        _ask_to_delete(user, mechanisms, output)
    for mechanism in mechanisms:
        target.delete_credential(user, mechanism)
        _say(output, "deleted", user, mechanism, users[user][mechanism])


def _ask_to_delete(user: str, mechanisms: Sequence[ScramMechanism], output: Output) -> None:
    names = " and ".join(mechanism.mechanism_name for mechanism in mechanisms)
    what = plural(len(mechanisms), "credential")
    output.err.write(f"Delete the {names} {what} of {shown(user)}? [y/N] ")
    output.err.flush()
    if not confirms():
        raise InvalidRequest("nothing was changed")


def _chosen(arguments: Namespace) -> Sequence[ScramMechanism]:
    return [MECHANISMS[name] for name in dict.fromkeys(arguments.mechanism or ())]


def _say(
    output: Output, change: str, user: str, mechanism: ScramMechanism, iterations: int
) -> None:
    if not output.is_text:
        output.record(
            {"change": change, "user": user, "mechanism": mechanism.name, "iterations": iterations}
        )
    elif change == "set":
        name = mechanism.mechanism_name
        output.line(f"Set the {name} password of {shown(user)}, {iterations} iterations.")
    else:
        output.line(f"Deleted the {mechanism.mechanism_name} credential of {shown(user)}.")
    output.flush()


def _password(arguments: Namespace, output: Output) -> str:
    if arguments.password_file is None:
        password = _prompted(arguments.user, output)
    else:
        password = _only_line(arguments.password_file)
    if not password:
        raise InvalidRequest("the password is empty; nothing was changed")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the password is not UTF-8; nothing was changed") from None
    return password


def _prompted(user: str, output: Output) -> str:
    from getpass import getpass

    require_terminal(output.err, "--password-file FILE (the FILE - is standard input)")
    try:
        password = getpass(f"New password for {shown(user)}: ")
        again = getpass("Once more: ")
    except EOFError:
        output.err.write("\n")
        raise InvalidRequest("no password; nothing was changed") from None
    if password != again:
        raise InvalidRequest("the two passwords differ; nothing was changed")
    return password


def _only_line(name: str) -> str:
    if name != "-":
        data = read_whole(LOCAL_FILES, Path(name))
    elif sys.stdin is None or sys.stdin.isatty():
        raise InvalidRequest(
            "--password-file -: standard input is a terminal, or closed; for a prompt, leave out"
            " --password-file"
        )
    else:
        data = sys.stdin.buffer.read()
    try:
        lines = data.decode().removesuffix("\n").removesuffix("\r").split("\n")
    except UnicodeDecodeError:
        raise InvalidRequest(f"{name}: not UTF-8; nothing was changed") from None
    if len(lines) > 1:
        raise InvalidRequest(f"{name}: more than one line; write only the password")
    return lines[0]
