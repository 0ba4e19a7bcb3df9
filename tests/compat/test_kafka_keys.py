"""Every key of Kafka's brokers is supported, refused, or known to be harmless."""

from __future__ import annotations

from metalog_node.config.kafka_keys import OF_LISTENERS, REFUSED, is_harmless
from metalog_node.config.settings import READ_ELSEWHERE, Settings
from tests.support.kafka.tools import KafkaTools

CARRIED_OUT = {
    *(str(field.alias) for field in Settings.model_fields.values()),
    *READ_ELSEWHERE,
    *OF_LISTENERS,
}


def names(tools: KafkaTools) -> set[str]:
    return set(tools.classes.kafka.server.KafkaConfig.configDef().names())


def test_every_key_is_classified(kafka_tools: KafkaTools) -> None:
    kafkas = names(kafka_tools)
    assert len(kafkas) > 300
    assert [key for key in kafkas - CARRIED_OUT - REFUSED.keys() if not is_harmless(key)] == []
    assert not CARRIED_OUT & REFUSED.keys()
    assert REFUSED.keys() <= kafkas
