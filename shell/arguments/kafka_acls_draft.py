"""Translates the options of KIP-11's early draft to kafka-acls' options.

The draft's options are ``--grantprincipal user:a,group:b --granthost h1,h2 --revokeprincipal …
--revokehost … --action a1,a2``: lists with commas, and principal types in lower case. A revocation
becomes a DENY. This module must not know what the options do.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from metalog_sources.formats.commands.acl_options import AclAction, CommandOptions
from metalog_sources.formats.zookeeper.kip11 import principal_of

if TYPE_CHECKING:
    from shell.output.output import Output

DRAFT_OPTIONS: Final = {
    "--grantprincipal": "--allow-principal",
    "--granthost": "--allow-host",
    "--revokeprincipal": "--deny-principal",
    "--revokehost": "--deny-host",
    "--action": "--operation",
}


def with_draft(options: CommandOptions, arguments: Namespace, output: Output) -> CommandOptions:
    """``options`` and the translation of the draft's options among ``arguments``, with a notice
    for each.

    The draft only has a command to add ACLs.
    """
    values = {option: [*given] for option, given in options.values.items()}
    flags = {*options.flags}
    for old, new in DRAFT_OPTIONS.items():
        texts = getattr(arguments, old.removeprefix("--"))
        if not texts:
            continue
        output.note(f"{old} of KIP-11's draft is {new}")
        found = [word for text in texts for word in text.split(",")]
        is_principal = old.endswith("principal")
        values[new] += (
            [principal_of(word.strip(), is_draft=True) for word in found] if is_principal else found
        )
        if not flags & {action.value for action in AclAction}:
            flags.add(AclAction.ADD.value)
    return CommandOptions(values, flags)
