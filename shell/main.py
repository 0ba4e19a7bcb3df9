"""The ``metalog`` command: the table of verbs, and their common rules.

A verb's module is imported when the verb runs, so that start-up stays short. Exit codes: 0 yes, 1
no, 2 could not answer. An error is one message on stderr. This module must not know what any verb
does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from metalog.errors import MetalogError
from metalog.text.os_errors import os_error_text
from metalog.text.visible_text import safe, shortened
from shell.output.output import prepare_streams
from shell.run_verb import run_verb
from shell.verb_table import VerbTable, verbs_of
from shell.version import VERSION_LINE

YES: Final = 0
NO_ANSWER: Final = 2
_INTERRUPTED: Final = 130

VERBS: Final = verbs_of(
    {
        ("Ask", "shell.verbs.ask"): {
            "can": "Yes or no: may this principal do this (exit 0 or 1)",
            "explain": "Why, what nearly matched, and the smallest change that reverses it",
            "who-can": "Who may do this to that resource, and by which ACL",
            "access": "What a principal may do, as patterns and topic names",
        },
        ("Look", "shell.verbs.look"): {
            "status": "The log's content, how far it is committed, and its faults",
            "acls": "List ACLs, filtered",
            "users": "List SCRAM users",
            "topics": "List topics; --describe adds the ACLs of each topic",
            "history": "What changed, newest first: ACLs, users, one decision (--follow waits "
            "for more)",
            "diff": "What differs between two sources or two moments",
            "dump": "Every record of the log, as it was written",
            "shell": "Browse the log as a tree (SOURCE [-- COMMAND …])",
        },
        ("Check", "shell.verbs.check"): {
            "lint": "What is wrong, useless or dangerous in the ACLs",
            "test": "Test the ACLs against expectations in files",
            "prove": "Prove that nobody, or only some, may do something; or find a counterexample",
            "minimize": "A smaller set of ACLs, proven to have the same meaning",
            "plan": "What apply would change, for whom, and which real requests it would break",
        },
        ("Change", "shell.verbs.change"): {
            "archive": "Copy segments and snapshots before the controller deletes them",
            "format": "Format a new metadata log folder",
            "apply": "Apply the ACLs of files, or a saved plan, to a log or cluster",
            "kafka-acls": "Add, remove and list with kafka-acls' own options",
            "passwd": "Set or delete a SCRAM user's password",
            "export": "Write ACLs and users: yaml, json, csv, avro, commands, strimzi, checkpoint",
        },
        ("Run", "shell.verbs"): {
            "serve": "Run a node that Kafka's own admin tools can drive",
            "pipeline": "Audit logs on Spark: build, unused, least-privilege, what-if, report, "
            "follow, …",
            "exporter": "Print or serve metrics of any SOURCE for Prometheus",
            "mcp": "Answer an assistant's questions (Model Context Protocol)",
        },
        ("Set up", "shell.verbs"): {
            "schema": "Print the JSON Schema of a file that people write",
            "man": "Print the manual page of a verb",
            "completion": "Print completion for bash, zsh or fish",
        },
    }
)

_OPENING: Final = """\
usage: metalog VERB SOURCE [options]      what a Kafka metadata log says, and why
"""

_CLOSING: Final = """\
SOURCE is a Kafka metadata.log.dir, its __cluster_metadata-0 folder, a .log or .checkpoint file,
the folders of several voters joined by +, quorum://HOST:PORT or topic://HOST:PORT/TOPIC; or, for
the present state only, cluster://HOST:PORT, zookeeper://HOST:PORT, a file of ACLs or a folder of
YAML.
No verb writes to a SOURCE. TARGET is a cluster, its ZooKeeper, or the folder of a stopped node.

