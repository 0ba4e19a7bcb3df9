"""``metalog export SOURCE``: writes its ACLs and users in a format for other programs.

The same state gives the same bytes, so a second run changes no file. This module must not know how
a format is written.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from metalog.disk.files import LOCAL_FILES, write_out
from metalog.errors import InvalidRequest
from metalog.image.metadata import MetadataImage
from metalog.records.message import ControlMessage
from metalog.text.plurals import counted
from metalog.text.visible_text import safe
from metalog_sources.certainty import MARK
from metalog_sources.formats.document import Document, ScramUser, in_order
from metalog_sources.names import folder_to_write
from shell.context import add_source
from shell.inputs.acl_files import SourceDocument, read_document
from shell.output.output import Output
from shell.tasks.acl_words import sentence
from shell.tasks.split_export import write_split
from shell.views.export_omissions import ExportOmissions

USAGE: Final = "SOURCE [-o FORMAT] [--to PATH] [options]"
_SNAPSHOTS: Final = {"checkpoint": "a checkpoint", "avro-snapshot": "a snapshot"}
FORMATS: Final = ("yaml", "json", "csv", "avro", "commands", "strimzi", *_SNAPSHOTS)
PAGED: Final = False
EPILOG: Final = """\
metalog export /var/kafka/metadata > acls.yaml                 to review, and to plan from
metalog export SOURCE --split principal --to acls/             a file for each principal
metalog export SOURCE -o checkpoint --to DIR --include-credentials

