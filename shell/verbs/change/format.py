"""``metalog format DIR``: makes a new node's log folder, with users and ACLs from the start.

The verb has kafka-storage's options, and prints no salt, key or password. This module must not know
the folder's content; ``snapshot.formatting`` does.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.text.visible_text import shown
from metalog.text.whole_numbers import whole_number
from metalog_sources.names import folder_to_write
from shell.arguments.controllers_line import parse_controllers
from shell.context import add_command_config, check_command_config
from shell.options import TAKES_SECRETS
from shell.output.output import Output

if TYPE_CHECKING:
    from shell.tasks.broker.node_config import NodeProperties
    from snapshot.formatting import Controller, Formatted, Records

USAGE: Final = "[DIR] [--config FILE] [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """
With none of --config, -I and -N, the folder is for one node that is the whole quorum. Both
Kafka and metalog serve can use it. Write an ACL as one line:

  metalog format /var/lib/node --add-scram-file users.txt \\
      --add-acl 'ALLOW User:app READ,WRITE topic:payments' \\
      --add-acl 'DENY User:* ALL topic:secret. --prefixed --host 10.0.0.9'

A credential is SCRAM-SHA-256=[name=alice,password=alice-secret], as for kafka-storage.
"""
_LISTENER: Final = "CONTROLLER"


def configure(parser: ArgumentParser) -> None:
    node = parser.add_argument_group("the node")
    node.add_argument(
        "directory", nargs="?", metavar="DIR", help="the metadata.log.dir (default: as configured)"
    )
    node.add_argument(
        "-c",
        "--config",
        metavar="FILE",
        help="the node's server.properties; all folders that it names are formatted",
    )
    node.add_argument(
        "--node-id", type=int, metavar="N", help="node.id (default: as configured, else 1)"
    )
    quorum = node.add_mutually_exclusive_group()
    quorum.add_argument(
        "-s",
        "--standalone",
        action="store_true",
        help="write this node into the log as the only voter (KIP-853); the default without"
        " --config",
    )
    quorum.add_argument(
        "-I",
        "--initial-controllers",
        metavar="LIST",
        help="the quorum's voters; give every voter the same list: ID@HOST:PORT:DIRECTORY-ID,…",
    )
    quorum.add_argument(
        "-N",
        "--no-initial-controllers",
        action="store_true",
        help="write no voters: for a node that joins an existing quorum",
    )
    node.add_argument(
        "-g",
        "--ignore-formatted",
        action="store_true",
        help="skip folders that are already formatted",
    )
    begin = parser.add_argument_group("the cluster's initial contents")
    begin.add_argument(
        "-t", "--cluster-id", metavar="ID", help="the cluster id (default: a random one)"
    )
    begin.add_argument(
        "-r", "--release-version", metavar="VERSION", help="4.4, 4.4-IV0, … (default: 4.3)"
    )
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
    begin.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="SOURCE",
        help="copy the ACLs of a SOURCE, such as a file, and its SCRAM users that have"
        " credentials; repeatable",
    )
    add_command_config(begin)
    parser.set_defaults(at=None, committed=False, salvage=None, **{TAKES_SECRETS: True})


class _Node(NamedTuple):
    node_id: int
    metadata_dir: Path
    directories: Sequence[Path]
    controllers: Sequence[Controller]


def run(arguments: Namespace, output: Output) -> int:
    from metalog.image.state.features import METADATA_VERSION, METADATA_VERSIONS
    from shell.inputs.first_records import first_records
    from snapshot.formatting import Format, format_directories
    from snapshot.initial_features import check_kraft_version, initial_features

    check_command_config(arguments, arguments.imports)
    config = _config(arguments)
    node = _node(arguments, config)
    chosen = _chosen(arguments.feature)
    in_log = bool(node.controllers) or arguments.no_initial_controllers
    check_kraft_version(chosen, voters_are_in_log=in_log)
    allows_unstable = config is not None and config.allows_unstable
    features = initial_features(arguments.release_version, chosen, allows_unstable=allows_unstable)
    records = first_records(arguments, features, output)
    if config is not None and not config.has_authorizer and _has_acls(records):
        output.warn(f"{arguments.config} has no authorizer.class.name: nothing enforces the ACLs")
    formatted = format_directories(
        Format(
            node.metadata_dir,
            node.directories,
            node.node_id,
            records,
            cluster_id=arguments.cluster_id,
            controllers=node.controllers,
            ignore_formatted=arguments.ignore_formatted,
            is_controller=config is None or config.controller is not None,
            joins_quorum=arguments.no_initial_controllers,
        ),
        now_ms=time.time_ns() // 1_000_000,
        entropy=os.urandom,
    )
    _say(formatted, METADATA_VERSIONS[features[METADATA_VERSION]], output)
    return 0


def _has_acls(records: Records) -> bool:
    from metalog.records.messages import AccessControlEntryRecord

    return any(isinstance(message, AccessControlEntryRecord) for message, _ in records)


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


def _config(arguments: Namespace) -> NodeProperties | None:
    if arguments.config is None:
        return None
    from metalog import read_properties
    from shell.tasks.broker.node_config import node_config

    return node_config(read_properties(Path(arguments.config)), arguments.config)


def _node(arguments: Namespace, config: NodeProperties | None) -> _Node:
    directory = None if arguments.directory is None else folder_to_write(arguments.directory)
    if config is None:
        if directory is None:
            raise InvalidRequest("no folder: give DIR, or --config server.properties")
        node_id = 1 if arguments.node_id is None else arguments.node_id
        if node_id < 0:
            raise InvalidRequest(f"--node-id {node_id}: give 0 or more")
        return _Node(
            node_id, directory, [directory], _controllers_without_config(arguments, node_id)
        )
    if arguments.node_id not in (None, config.node_id):
        raise InvalidRequest(
            f"{arguments.config} has node.id={config.node_id}; leave out --node-id"
        )
    metadata_dir = config.metadata_dir or directory
    if metadata_dir is None:
        raise InvalidRequest(f"{arguments.config} has no log.dirs; give DIR")
    if directory is not None and directory.absolute() != metadata_dir.absolute():
        raise InvalidRequest(
            f"{arguments.config} has its metadata log in {metadata_dir}, not in {directory}"
        )
    controllers = _controllers(arguments, config)
    return _Node(config.node_id, metadata_dir, config.directories or (metadata_dir,), controllers)


def _controllers_without_config(arguments: Namespace, node_id: int) -> Sequence[Controller]:
    from metalog.records.messages.voters_record import Endpoint
    from snapshot.formatting import Controller

    if arguments.no_initial_controllers:
        return ()
    if arguments.initial_controllers is not None:
        return parse_controllers(arguments.initial_controllers, _LISTENER)
    return (Controller(node_id, Endpoint(_LISTENER, "localhost", 9093)),)


def _controllers(arguments: Namespace, config: NodeProperties) -> Sequence[Controller]:
    from metalog.records.messages.voters_record import Endpoint
    from snapshot.formatting import Controller

    if arguments.standalone and config.controller is None:
        raise InvalidRequest(f"{arguments.config} configures no controller; --standalone needs one")
    wanted = "--standalone" if arguments.standalone else "--initial-controllers"
    if config.has_static_voters and (arguments.standalone or arguments.initial_controllers):
        raise InvalidRequest(
            f"{arguments.config} has controller.quorum.voters; {wanted} needs"
            " controller.quorum.bootstrap.servers instead"
        )
    if arguments.initial_controllers is not None:
        return parse_controllers(
            arguments.initial_controllers, config.controller_listener or _LISTENER
        )
    if arguments.standalone and config.controller is not None:
        return (Controller(config.node_id, Endpoint(*config.controller)),)
    needs_voters = config.controller is not None and not config.has_static_voters
    if needs_voters and not arguments.no_initial_controllers:
        raise InvalidRequest(
            "no voters are configured: set controller.quorum.voters, or give --standalone for a"
            " quorum of this node alone, --initial-controllers for a quorum of several nodes, or"
            " --no-initial-controllers for a node that joins a quorum"
        )
    return ()


def _chosen(texts: Iterable[str]) -> dict[str, int]:
    chosen = {}
    for text in texts:
        name, _, level = text.partition("=")
        number = whole_number(level)
        if number is None:
            raise InvalidRequest(f"--feature {text}: write NAME=LEVEL, where LEVEL is a number")
        chosen[name] = number
    return chosen
