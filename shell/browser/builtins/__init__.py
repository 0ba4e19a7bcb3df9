"""The commands of the metadata shell that need only the tree, by name."""

from __future__ import annotations

from typing import Final

from shell.browser.builtins.cat import CAT
from shell.browser.builtins.cd import CD
from shell.browser.builtins.exit import EXIT
from shell.browser.builtins.find import FIND
from shell.browser.builtins.help import HELP
from shell.browser.builtins.history import HISTORY
from shell.browser.builtins.ls import LS
from shell.browser.builtins.man import MAN
from shell.browser.builtins.pwd import PWD
from shell.browser.builtins.tree import TREE
from shell.browser.session import Builtin

BUILTINS: Final[dict[str, Builtin]] = {
    command.name: command for command in (CAT, CD, EXIT, FIND, HELP, HISTORY, LS, MAN, PWD, TREE)
}
