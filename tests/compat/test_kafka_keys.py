"""Every key of Kafka's brokers is supported, refused, or known to be harmless."""

from __future__ import annotations

from metalog_node.config.kafka_keys import REFUSED
from metalog_node.config.settings import READ_ELSEWHERE, Settings
from tests.support.kafka.tools import KafkaTools

OF_LISTENERS = (
    "ssl.keystore.type", "ssl.keystore.location", "ssl.key.password", "ssl.client.auth",
    "ssl.truststore.type", "ssl.truststore.location", "ssl.endpoint.identification.algorithm",
    "sasl.jaas.config",
)  # fmt: skip
"""Supported keys of listeners, beside the keys in ``settings``; with and without the prefix
``listener.name.NAME.``."""
HARMLESS = (
    "ssl.keystore.password", "ssl.truststore.password", "ssl.keymanager.algorithm",
    "ssl.secure.random.implementation", "ssl.allow.dn.changes", "ssl.allow.san.changes",
    "sasl.kerberos.*", "sasl.oauthbearer.*", "sasl.login.*", "sasl.server.max.receive.size",
    "sasl.mechanism.inter.broker.protocol", "delegation.token.*",
    "inter.broker.listener.name", "security.inter.broker.protocol",
    "alter.*", "create.topic.policy.class.name", "client.quota.callback.class",
    "auto.*", "delete.*", "unstable.*", "unclean.*", "queued.*", "max.request.*", "max.inc*",
    "add.*", "background.*", "broker.*", "compression.*", "controlled.*", "controller.p*",
    "controller.quota.*", "controller.socket.*", "controller.quorum.*", "cordoned.*",
    "default.*", "fetch.*", "follower.*", "group.*", "initial.*", "internal.*", "kafka.*",
    "leader.*", "log.*", "message.*", "metric.*", "metrics.*", "min.*", "num.*", "offset.*",
    "offsets.*", "producer.*", "quota.*", "remote.*", "replica.*", "replication.*",
    "server.*", "share.*", "socket.*", "telemetry.*", "transaction.*", "transactional.*",
)  # fmt: skip
"""Keys that let nobody in. They set amounts, times and rates, or belong to mechanisms and requests
that a node does not have. ``*`` ends a prefix of keys; another table may have some of these
keys."""
CARRIED_OUT = {
    *(str(field.alias) for field in Settings.model_fields.values()),
    *READ_ELSEWHERE,
    *OF_LISTENERS,
}


def is_harmless(key: str) -> bool:
    return any(
        key.startswith(each[:-1]) if each.endswith("*") else key == each for each in HARMLESS
    )


def names(tools: KafkaTools) -> set[str]:
    return set(tools.classes.kafka.server.KafkaConfig.configDef().names())


def test_every_key_is_classified(kafka_tools: KafkaTools) -> None:
    kafkas = names(kafka_tools)
    assert len(kafkas) > 300
    assert [key for key in kafkas - CARRIED_OUT - REFUSED.keys() if not is_harmless(key)] == []
    assert not CARRIED_OUT & REFUSED.keys()
    assert REFUSED.keys() <= kafkas
