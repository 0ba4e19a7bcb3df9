"""The APIs that each kind of listener offers."""

from __future__ import annotations

import pytest

from metalog_node.apis import apis_of

FETCH, FETCH_SNAPSHOT, DESCRIBE_QUORUM = 1, 59, 55
FOLLOWING = {FETCH, FETCH_SNAPSHOT, DESCRIBE_QUORUM}


@pytest.mark.parametrize("is_for_controllers", [True, False])
def test_where_the_log_is_a_topic_there_is_no_quorum_to_ask_of(is_for_controllers: bool) -> None:
    """KIP-35: a client can ask for everything that ApiVersions lists."""
    offered = set(apis_of(is_for_controllers=is_for_controllers, forwards=True))
    on_topic = set(apis_of(is_for_controllers=is_for_controllers, forwards=True, has_quorum=False))
    assert offered - on_topic == offered & FOLLOWING
    assert not on_topic & FOLLOWING
