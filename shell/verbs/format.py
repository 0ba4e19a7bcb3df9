"""``metalog format DIR``: a folder for a new node's log, with users and ACLs to start closed.

Takes kafka-storage's options; what a folder then holds is ``snapshot.formatting``'s to know.
No salt, key or password is printed.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidRequest
from shell.output import Output
from shell.safe import shown

if TYPE_CHECKING:
    from metalog.records.message import Message
    from metalog.records.messages.voters_record import Endpoint
    from shell.node_config import NodeConfig
    from snapshot.formatting import Formatted

USAGE: Final = "[DIR] [--config FILE] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """
A folder without --config is for one node that is its own quorum: Kafka starts on it, and so
does metalog. An ACL is a line like a question, with ALLOW or DENY before it:

  metalog format /var/lib/node --add-scram-file users.txt \\
      --add-acl 'ALLOW User:app READ,WRITE topic:payments' \\
      --add-acl 'DENY User:* ALL topic:secret. --prefixed --host 10.0.0.9'

A credential is SCRAM-SHA-256=[name=alice,password=alice-secret], as for kafka-storage.
"""


def configure(parser: ArgumentParser) -> None:
    node = parser.add_argument_group("the node")
    node.add_argument(
        "directory", nargs="?", metavar="DIR", help="its metadata.log.dir (default: as configured)"
    )
    node.add_argument(
        "-c",
        "--config",
        metavar="FILE",
        help="its server.properties; all folders that it names are formatted",
    )
    node.add_argument("--node-id", type=int, metavar="N", help="as configured, else 1")
    node.add_argument(
        "-s",
        "--standalone",
        action="store_true",
        help="the node alone is the quorum, and the log says so (KIP-853); the default without"
        " --config",
    )
    node.add_argument(
        "-g",
        "--ignore-formatted",
        action="store_true",
        help="leave folders that are formatted already as they are",
    )
    begin = parser.add_argument_group("what the cluster begins with")
    begin.add_argument("-t", "--cluster-id", metavar="ID", help="a random one if left out")
    begin.add_argument("-r", "--release-version", metavar="VERSION", help="4.3, 4.3-IV0, …")
    begin.add_argument(
        "-f", "--feature", action="append", default=[], metavar="NAME=LEVEL", help="repeatable"
    )
    begin.add_argument(
        "-S", "--add-scram", action="append", default=[], metavar="CREDENTIAL", help="repeatable"
    )
    begin.add_argument(
        "--add-scram-file", metavar="FILE", help="credentials, one a line; - is standard input"
    )
    begin.add_argument(
        "--add-acl", action="append", default=[], metavar="ACL", help="repeatable; see below"
    )


class _Node(NamedTuple):
    node_id: int
    metadata_dir: Path
    directories: Sequence[Path]
    standalone: Endpoint | None


def run(arguments: Namespace, output: Output) -> int:
    from metalog.image.features import METADATA_VERSION, METADATA_VERSIONS
    from snapshot.formatting import Format, format_directories
    from snapshot.initial_features import initial_features

    config = _config(arguments)
    node = _node(arguments, config)
    features = initial_features(arguments.release_version, _chosen(arguments.feature))
    users = _user_records(arguments, features[METADATA_VERSION], output)
    acls = _acl_records(arguments.add_acl)
    if acls and config is not None and not config.has_authorizer:
        output.warn(f"{arguments.config} has no authorizer.class.name: nothing enforces the ACLs")
    formatted = format_directories(
        Format(
            node.metadata_dir,
            node.directories,
            node.node_id,
            [*_feature_records(features), *users, *acls],
            cluster_id=arguments.cluster_id,
            standalone=node.standalone,
            ignore_formatted=arguments.ignore_formatted,
        ),
        now_ms=time.time_ns() // 1_000_000,
        entropy=os.urandom,
    )
    _say(formatted, METADATA_VERSIONS[features[METADATA_VERSION]], output)
    return 0


def _say(formatted: Sequence[Formatted], version: str, output: Output) -> None:
    for each in formatted:
        if not output.is_text:
            output.record(
                {
                    "directory": str(each.directory),
                    "kind": each.kind,
                    "clusterId": each.cluster_id,
                    "nodeId": each.node_id,
                    "directoryId": each.directory_id,
                    "metadataVersion": version if each.is_new else None,
                    "formatted": each.is_new,
                }
            )
        elif each.is_new:
            output.line(
                f"Formatted {each.kind} {shown(str(each.directory))} with metadata.version"
                f" {version}, node {each.node_id}, cluster {shown(each.cluster_id)}."
            )
    if output.is_text and not any(each.is_new for each in formatted):
        output.line("All of the log directories are already formatted.")


def _config(arguments: Namespace) -> NodeConfig | None:
    if arguments.config is None:
        return None
    from shell.context import read_properties
    from shell.node_config import node_config

    return node_config(read_properties(Path(arguments.config)), arguments.config)


def _node(arguments: Namespace, config: NodeConfig | None) -> _Node:
    from metalog.records.messages.voters_record import Endpoint

    given = None if arguments.directory is None else Path(arguments.directory)
    if config is None:
        if given is None:
            raise InvalidRequest("which folder? give DIR, or --config server.properties")
        node_id = 1 if arguments.node_id is None else arguments.node_id
        if node_id < 0:
            raise InvalidRequest(f"--node-id {node_id}: a number from 0 on")
        return _Node(node_id, given, [given], Endpoint("CONTROLLER", "localhost", 9093))
    if arguments.node_id not in (None, config.node_id):
        raise InvalidRequest(
            f"{arguments.config} has node.id={config.node_id}; leave out --node-id"
        )
    metadata_dir = config.metadata_dir or given
    if metadata_dir is None:
        raise InvalidRequest(f"{arguments.config} has no log.dirs; give DIR")
    if given is not None and given.absolute() != metadata_dir.absolute():
        raise InvalidRequest(
            f"{arguments.config} has its metadata log in {metadata_dir}, not in {given}"
        )
    standalone = Endpoint(*_controller(arguments, config)) if arguments.standalone else None
    if standalone is None and config.controller is not None and not config.has_static_voters:
        raise InvalidRequest(
            "nothing says who votes: set controller.quorum.voters, or give --standalone for a"
            " quorum of this node alone"
        )
    return _Node(config.node_id, metadata_dir, config.directories or (metadata_dir,), standalone)


def _controller(arguments: Namespace, config: NodeConfig) -> tuple[str, str, int]:
    if config.controller is None:
        raise InvalidRequest(f"{arguments.config} is no controller's; --standalone is for those")
    if config.has_static_voters:
        raise InvalidRequest(
            f"{arguments.config} has controller.quorum.voters; --standalone wants"
            " controller.quorum.bootstrap.servers in its place"
        )
    return config.controller


def _chosen(texts: Iterable[str]) -> dict[str, int]:
    chosen = {}
    for text in texts:
        name, _, level = text.partition("=")
        if not level.isascii() or not level.isdigit():
            raise InvalidRequest(f"--feature {text}: write NAME=LEVEL, a number")
        chosen[name] = int(level)
    return chosen


def _feature_records(features: dict[str, int]) -> list[tuple[Message, int]]:
    from metalog.records.messages import FeatureLevelRecord

    return [(FeatureLevelRecord(name, level), 0) for name, level in features.items()]


def _user_records(
    arguments: Namespace, metadata_version: int, output: Output
) -> list[tuple[Message, int]]:
    lines = list(arguments.add_scram)
    if any("password=" in line for line in lines):
        output.note(
            "a password on a command line can be seen by others and stays in the shell's history;"
            " --add-scram-file reads it from a file or, as -, from standard input"
        )
    if arguments.add_scram_file is not None:
        lines += _lines_of(arguments.add_scram_file)
    if not lines:
        return []
    from metalog.controller.scram import SCRAM_SINCE

    if metadata_version < SCRAM_SINCE:
        raise InvalidRequest("SCRAM users need --release-version 3.5-IV2 or later")
    return [_user_record(line) for line in lines]


def _user_record(line: str) -> tuple[Message, int]:
    from metalog.records.messages import UserScramCredentialRecord
    from metalog.scram import SALT_BYTES, credential_of, salted_password
    from shell.scram_line import parse_scram_line

    user = parse_scram_line(line)
    salt = os.urandom(SALT_BYTES) if user.salt is None else user.salt
    salted = user.salted_password
    if salted is None:
        salted = salted_password(user.mechanism, user.password or "", salt, user.iterations)
    credential = credential_of(user.mechanism, salted, salt, user.iterations)
    return UserScramCredentialRecord(user.name, int(user.mechanism), *credential), 0


def _lines_of(name: str) -> list[str]:
    text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _acl_records(lines: Sequence[str]) -> Sequence[tuple[Message, int]]:
    if not lines:
        return []
    from metalog.controller.acl import create_acls
    from metalog.image.acls import EMPTY
    from shell.acl_line import parse_acl_line

    acls = [(line, acl) for line in lines for acl in parse_acl_line(line)]
    made = create_acls(EMPTY, [acl for _, acl in acls], os.urandom)
    for (line, _), error in zip(acls, made.response, strict=True):
        if error:
            raise InvalidRequest(f"ACL {line!r}: {error.message}")
    return made.records
