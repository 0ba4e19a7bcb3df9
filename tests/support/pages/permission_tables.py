"""The tables of permissions in the guide: KIP-11's own, and ``authorizer.permissions.table``.

``python -m tests.support.pages.permission_tables`` prints both, to update the page after a change.
This module must not know the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from authorizer.permissions.table import APIS, ApiPermissions, On, Op, Permission, PermissionNeed

KIP_11: Final[tuple[tuple[Permission, tuple[str, ...]], ...]] = (
    (Permission(Op.READ, On.TOPIC), ("Fetch",)),
    (Permission(Op.READ, On.GROUP), ("JoinGroup", "OffsetFetch", "Heartbeat", "CommitOffset")),
    (Permission(Op.WRITE, On.TOPIC), ("Produce",)),
    (Permission(Op.CREATE, On.CLUSTER), ()),
    (Permission(Op.DELETE, On.TOPIC), ()),
    (Permission(Op.ALTER, On.TOPIC), ()),
    (
        Permission(Op.DESCRIBE, On.TOPIC),
        ("GetOffset", "GetTopicMetadata", "GetConsumerMetadata", "GetTopicInfo"),
    ),
    (Permission(Op.DESCRIBE, On.CLUSTER), ("ListAllTopics",)),
    (
        Permission(Op.CLUSTER_ACTION, On.CLUSTER),
        ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"),
    ),
)
"""KIP-11's own table, with its names of requests; KIP-4's requests did not exist yet."""


def kip_11_table() -> str:
    rows = [
        (
            permission.operation.name,
            permission.resource_type.name.replace("GROUP", "CONSUMER_GROUP"),
            ", ".join(requests) or "KIP-4's requests, which did not exist then",
        )
        for permission, requests in KIP_11
    ]
    return table(("operation", "on", "requests"), rows)


def todays_table() -> str:
    rows = [row for api in APIS for row in _rows(api)]
    return table(("key", "request", "needs", "when; notes"), rows)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rows(api: ApiPermissions) -> Iterator[tuple[str, str, str, str]]:
    """One row per need; the first has the key, the name and the note."""
    if not api.needs:
        yield str(api.key), api.name, "nothing", api.note
    for number, need in enumerate(api.needs):
        key, name, note = ("", "", "") if number else (str(api.key), api.name, api.note)
        when = f"optional: {need.when}" if need.optional else need.when
        yield key, name, _text(need), "; ".join(filter(None, (when, note)))


def _text(need: PermissionNeed) -> str:
    return " or ".join(map(_permission, need.one_of))


def _permission(permission: Permission) -> str:
    some = "any " if permission.any_name else ""
    return f"{permission.operation.name} on {some}{permission.resource_type.name}"


if __name__ == "__main__":
    print(kip_11_table(), todays_table(), sep="\n\n")
