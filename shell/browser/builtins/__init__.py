"""The commands of the metadata shell that need only the tree, by name."""

from __future__ import annotations

from typing import Final

from shell.browser.builtins import session_commands, tree_commands
from shell.browser.session import Builtin

BUILTINS: Final[dict[str, Builtin]] = {
    command.name: command for command in (*session_commands.COMMANDS, *tree_commands.COMMANDS)
}
