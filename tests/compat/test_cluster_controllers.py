"""``cluster://`` at the controllers of a real quorum (KIP-919); only the leader takes changes."""

from __future__ import annotations

import contextlib

import pytest

from metalog.acl import Operation, ResourceType
from metalog.log.quorum.observer import QuorumLog
from metalog_sources.live.cluster import ClusterStore
from metalog_sources.source import open_source
from tests.support.kafka.quorum import KafkaQuorum
from tests.support.suite.waiting import eventually
from tests.support.worlds.small_acls import allow

pytestmark = pytest.mark.xdist_group("kafka-quorum")

ADDED = (
    allow("User:other", Operation.CREATE_TOKENS, "User:by-controller", kind=ResourceType.USER),
    allow(
        "tx", Operation.TWO_PHASE_COMMIT, "User:by-controller", kind=ResourceType.TRANSACTIONAL_ID
    ),
)


def opened(addresses: list[str]) -> ClusterStore:
    store = open_source(f"cluster://{','.join(addresses)}", environ={}).store
    assert isinstance(store, ClusterStore)
    return store


def test_a_change_goes_to_the_controller_that_leads(kafka_quorum: KafkaQuorum) -> None:
    with contextlib.closing(QuorumLog(kafka_quorum.controller_bootstrap)) as log:
        leader = log.leader.id
    others = [place for node, place in kafka_quorum.controllers.items() if node != leader]
    brokers = opened(list(kafka_quorum.brokers.values()))
    with contextlib.closing(opened(others)) as store, contextlib.closing(brokers):
        store.create(ADDED)
        assert eventually(lambda: set(ADDED) <= set(brokers.state().document.acls))
        store.close()
        assert eventually(lambda: set(ADDED) <= set(store.state().document.acls))
        assert [each.reason for each in store.state().unread_users] == [
            f"{store.url}: cannot list SCRAM users: the listener {others[0]} does not offer "
            "DescribeUserScramCredentials in a supported version; it is a controller's listener: "
            "give a broker's"
        ]
        store.delete(ADDED)
        assert eventually(lambda: set(ADDED).isdisjoint(brokers.state().document.acls))
