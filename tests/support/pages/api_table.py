"""The table of a node's APIs in ``docs/formats/node.md``.

``python -m tests.support.pages.api_table`` prints it, to update the page after a change. This
module must not know the page.
"""

from __future__ import annotations

from collections.abc import Mapping

from authorizer.permissions.table import APIS
from metalog.image.state.features import LATEST_METADATA_VERSIONS
from metalog.wire.declared.extensions import SCRAM_PASSWORD
from metalog.wire.schema import error_name
from metalog.wire.versions import VersionRange
from metalog_node.apis import announced_versions, apis_of
from metalog_node.handlers.request import HandledApi

OLDEST, NEWEST = min(LATEST_METADATA_VERSIONS), max(LATEST_METADATA_VERSIONS)
NAMES = {api.key: api.name for api in APIS} | {SCRAM_PASSWORD: "ScramPassword"}


def apis_table() -> str:
    brokers, controllers = apis_of(is_for_controllers=False), apis_of(is_for_controllers=True)
    lines = [
        "| key | request | on a broker's listener | on a controllers' listener | while not ready |",
        "|---|---|---|---|---|",
    ]
    for key in sorted(
        {*announced_versions(brokers, NEWEST), *announced_versions(controllers, NEWEST)}
    ):
        cells = (
            str(key),
            NAMES[key],
            _versions(brokers, key),
            _versions(controllers, key),
            _not_ready({**brokers, **controllers}, key),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _versions(apis: Mapping[int, HandledApi], key: int) -> str:
    """The versions of the newest Kafka, and for new ones, since which Kafka."""
    found, before = (announced_versions(apis, kafka).get(key) for kafka in (NEWEST, OLDEST))
    if found is None:
        return ""
    shown = _range(found)
    if before == found:
        return shown
    if before is None:
        return f"{shown} (as {NEWEST})"
    return f"{_range(before)} (as {NEWEST}: {shown})"


def _range(found: VersionRange) -> str:
    return str(found.least) if found.least == found.most else f"{found.least} to {found.most}"


def _not_ready(apis: Mapping[int, HandledApi], key: int) -> str:
    is_asked = key in apis and key != SCRAM_PASSWORD
    return error_name(apis[key].not_ready) if is_asked else "answered"


if __name__ == "__main__":
    print(apis_table())
