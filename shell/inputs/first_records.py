"""The first records of a new cluster, from the options of ``format``: features, users, ACLs.

For the same user and mechanism, ``--add-scram-file`` wins, then ``--add-scram``, then ``--import``.
This module must not know which folders are formatted.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metalog.disk.files import LOCAL_FILES, read_whole
from metalog.errors import InvalidRequest
from metalog.scram import MAX_ITERATIONS, MIN_ITERATIONS
from metalog.text.plurals import counted

if TYPE_CHECKING:
    from metalog.acl import Acl
    from metalog.image.metadata import MetadataImage
    from metalog.records.message import Message
    from metalog_sources.formats.document import ScramUser
    from shell.output.output import Output

    Records = Sequence[tuple[Message, int]]


def first_records(arguments: Namespace, features: dict[str, int], output: Output) -> Records:
    """The bootstrap records, features first.

    Raises:
        InvalidRequest: an option is invalid, Kafka would refuse a record, or the first controller
            could not write the records.
    """
    from metalog.controller.activation import check_kafkas_batches
    from metalog.controller.migration import Migration, migrate
    from metalog.controller.transaction import transaction_batches
    from metalog.image.state.features import METADATA_VERSION
    from metalog_sources.formats.document import joined
    from shell.inputs.acl_files import read_document

    imported = joined(
        read_document(text, arguments, output, rests_on_users=True).document
        for text in arguments.imports
    )
    typed = [_credential(line, place) for line, place in _credential_lines(arguments, output)]
    users = {user[:2]: user for user in (*_with_credentials(imported.users, output), *typed)}
    acls = [*imported.acls, *_acls(arguments.add_acl)]
    levels, image = _features(features)
    change = Migration(acls, credentials=[*users.values()])
    records = [*levels, *migrate(image, change, os.urandom).records]
    transaction_batches(records, "", features[METADATA_VERSION])
    check_kafkas_batches(records)
    return records


def _features(features: dict[str, int]) -> tuple[Records, MetadataImage]:
    from metalog.image.delta import MetadataDelta
    from metalog.image.manifest import NOTHING
    from metalog.image.metadata import EMPTY
    from metalog.records.messages import FeatureLevelRecord

    records = [FeatureLevelRecord(name, level) for name, level in features.items()]
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)
    return [(record, 0) for record in records], delta.apply(NOTHING)


def _with_credentials(users: Iterable[ScramUser], output: Output) -> Iterator[ScramUser]:
    left_out = 0
    for user in users:
        if not user.credential.salt:
            left_out += 1
            continue
        if not MIN_ITERATIONS <= user.credential.iterations <= MAX_ITERATIONS:
            raise InvalidRequest(
                f"user {user.user}: {user.credential.iterations} iterations; Kafka accepts "
                f"{MIN_ITERATIONS} to {MAX_ITERATIONS}"
            )
        yield user
    if left_out:
        output.warn(
            f"left out: {counted(left_out, 'SCRAM user')} of --import without credentials;"
            " metalog export --include-credentials writes them"
        )


def _credential_lines(arguments: Namespace, output: Output) -> list[tuple[str, str]]:
    lines = [(line, "--add-scram") for line in arguments.add_scram]
    if any("password=" in line for line, _ in lines):
        output.note(
            "a password on a command line can be seen by others and stays in the shell's history;"
            " --add-scram-file FILE reads it from a file, --add-scram-file - from standard input"
        )
    if arguments.add_scram_file is not None:
        lines += _lines_of(arguments.add_scram_file)
    return lines


def _credential(line: str, place: str) -> ScramUser:
    from metalog.scram import SALT_BYTES, credential_of, salted_password
    from metalog_sources.formats.document import ScramUser
    from shell.arguments.scram_line import parse_scram_line

    try:
        user = parse_scram_line(line)
    except InvalidRequest as error:
        raise InvalidRequest(f"{place}: {error}") from None
    salt = os.urandom(SALT_BYTES) if user.salt is None else user.salt
    salted = user.salted_password
    if salted is None:
        salted = salted_password(user.mechanism, user.password or "", salt, user.iterations)
    return ScramUser(
        user.name, user.mechanism, credential_of(user.mechanism, salted, salt, user.iterations)
    )


def _lines_of(name: str) -> list[tuple[str, str]]:
    """Only LF or CR LF ends a line: another line separator can be part of a password."""
    data = sys.stdin.buffer.read() if name == "-" else read_whole(LOCAL_FILES, Path(name))
    lines = [
        (line.removesuffix(b"\r"), f"{name}, line {number}")
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.strip() and not line.startswith(b"#")
    ]
    if not lines:
        raise InvalidRequest(f"--add-scram-file {name}: no credential; nothing was formatted")
    return [(line.decode(errors="surrogateescape"), place) for line, place in lines]


def _acls(lines: Iterable[str]) -> Iterator[Acl]:
    from metalog.controller.acl import why_not
    from shell.arguments.acl_line import parse_acl_line

    for line in lines:
        for acl in parse_acl_line(line):
            if error := why_not(acl):
                raise InvalidRequest(f"ACL {line!r}: {error.message}")
            yield acl
