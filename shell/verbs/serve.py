"""``metalog serve``: runs a node that Kafka's admin tools can drive, until it is stopped.

Without ``--config``, the node is a development node: only this machine can reach its one
listener, and every client is a super user. This module must not know how a node works.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest
from metalog.text.visible_text import shown
from shell.output.logs import AUDIT_LEVELS, start_logging
from shell.output.logs import FORMATS as LOG_FORMATS
from shell.output.output import Output

if TYPE_CHECKING:
    from metalog.hosts.host_port import Address
    from metalog_node.config.listeners import Listener
    from metalog_node.config.node_config import NodeConfig

USAGE: Final = "[--config FILE] [options]"
FORMATS: Final = ("text",)
PAGED: Final = False
EPILOG: Final = """\
metalog serve
metalog serve --config server.properties

Ctrl-C or SIGTERM stops the node; SIGHUP makes the node read its certificates again. Exit code:
0 stopped, 2 not started."""

_log = logging.getLogger(__name__)

_FOLDER: Final = "metalog-data"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("-c", "--config", metavar="FILE", help="the node's server.properties")
    parser.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        default=LOG_FORMATS[0],
        metavar="FORMAT",
        help="format of the log on stderr: text like Kafka's, or json, one object per line",
    )
    parser.add_argument(
        "--audit-log",
        metavar="FILE",
        help="append audit lines in Kafka's format to FILE (default: stderr, like the log)",
    )
    parser.add_argument(
        "--audit-level",
        choices=AUDIT_LEVELS,
        type=str.upper,
        metavar="LEVEL",
        help="level of the audit log, as in Kafka: INFO logs denials (default), DEBUG also allowed "
        "requests, TRACE also the checks that filter a list",
    )
    trying = parser.add_argument_group("without --config")
    trying.add_argument(
        "--dir",
        metavar="DIR",
        help=f"the node's log directory (default: ./{_FOLDER}, created if missing)",
    )
    trying.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help="port on 127.0.0.1 (default: 9092; 0 picks a free one)",
    )


def run(arguments: Namespace, output: Output) -> int:
    try:
        import metalog_node.config.node_config  # noqa: F401
    except ModuleNotFoundError as error:
        raise InvalidRequest(
            f"serve needs {error.name}: pip install 'kraft-metalog[node]'"
        ) from None
    queues = start_logging(
        arguments.log_format,
        arguments.audit_log,
        audit_level=arguments.audit_level,
        is_quiet=arguments.quiet,
    )
    try:
        _run(arguments, output, lambda: {name: each.lost for name, each in queues.items()})
    finally:
        for each in queues.values():
            each.close()
    return 0


def _run(arguments: Namespace, output: Output, lost_lines: Callable[[], Mapping[str, int]]) -> None:
    from metalog_node.config.node_config import read_config
    from metalog_node.net.event_loop import new_event_loop

    if arguments.config is None:
        config = _dev_config(arguments, output)
    else:
        if arguments.dir is not None or arguments.port is not None:
            raise InvalidRequest("--dir and --port are for a node without --config")
        config = read_config(Path(arguments.config))
    for note in config.notes:
        _log.warning("%s", note)
    _raise_file_limit()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(config, arguments.config is None, output, lost_lines))


def _raise_file_limit() -> None:
    """Java raises the limit, too. Each client needs an open file."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _dev_config(arguments: Namespace, output: Output) -> NodeConfig:
    from metalog_node.config.dev_config import dev_config, is_formatted

    folder = Path(arguments.dir or _FOLDER)
    is_new = not is_formatted(folder)
    config = dev_config(folder, port=9092 if arguments.port is None else arguments.port)
    if is_new:
        output.line(f"Made a new log in {shown(str(folder))}.")
    return config


async def _serve(
    config: NodeConfig, is_dev: bool, output: Output, lost_lines: Callable[[], Mapping[str, int]]
) -> None:
    from metalog_node.node import Node

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopping.set)

    def say(listener: Listener, address: Address) -> None:
        output.line(f"Listener {listener.name} ({listener.protocol}) is open on {address}.")
        if is_dev:
            output.line(
                "Every client on this machine is the super user User:ANONYMOUS. Try\n"
                f"  kafka-acls.sh --bootstrap-server {address} --add --allow-principal User:app "
                "--operation READ --topic orders\n"
                f"  metalog acls cluster://{address}"
            )
        output.flush()

    node = Node(config, on_open=say, lost_lines=lost_lines)
    loop.add_signal_handler(signal.SIGHUP, node.reload_certificates)
    async with node:
        await node.until(stopping)
    output.line("Stopped.")
