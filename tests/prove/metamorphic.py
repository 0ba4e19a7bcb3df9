"""The effect of a change of ACLs on decisions, without a specification. A further DENY allows
nothing more. A removed ALLOW allows nothing more, unless resources without ACLs are open. The order
of loading changes nothing, nor do other principals, names of resources or addresses, if the same
ones are equal, and the same ones prefixes, as before."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from random import Random
from typing import TypeVar

from authorizer import Acl, Action, PermissionType, RequestContext, StandardAuthorizer
from authorizer.api import ResourcePattern
from authorizer.trace import Question
from metalog.hosts.client_host import client_host
from tests.prove.promise import Promise
from tests.support.worlds.small_world import random_acl, random_question

AclOrQuestion = TypeVar("AclOrQuestion", Acl, Question)

WORLDS, QUESTIONS, ACLS = 40, 12, 12
DEFAULT_HOST = "10.0.0.1"
OTHER_IPV4_NETWORK = 0xC6_33_64_55
OTHER_IPV6_NETWORK = 0x2001_0DB8_0000_0000_0000_8A2E_0370_7334
"""With groups of zeros, so that its short spelling is not Java's."""
OTHER_LETTERS = str.maketrans({"a": "é", "b": ".", "A": "a", "-": "😀"})
"""Each letter has one of its own; ``*``, which has a meaning, keeps its own."""
OTHER_NAMES = {"User:a": "User:zoë", "User:b": "User:a:b", "Group:a": "Group:b"}


def unit(seed: int) -> int:
    random = Random(seed)
    for _ in range(WORLDS):
        acls = list(dict.fromkeys(random_acl(random) for _ in range(random.randrange(1, ACLS))))
        everyone, kafka = random.random() < 0.5, random.choice(("4.3", "4.4"))
        asked = [random_question(random) for _ in range(QUESTIONS)]
        before = answers(acls, asked, everyone=everyone, kafka=kafka)

        denial = random_acl(random)._replace(permission_type=PermissionType.DENY)
        with_denial = answers([*acls, denial], asked, everyone=everyone, kafka=kafka)
        assert with_denial <= before, (seed, acls, denial)

        gone = random.choice(acls)
        if gone.permission_type is PermissionType.ALLOW:
            rest = [each for each in acls if each != gone]
            closed = answers(acls, asked, everyone=False, kafka=kafka)
            assert answers(rest, asked, everyone=False, kafka=kafka) <= closed, (seed, acls, gone)

        shuffled = random.sample(acls, len(acls))
        assert answers(shuffled, asked, everyone=everyone, kafka=kafka) == before, (seed, acls)

        for renamed in (with_other_principal, with_other_name, with_other_address):
            after = answers(
                list(map(renamed, acls)), list(map(renamed, asked)), everyone=everyone, kafka=kafka
            )
            assert after == before, (seed, acls, renamed.__name__)
    return WORLDS * QUESTIONS * 6


def with_other_principal(each: AclOrQuestion) -> AclOrQuestion:
    return each._replace(principal=OTHER_NAMES.get(each.principal, each.principal))


def with_other_name(each: AclOrQuestion) -> AclOrQuestion:
    return each._replace(resource_name=each.resource_name.translate(OTHER_LETTERS))


def with_other_address(each: AclOrQuestion) -> AclOrQuestion:
    return each._replace(host=moved(each.host or DEFAULT_HOST))


def moved(host: str) -> str:
    """Another network's address or block, if ``host`` is one of IPv4 or IPv6; the bits that a block
    does not look at stay. Only an address in Java's spelling gets one in Java's spelling."""
    text, slash, length = host.partition("/")
    try:
        address = IPv6Address(text) if ":" in text else IPv4Address(text)
    except AddressValueError:
        return host
    bits = address.max_prefixlen
    network = OTHER_IPV6_NETWORK if address.version == 6 else OTHER_IPV4_NETWORK
    unmasked = bits - min(int(length or bits), bits)
    other = str(type(address)(int(address) ^ (network >> unmasked << unmasked)))
    return f"{client_host(other) if text == client_host(text) else other}{slash}{length}"


def answers(acls: list[Acl], asked: list[Question], *, everyone: bool, kafka: str) -> set[int]:
    authorizer = StandardAuthorizer.from_acls(
        acls, allow_everyone=everyone, kafka_version=kafka, tolerant=True
    )
    return {number for number, each in enumerate(asked) if is_allowed(authorizer, each)}


def is_allowed(authorizer: StandardAuthorizer, asked: Question) -> bool:
    return authorizer.is_allowed(
        RequestContext(asked.principal, asked.host or DEFAULT_HOST),
        Action(asked.operation, ResourcePattern(asked.resource_type, asked.resource_name)),
    )


PROMISE = Promise("metamorphic", "an answer before and after a change of the ACLs", unit)
