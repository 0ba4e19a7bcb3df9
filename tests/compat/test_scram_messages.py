"""Kafka's own classes take and read SCRAM messages as we do."""

from __future__ import annotations

from random import Random

import pytest
from py4j.protocol import Py4JJavaError

from metalog_node.auth.scram_messages import read_client_final, read_client_first
from tests.support.kafka.jvm import tools_process
from tests.support.kafka.tools import KafkaTools

pytestmark = pytest.mark.xdist_group("real-kafka")

FIRST = [
    "n,,n=alice,r=abc",
    "n,a=alice,n=alice,r=abc",
    "n,a=bob,n=alice,r=abc",
    "p=tls,,n=a,r=b",
    "n,,n=al=2Cic=3De,r=abc",
    "n,,n=al=3D2Ci,r=abc",
    "n,,n=al=2ci,r=abc",
    "n,,n=al=ic,r=abc",
    "n,,n=,r=abc",
    "n,,n=alice,r=",
    "n,,r=abc,n=alice",
    "n,,n=al\nice,r=abc",
    "n,,n=a\0b,r=c",
    "n,,n=a,r=b,tokenauth=true",
    "n,,n=a,r=b,tokenauth=TRUE,x=y=z",
    "n,,n=a,r=b,x=",
    "n,,n=a",
    "n,,n=a,r=b c",
    "n,,n=a,r=b=c",
    "n,,n=a,r=\u00e9",
    "n,,n=a,r=b,1=2",
    "n,,n=a,r=b,tokenauth=x",
]
FINAL = [
    "c=biws,r=abc,p=AAAA", "c=eSws,r=abc,p=AAAA", "c=,r=abc,p=AAAA", "c=biws,r=abc,x=y,p=AAAA",
    "c=biws,r=abc,p=", "c=biws,r=abc,p=AA", "c=biws,r=abc,p=AA==", "c=biws,r=abc,p=AB==",
    "c=biws,r=abc,p=AAA=", "c=biws,r=abc,p=AAAA,x=y", "c=biws,p=AAAA", "c=biws,r=abc,p=AA=A",
    "c=biws,r=abc,p=A===", "c=biws,r=abc,p====", "c=b*ws,r=abc,p=AAAA", "c=biws,r=a b,p=AAAA",
]  # fmt: skip
LETTERS = "nrapcx=,=2C=3D=biws\0\n AZ19+/~"


def broken(messages: list[str], count: int) -> list[str]:
    """With a letter removed, inserted or changed; always the same cases."""
    chance, made = Random(5802), list(messages)
    while len(made) < count:
        letters = list(chance.choice(messages))
        for _ in range(chance.randint(1, 2)):
            place = chance.randrange(len(letters))
            letters[place : place + chance.randint(0, 1)] = chance.choice(["", *LETTERS])
        made.append("".join(letters))
    return made


def differs_knowingly(message: str) -> bool:
    return message.startswith("y,") or ",m=" in message


def test_messages_are_read_as_kafka_reads_them(kafka_tools: KafkaTools) -> None:
    kafkas = tools_process(kafka_tools).jvm.org.apache.kafka.common.security.scram.internals
    taken = 0
    for message in broken(FIRST, 400):
        if differs_knowingly(message):
            continue
        try:
            kafka = kafkas.ScramMessages.ClientFirstMessage(message.encode())
        except Py4JJavaError:
            with pytest.raises(ValueError, match="RFC 5802"):
                read_client_first(message)
            continue
        ours = read_client_first(message)
        taken += 1
        assert ours.user == kafkas.ScramFormatter.username(kafka.saslName())
        assert ours.nonce == kafka.nonce()
        assert ours.is_by_token == kafka.extensions().tokenAuthenticated()
    for message in broken(FINAL, 400):
        try:
            kafka = kafkas.ScramMessages.ClientFinalMessage(message.encode())
        except Py4JJavaError:
            with pytest.raises(ValueError, match="final message"):
                read_client_final(message)
            continue
        ours_final = read_client_final(message)
        taken += 1
        assert (ours_final.nonce, ours_final.proof) == (kafka.nonce(), kafka.proof())
        assert ours_final.channel_binding == kafka.channelBinding()
    assert taken > 80


def test_names_beyond_ascii_are_taken_and_what_kafka_cannot_say_is_refused(
    kafka_tools: KafkaTools,
) -> None:
    """Exactly the three differences that the page states."""
    kafkas = tools_process(kafka_tools).jvm.org.apache.kafka.common.security.scram.internals
    for message, name in (("n,,n=\u00dcnit,r=b", "\u00dcnit"), ("y,,n=a,r=b", "a")):
        with pytest.raises(Py4JJavaError):
            kafkas.ScramMessages.ClientFirstMessage(message.encode())
        assert read_client_first(message).user == name
    kafkas.ScramMessages.ClientFirstMessage(b"n,,m=x,n=a,r=b")
    with pytest.raises(ValueError, match="RFC 5802"):
        read_client_first("n,,m=x,n=a,r=b")
