"""The cluster that the suggested commands change, and the form of the commands.

For ``cluster://`` and ``quorum://``, commands have the address and the client settings of SOURCE.
For another SOURCE, commands have shell variables. This module must not know what a command is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.analysis.remedies.commands import CONNECTION, quoted
from metalog.disk.files import is_descriptor
from metalog.text.visible_text import shown

if TYPE_CHECKING:
    from metalog_sources.source import Source

_KAFKA_ACLS: Final = f"kafka-acls {CONNECTION} "
_OPTIONS: Final = {"cluster": "--bootstrap-server", "quorum": "--bootstrap-controller"}
_SETTINGS_VARIABLE: Final = '--command-config "$CLIENT_CONFIG"'


class CommandLine(str):
    """A line to copy, which is never wrapped."""


class CommandTarget(NamedTuple):
    """The options of kafka-acls, and metalog's TARGET, for one cluster.

    ``caller_without_alter`` is the user of the client settings, if no ACL lets it change ACLs.
    """

    options: str
    target: str
    caller_without_alter: str | None = None

    @classmethod
    def of(cls, source: Source) -> CommandTarget:
        """The cluster from which ``source`` was read; else ``ANY_CLUSTER``.

        For ZooKeeper, metalog's TARGET is ``source``, and kafka-acls gets shell variables.
        """
        if source.kind == "zookeeper":
            return ANY_CLUSTER._replace(target=quoted(source.text))
        option = _OPTIONS.get(source.kind)
        if option is None:
            return ANY_CLUSTER
        if getattr(source.opened, "is_at_controllers", False):
            option = _OPTIONS["quorum"]
        settings = _settings(source)
        address = quoted(source.describe.partition("://")[2])
        target = quoted(source.text) if source.kind == "cluster" else f"cluster://{address}"
        return cls(f"{option} {address}{settings}", f"{target}{settings}")

    def commands(self, lines: Iterable[str]) -> list[str]:
        return [line.replace(CONNECTION, self.options, 1) for line in lines]

    def own_commands(self, lines: Iterable[str]) -> list[str]:
        own = f"metalog kafka-acls {self.target} "
        return [line.replace(_KAFKA_ACLS, own, 1) for line in lines]

    def as_json(self, lines: Iterable[str] | None) -> dict[str, Any]:
        """JSON keys for the commands; ``lines`` is None if no command can make the change."""
        if lines is None:
            return {"commands": None, "ownCommands": None}
        listed = list(lines)
        return {"commands": self.commands(listed), "ownCommands": self.own_commands(listed)}


ANY_CLUSTER: Final = CommandTarget(CONNECTION, f'cluster://"$BOOTSTRAP" {_SETTINGS_VARIABLE}')
"""A pasted line changes no cluster before the user sets the shell variables."""


def target_lines(target: CommandTarget) -> Iterator[str]:
    """Lines that say what the commands need: shell variables, and the right to change ACLs."""
    if target.options == CONNECTION:
        yield "first: export BOOTSTRAP=HOST:PORT CLIENT_CONFIG=FILE (or /dev/null)"
    elif _SETTINGS_VARIABLE in target.options:
        yield "first: export CLIENT_CONFIG=FILE, with the client's settings that were piped in"
    if target.caller_without_alter is not None:
        caller = shown(target.caller_without_alter)
        yield f"these commands need ALTER on the cluster, which no ACL allows {caller}:"
        yield f"  if {caller} is not a super user, give the client settings of a user with ALTER"


def _settings(source: Source) -> str:
    """A shell variable replaces a file such as ``<(…)``, which exists for one command only."""
    config = source.command_config
    if config is None:
        return ""
    if is_descriptor(config):
        return f" {_SETTINGS_VARIABLE}"
    return f" --command-config {quoted(str(config))}"