metalog VERB --help says more.  Exit codes: 0 yes, 1 no, 2 could not answer.
"""

TABLE: Final = VerbTable("", VERBS, _OPENING, _CLOSING)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one ``metalog`` command; returns its exit code."""
    if argv is None and os.getpid() == 1:
        _take_sigterm_as_ctrl_c()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except BrokenPipeError:
        _abandon_stdout()
        return NO_ANSWER
    except KeyboardInterrupt:
        return _INTERRUPTED
    except MetalogError as error:
        return _fail(str(error))
    except OSError as error:
        _abandon_stdout_if_full()
        return _fail(os_error_text(error))
    except Exception as error:
        return _fault(error)


def _take_sigterm_as_ctrl_c() -> None:
    """Handle SIGTERM like Ctrl-C. By default, a container's first process ignores SIGTERM."""
    import signal

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` makes Python ignore it
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def _fault(error: Exception) -> int:
    if _is_interrupt(error):
        return _INTERRUPTED
    if os.environ.get("METALOG_DEBUG"):
        raise error
    return _fail(
        f"this is a bug in metalog, {type(error).__name__}: {error}; "
        "please report it, with the output of METALOG_DEBUG=1"
    )


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused the error. Python can raise another error from ``KeyboardInterrupt``
    while it creates a class."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _run(arguments: list[str], table: VerbTable = TABLE) -> int:
    leading, name, rest = _split_at_verb(arguments)
    if name == "help":
        return _run([*rest, "--help"], table)
    if name is None:
        return _without_verb(leading, table)
    if name not in table.verbs:
        return _unknown_verb(name, table, leading)
    verb = table.verbs[name]
    loaded = verb.load()
    if isinstance(loaded, VerbTable):
        return _run([*leading, *rest], loaded)
    return run_verb(table.prefix + name, verb, loaded, [*leading, *rest])


def _split_at_verb(arguments: list[str]) -> tuple[list[str], str | None, list[str]]:
    """For ``metalog --color never acls @demo``: the options, the verb, and the words after it."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        position += 2 if arguments[position] in ("--color", "-o", "--output") else 1
    if position >= len(arguments):
        return arguments, None, []
    return arguments[:position], arguments[position], arguments[position + 1 :]


def _without_verb(arguments: list[str], table: VerbTable) -> int:
    out, _ = prepare_streams(json=False)
    if "--version" in arguments:
        out.write(f"{VERSION_LINE}\n")
        out.flush()
        return YES
    unknown = [text for text in arguments if text not in ("-h", "--help")]
    if unknown:
        name = _option_name(unknown[0])
        return _fail(f"unknown option {name} without a verb; {_listed(table)}")
    out.write(table.overview())
    out.flush()
    return YES if arguments else NO_ANSWER


def _unknown_verb(verb: str, table: VerbTable, leading: Sequence[str] = ()) -> int:
    if leading:  # not shown: the verb, which can be the last option's value (a password)
        return _fail(f"options such as {_option_name(leading[-1])} come after the verb")
    from authorizer.analysis.explain.names import nearest_name

    near = nearest_name(verb, table.verbs)
    if not table.prefix and verb in (pipeline := _pipeline()).verbs:
        near = pipeline.prefix + verb
    advice = f"did you mean {near}?" if near else _listed(table)
    return _fail(f"unknown verb {verb!r}; {advice}")


def _option_name(word: str) -> str:
    from shell.options import option_name

    return option_name(word)


def _pipeline() -> VerbTable:
    from shell.verbs.pipeline import TABLE as PIPELINE

    return PIPELINE


def _listed(table: VerbTable) -> str:
    return f"metalog {table.prefix}--help lists the verbs"


def _fail(message: str) -> int:
    if sys.stderr is not None:
        from shell.output.wrapping import terminal_width, wrapped

        text = f"metalog: {safe(shortened(message))}"
        width = terminal_width(sys.stderr)
        lines = [text] if width is None else wrapped(text, width, 2)
        sys.stderr.writelines(f"{line}\n" for line in lines)
    return NO_ANSWER


def _abandon_stdout() -> None:
    """Stop Python from writing the rest of stdout at exit."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())


def _abandon_stdout_if_full() -> None:
    """On a full disk, a write at exit would change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        _abandon_stdout()


if __name__ == "__main__":
    sys.exit(main())
