"""The APIs that each kind of listener offers."""

from __future__ import annotations

import pytest

from metalog_node.apis import announced_versions, apis_of

FETCH, FETCH_SNAPSHOT, DESCRIBE_QUORUM = 1, 59, 55
FOLLOWING = {FETCH, FETCH_SNAPSHOT, DESCRIBE_QUORUM}


@pytest.mark.parametrize("is_for_controllers", [True, False])
def test_where_the_log_is_a_topic_there_is_no_quorum_to_ask_of(is_for_controllers: bool) -> None:
    """KIP-35: a client can ask for everything that ApiVersions lists."""
    offered = set(apis_of(is_for_controllers=is_for_controllers, forwards=True))
    on_topic = set(apis_of(is_for_controllers=is_for_controllers, forwards=True, has_quorum=False))
    assert offered - on_topic == offered & FOLLOWING
    assert not on_topic & FOLLOWING


def test_an_api_is_announced_from_its_version_on() -> None:
    """4.10 is newer than 4.4, although it sorts before it as text."""
    apis = apis_of(is_for_controllers=False)
    key, api = next(iter(apis.items()))
    versions = ("3.9", "4.3", "4.4", "4.10", "5.0")
    for at, since in enumerate(versions):
        later = {key: api._replace(since=since)}
        announcing = [each for each in versions if key in announced_versions(later, each)]
        assert announcing == [*versions[at:]]