csv is the format of kafka-security-manager, commands are for kafka-acls, strimzi is KafkaUser
resources. csv, commands and avro contain ACLs only. A snapshot contains all metadata: checkpoint
is Kafka's format, avro-snapshot has the same records in Avro.
Without --include-credentials, the output has no salts and keys of users, and a snapshot has
neither users nor secret settings."""
_SUFFIXES: Final = {
    "yaml": ".yaml",
    "json": ".json",
    "csv": ".csv",
    "commands": ".sh",
    "strimzi": ".yaml",
}
_ACLS_ALONE: Final = ("avro", "csv", "commands")
_WITHOUT_COMMENTS: Final = (*_SNAPSHOTS, "avro")
_NO_CREDENTIAL: Final = "its credential is not in the source"


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    written = parser.add_argument_group("output")
    written.add_argument(
        "--to", metavar="PATH", help="a file; with --split or for a snapshot, a folder"
    )
    written.add_argument(
        "--split",
        choices=("principal",),
        metavar="principal",
        help="a file for each principal: User/NAME.yaml",
    )
    written.add_argument(
        "--include-credentials",
        action="store_true",
        help="include salts and keys of SCRAM users, from which passwords can be guessed",
    )
    strimzi = parser.add_argument_group("KafkaUser resources")
    strimzi.add_argument(
        "--cluster", metavar="NAME", help="the Kafka resource, for the label strimzi.io/cluster"
    )
    strimzi.add_argument(
        "--api-version",
        choices=("v1", "v1beta2"),
        metavar="VERSION",
        help="the version of Strimzi's API (default: v1; v1beta2 is for older operators)",
    )


def run(arguments: Namespace, output: Output) -> int:
    _check(arguments, output)
    with _private_files(arguments):
        return _export(arguments, output)


@contextmanager
def _private_files(arguments: Namespace) -> Iterator[None]:
    if not arguments.include_credentials:
        yield
        return
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


def _export(arguments: Namespace, output: Output) -> int:
    is_snapshot = output.format in _SNAPSHOTS
    exported = read_document(
        arguments.source,
        arguments,
        output,
        is_whole=is_snapshot,
        rests_on_users=_writes_users(arguments, output),
    )
    if output.missing and output.format in _WITHOUT_COMMENTS:
        raise InvalidRequest(
            f"-o {output.format} cannot express what is missing, and would look complete; export "
            "-o yaml, delete its lines about what is missing, and export that file"
        )
    if is_snapshot:
        _write_snapshot(exported, arguments, output)
        return 0
    document = exported.document
    if not arguments.include_credentials:
        document = document._replace(users=tuple(map(_without_credential, document.users)))
    _refuse_inexpressible(document, output)
    left_out = ExportOmissions()
    write_format = _writer(arguments, output, left_out)

    def write(part: Document) -> bytes:
        return _missing_comment(output) + write_format(part)

    if output.format == "csv":
        _warn_of_escapes(document, output)
    with output.busy(f"writing {counted(len(document.entries), 'ACL')}"):
        if arguments.split:
            suffix = _SUFFIXES[output.format]
            for path in write_split(document, Path(arguments.to), suffix, write):
                output.warn(
                    f"{path}: not written by this export, "
                    "because the source has nothing for this file"
                )
        elif arguments.to is not None:
            write_out(Path(arguments.to), write(document))
        else:
            output.raw(write(document))
    left_out.say(output)
    return 0


def _writes_users(arguments: Namespace, output: Output) -> bool:
    if output.format in _SNAPSHOTS:
        return bool(arguments.include_credentials)
    return output.format not in _ACLS_ALONE


def _refuse_inexpressible(document: Document, output: Output) -> None:
    acls = document.acls
    if not acls and document.users and output.format in _ACLS_ALONE:
        raise InvalidRequest(f"-o {output.format} contains ACLs only, and SOURCE has only users")
    if (acls or document.users) and not _is_expressible(document, output):
        users = f" and {counted(len(document.users), 'SCRAM user')}" if document.users else ""
        what = f"{counted(len(acls), 'ACL')}{users}"
        raise InvalidRequest(f"-o {output.format} cannot express any of the {what}")


def _is_expressible(document: Document, output: Output) -> bool:
    if output.format == "strimzi":
        from metalog_sources.formats.strimzi import has_resources

        return has_resources(document)
    if output.format == "commands":
        from authorizer.analysis.remedies.commands import why_no_command

        return any(why_no_command(acl) is None for acl in document.acls)
    return True


def _warn_of_escapes(document: Document, output: Output) -> None:
    from metalog_sources.formats.csv import escaped_acls

    if escaped := escaped_acls(document):
        output.warn(
            "a spreadsheet or a terminal would interpret a name in"
            f" {counted(len(escaped), 'ACL')}, such as {sentence(escaped[0])}; the name is escaped:"
            " metalog reads the original name, but kafka-security-manager reads the escaped name;"
            " export YAML or JSON to keep it"
        )


def _missing_comment(output: Output) -> bytes:
    if not output.missing:
        return b""
    if output.format == "json":
        from metalog_sources.formats.json import write_missing

        return write_missing(output.missing_fields).encode()
    return "".join(f"{MARK}{safe(line)}\n" for line in output.missing).encode()


def _check(arguments: Namespace, output: Output) -> None:
    for option in ("cluster", "api_version"):
        if getattr(arguments, option) is not None and output.format != "strimzi":
            raise InvalidRequest(f"--{option.replace('_', '-')} is for -o strimzi; leave it out")
    needs_folder = "--split principal" if arguments.split else _SNAPSHOTS.get(output.format)
    if arguments.to is None:
        if needs_folder is not None:
            raise InvalidRequest(f"{needs_folder} is written to a folder; give --to FOLDER")
        if output.format == "avro" and output.out.isatty():
            raise InvalidRequest("Avro is not for a terminal; give --to FILE")
    elif needs_folder is not None and folder_to_write(arguments.to).is_file():
        raise InvalidRequest(f"--to {arguments.to}: is a file; {needs_folder} needs a folder")
    elif needs_folder is None and Path(arguments.to).is_dir():
        raise InvalidRequest(f"--to {arguments.to}: is a folder; -o {output.format} needs a file")
    if arguments.split and output.format not in _SUFFIXES:
        raise InvalidRequest(f"-o {output.format} is one file and cannot be split")


def _without_credential(user: ScramUser) -> ScramUser:
    iterations = user.credential.iterations
    return user._replace(credential=type(user.credential)(b"", b"", b"", iterations))


def _writer(
    arguments: Namespace, output: Output, left_out: ExportOmissions
) -> Callable[[Document], bytes]:
    if output.format == "avro":
        from metalog_sources.formats.avro import write_avro

        return lambda document: write_avro(_acls_alone(document, left_out))
    if output.format == "strimzi":
        return lambda document: _strimzi(document, arguments, left_out).encode()
    if output.format == "commands":
        return lambda document: _commands(_acls_alone(document, left_out), output).encode()
    write = _text_writer(output.format)
    if output.format in _ACLS_ALONE:
        return lambda document: write(_acls_alone(document, left_out)).encode()
    return lambda document: write(document).encode()


def _text_writer(format: str) -> Callable[[Document], str]:
    if format == "csv":
        from metalog_sources.formats.csv import write_csv

        return write_csv
    if format == "json":
        from metalog_sources.formats.json import write_json

        return write_json
    from metalog_sources.formats.yaml import write_yaml

    return write_yaml


def _acls_alone(document: Document, left_out: ExportOmissions) -> Document:
    if document.users:
        left_out.part("SCRAM users")
    if document.owns:
        left_out.part("owns")
    return Document(document.entries)


def _strimzi(document: Document, arguments: Namespace, left_out: ExportOmissions) -> str:
    from metalog_sources.formats.strimzi import VERSIONS, write_strimzi

    written = write_strimzi(
        document, version=arguments.api_version or VERSIONS[0], cluster=arguments.cluster
    )
    left_out.acls(written.acls_left_out)
    left_out.users(written.users_left_out)
    if document.owns:
        left_out.part("owns")
    if written.authenticated:
        left_out.advise(
            "the operator makes new passwords, unless spec.authentication.password names a Secret"
        )
    if arguments.cluster is None:
        left_out.advise(
            "without --cluster NAME the resources have no label, so no operator applies them"
        )
    return written.text


def _commands(document: Document, output: Output) -> str:
    from authorizer.analysis.remedies.commands import (
        CommandKind,
        kafka_acls_command,
        why_no_command,
    )

    lines = []
    for entry in in_order(document.entries):
        command = kafka_acls_command(CommandKind.ADD, entry.acl)
        if command is None:
            output.warn(f"left out: {sentence(entry.acl)}: {why_no_command(entry.acl)}")
        else:
            lines.append(command + "\n")
    return "".join(lines)


def _write_snapshot(exported: SourceDocument, arguments: Namespace, output: Output) -> None:
    from metalog_sources.store import image_of
    from snapshot.writer import write_snapshot

    image = exported.image
    if image is None:
        users = tuple(user for user in exported.document.users if user.credential.salt)
        for user in exported.document.users:
            if not user.credential.salt and arguments.include_credentials:
                output.warn(f"left out: SCRAM user {user.user}: {_NO_CREDENTIAL}")
        image = image_of(exported.document._replace(users=users))
    if not arguments.include_credentials:
        image = _without_secrets(image, output)
    folder = Path(arguments.to)
    LOCAL_FILES.make_folder(folder)
    path = write_snapshot(
        image,
        folder,
        timestamp=max(image.provenance.timestamp, 0),
        control=_quorum_records(exported, image),
        in_avro=output.format == "avro-snapshot",
    )
    output.note(f"written: {path}")


def _quorum_records(
    exported: SourceDocument, image: MetadataImage
) -> Sequence[tuple[ControlMessage, int]]:
    """Read from the log, because an image has no voters."""
    from metalog.log.quorum.voters import quorum_at, quorum_records

    if exported.image is None:
        return ()
    return quorum_records(quorum_at(exported.source.log, image.provenance.offset))


def _without_secrets(image: MetadataImage, output: Output) -> MetadataImage:
    from metalog.image.state.configs import ConfigsImage
    from metalog.image.state.scram import EMPTY
    from metalog.records.masking import is_secret_config

    secret = [
        (resource, name)
        for resource, config in image.configs.resources.items()
        for name in config
        if is_secret_config(name)
    ]
    credential_count = sum(map(len, image.scram.mechanisms.values()))
    if credential_count or secret:
        credentials = counted(credential_count, "SCRAM credential")
        output.warn(
            f"left out without --include-credentials: {credentials} and "
            f"{counted(len(secret), 'secret setting')}; a log that begins at this snapshot does "
            "not have them"
        )
    resources = image.configs.resources
    for resource, name in secret:
        kept = resources[resource].changed({name: None})
        resources = resources.changed({resource: kept or None})
    return image._replace(scram=EMPTY, configs=ConfigsImage(resources))
