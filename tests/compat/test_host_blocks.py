"""Hosts that are CIDR blocks, compared with the classes of Kafka 4.4, which reads them, and of
Kafka 4.3, which does not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from authorizer.analysis.changes.upgrade import upgrade
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.hosts.host_block import client_address, host_block, read_block
from tests.support.kafka.authorizer import KafkaQuestion, KafkaWorld, kafkas_answers
from tests.support.kafka.jvm import tools_process
from tests.support.kafka.tools import KafkaTools
from tests.support.worlds.small_world import BLOCKS, CLIENTS, HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = """
10.0.0.0/8 10.1.2.3/8 010.000.000.000/08 0.0.0.0/0 0.0.0.0/8 0.0.0.0/32 10.0.0.1/31 10.0.0.0/33
10.0.0.0/008 256.0.0.0/8 10/8 / /8 10.0.0.0/8/8 10.0.0.*/24 [10.0.0.0]/8 10.0.0.0/\uff18
2001:db8::/32 2001:DB8::1/32 [2001:db8::]/32 2001:db8::/+32 2001:db8::/-0 2001:db8::/\uff13\uff12
2001:db8::/129 2001:db8::/x 2001:db8::/2147483648 2001:db8::%1/32 ::10.0.0.0/104 ::/0 ::/128
::ffff:10.0.0.0/104 ::ffff:10.0.0.0%1/104 [::ffff:10.0.0.0]/104 1:2:3:4:5:6:7::/112 :::/0 1::2::3/64
12001:db8::/32 00002001:db8::/32 ::1.2.3/128 ::010.0.0.1/128 fe80::1%/64 fe80::1%1]/64 [::1/128
"""
"""Texts that Java does not look up as names."""
ADDRESSES = [*CLIENTS, "0.0.0.0", "255.255.255.255", "2001:db8:0:0:0:0:0:1", "0:0:0:0:0:0:a00:1"]


def test_a_host_is_read_as_by_kafka(newest_kafka_tools: KafkaTools) -> None:
    classes: Any = tools_process(newest_kafka_tools).classes
    cidr = classes.org.apache.kafka.server.authorizer.internals.CidrUtils
    for host in TEXTS.split():
        block = host_block(host)
        try:
            cidr.validate(host)
            problem = None
        except Py4JJavaError as error:
            problem = error.java_exception.getMessage()
        assert (read_block(host) if block is None else None) == problem
        for client in ADDRESSES:
            address = client_address(client)
            is_inside = block is not None and address is not None and block.contains(address)
            assert is_inside == cidr.isInRange(client, host), (client, host)


def test_what_an_upgrade_turns_both_kafkas_answer_so(
    kafka_tools: KafkaTools, newest_kafka_tools: KafkaTools
) -> None:
    """Sets of ACLs in which blocks allow, deny and cancel; a request for each witness."""
    choose, worlds, expected = random.Random(4404), [], []
    for _ in range(60):
        acls = list(dict.fromkeys(_acls(choose)))
        found = upgrade(acls, AuthorizerConfig(), KafkaVersion.V4_4)
        assert found.is_whole
        questions, gained = [], []
        for effect in (each for answers in found.effects.values() for each in answers):
            who, _, kind, name, host, _ = effect.witness
            assert host is not None
            for operation in sorted(effect.gains | effect.loses):
                questions.append(KafkaQuestion(who, host, operation, kind, name))
                gained.append(operation in effect.gains)
        worlds.append(KafkaWorld(acls, questions))
        expected.append(gained)
    newest = kafkas_answers(newest_kafka_tools, worlds)
    older = kafkas_answers(kafka_tools, worlds)
    words = ("DENIED", "ALLOWED")
    assert newest == [[words[gains] for gains in gained] for gained in expected]
    assert older == [[words[not gains] for gains in gained] for gained in expected]
    told = [gains for gained in expected for gains in gained]
    assert min(told.count(True), told.count(False)) > 10


def _acls(choose: random.Random) -> Iterator[Acl]:
    for _ in range(choose.randrange(2, 7)):
        yield Acl(
            ResourceType.TOPIC,
            choose.choice(["a", "ab", "abba", "*"]),
            choose.choice([PatternType.LITERAL, PatternType.PREFIXED]),
            choose.choice(["User:a", "User:b", "User:*"]),
            choose.choice([*HOSTS, *BLOCKS]),
            choose.choice([Operation.ALL, Operation.READ, Operation.WRITE]),
            choose.choice([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
        )
