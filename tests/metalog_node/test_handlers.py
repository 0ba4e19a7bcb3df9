"""A node's responses without a socket: odd requests, the readiness gate, and Envelopes. The odd
requests were tried against Kafka 4.3.1; its answers stand beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from authorizer import Operation, RequestContext, StandardAuthorizer
from authorizer.api import Action
from authorizer.interface import AuthorizationResults
from metalog.controller.result import ControllerResult
from metalog.principal import KafkaPrincipal
from metalog.records.messages import FeatureLevelRecord, RegisterControllerRecord
from metalog.scram import ScramMechanism
from metalog.wire.declared import extensions
from metalog.wire.envelope import seal, unsealed_answer
from metalog.wire.frames import Malformed
from metalog.wire.messages import (
    RequestHeader,
    UnreadRequest,
    WireRequest,
    read_head,
    read_response,
    write_request,
)
from metalog.wire.schema import request_parts, request_type, response_type
from metalog_node.apis import apis_of
from metalog_node.config.listeners import Listener, SecurityProtocol
from metalog_node.handlers.request import IncomingRequest, Services, answer
from tests.support.node.answering import services_of
from tests.support.wire.admin_requests import alter_users, deletion, upsertion
from tests.support.wire.hostile_requests import Shape
from tests.support.wire.hostile_requests import request as hostile

CREATE, DELETE, DESCRIBE, ENVELOPE, METADATA, QUOTAS = 30, 31, 29, 58, 3, 48
DESCRIBE_CLUSTER = 60
CONTROLLER = Listener("CONTROLLER", "127.0.0.1", 9093, SecurityProtocol.PLAINTEXT, True)
ADMIN, BROKER, NOBODY = "User:admin", "User:broker", "User:nobody"
ADMIN_PRINCIPAL = KafkaPrincipal("User", "admin")


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Of a node with a loaded replica; ADMIN has all rights, and BROKER is a super user."""
    authorizer = StandardAuthorizer.configured({"super.users": f"{ADMIN};{BROKER}"})
    with services_of(tmp_path, authorizer, CONTROLLER) as found:
        yield found


@pytest.fixture
def open_services(tmp_path: Path) -> Iterator[Services]:
    with services_of(tmp_path, None, CONTROLLER) as found:
        yield found


def asked(
    services: Services, body: Any, principal: str = ADMIN, *, is_encrypted: bool = False
) -> Any:
    """The node's answer to ``body``, read from its bytes."""
    head = RequestHeader(body.__api_key__, body.__version__, 7)
    api = apis_of(is_for_controllers=True)[head.api_key]
    context = RequestContext(principal, "127.0.0.1", "CONTROLLER", api.name)
    incoming = IncomingRequest(
        WireRequest(head, "test", body), b"", context, CONTROLLER, is_encrypted
    )
    answered = answer(api, services, incoming)
    return answered.result(60) if hasattr(answered, "result") else answered


def creation(**changed: object) -> Any:
    parts = request_parts(CREATE, 3)
    given = {
        "resource_type": 2,
        "resource_name": "orders",
        "resource_pattern_type": 3,
        "principal": "User:app",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return parts.AclCreation(**{**given, **changed})


def create(*creations: Any) -> Any:
    return request_parts(CREATE, 3).CreateAclsRequest(creations=creations)


def acl_filter(**changed: object) -> Any:
    given = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": "User:app",
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    return request_parts(DELETE, 3).DeleteAclsFilter(**{**given, **changed})


def delete(*filters: Any) -> Any:
    return request_parts(DELETE, 3).DeleteAclsRequest(filters=filters)


def describe() -> Any:
    return request_type(DESCRIBE, 3)(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter="User:app",
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def codes(results: Any) -> list[int]:
    return [int(each.error_code) for each in results]


def test_what_is_created_is_described_and_deleted(services: Services) -> None:
    assert codes(asked(services, create(creation(), creation())).results) == [0, 0]
    [resource] = asked(services, describe()).resources
    assert (resource.resource_name, len(resource.acls)) == ("orders", 1)
    [result] = asked(services, delete(acl_filter())).filter_results
    assert [each.resource_name for each in result.matching_acls] == ["orders"]
    assert asked(services, describe()).resources == ()


def test_a_bad_filter_fails_alone(services: Services) -> None:
    asked(services, create(creation()))
    good, bad = asked(
        services, delete(acl_filter(), acl_filter(resource_type_filter=99))
    ).filter_results
    assert (int(good.error_code), len(good.matching_acls)) == (0, 1)
    assert (int(bad.error_code), bad.error_message) == (42, "Unknown patternFilter.")


@pytest.mark.parametrize(
    "body", [create(creation(operation=0)), delete(acl_filter(permission_type=0))]
)
def test_the_code_0_ends_the_connection(services: Services, body: Any) -> None:
    with pytest.raises(Malformed):
        asked(services, body)


def test_any_in_a_create_fails_every_item(services: Services) -> None:
    answered = asked(services, create(creation(), creation(operation=1)))
    assert codes(answered.results) == [-1, -1]
    assert asked(services, describe()).resources == ()


def test_too_many_at_once_are_refused_on_every_item(services: Services) -> None:
    many = [creation(resource_name=str(each)) for each in range(10_001)]
    answered = asked(services, create(*many))
    assert set(codes(answered.results)) == {44}
    assert answered.results[0].error_message == (
        "Unable to perform excessively large batch operation."
    )


def test_who_may_not_is_told_so_and_nothing_is_changed(services: Services) -> None:
    assert codes(asked(services, create(creation()), NOBODY).results) == [31]
    assert codes(asked(services, delete(acl_filter()), NOBODY).filter_results) == [31]
    assert int(asked(services, describe(), NOBODY).error_code) == 31
    assert asked(services, describe()).resources == ()


def test_who_may_not_describe_users_is_told_of_none(services: Services) -> None:
    asked(services, alter_users(upsertion("u1")))
    everybody = request_type(50, 0)(users=None)
    assert [each.user for each in asked(services, everybody).results] == ["u1"]
    told = asked(services, everybody, NOBODY)
    assert (int(told.error_code), told.results) == (31, ())


def test_who_may_not_alter_users_has_a_result_for_each(services: Services) -> None:
    nothing = alter_users()
    some = alter_users(upsertion("u2", 2), deletions=(deletion("u1"),))
    assert asked(services, nothing, NOBODY).results == ()
    told = {each.user: int(each.error_code) for each in asked(services, some, NOBODY).results}
    assert told == {"u1": 31, "u2": 31}


def test_without_an_authorizer_there_are_no_acls(open_services: Services) -> None:
    assert codes(asked(open_services, create(creation())).results) == [54]
    assert codes(asked(open_services, delete(acl_filter())).filter_results) == [54]
    assert int(asked(open_services, describe()).error_code) == 54


def forwarded(
    services: Services, body: Any, principal: str, *, version: int = 0, by: str = BROKER
) -> Any:
    """The answer to an Envelope with ``body`` as ``principal``'s request."""
    sealed = seal(
        version,
        write_request(body, 9, "client"),
        KafkaPrincipal(*principal.split(":")),
        bytes([10, 0, 0, 1]),
    )
    return unsealed_answer(asked(services, sealed, by))


REGISTERED = RegisterControllerRecord(controller_id=77)


@pytest.mark.parametrize(
    ("level", "wanted", "code", "message"),
    [
        (33, 77, 0, None),
        (33, 78, 136, "Controller ID 78 is not currently registered."),
        (33, 1, 42, "Controller cannot unregister itself while it is active."),
        (32, 1, 42, "Controller cannot unregister itself while it is active."),
        (
            32, 77, 35,
            "The current MetadataVersion is too old to support controller unregistration.",
        ),
    ],
)  # fmt: skip
def test_a_controller_is_unregistered_as_by_kafka_4_4(
    services: Services, level: int, wanted: int, code: int, message: str | None
) -> None:
    raised = FeatureLevelRecord("metadata.version", level)
    for record in (raised, REGISTERED):
        change = ControllerResult([(record, 0)], None)
        services.replica.submit(lambda image, change=change: change).result(20)
    assert services.kafka == "4.4"
    told = asked(services, request_type(94, 0)(controller_id=wanted))
    assert (told.error_code, told.error_message) == (code, message)
    assert set(services.replica.image.cluster.controllers) == ({77} if code else set())
    refused = asked(services, request_type(94, 0)(controller_id=77), NOBODY)
    assert refused.error_code == 31


def test_an_envelope_is_judged_as_the_client_that_it_names(services: Services) -> None:
    for principal, code in ((ADMIN, 0), (NOBODY, 31)):
        answered = forwarded(services, create(creation()), principal)
        assert answered.code == 0
        body = read_response(answered.response, response_type(CREATE, 3))
        assert codes(body.results) == [code]


def test_who_may_not_forward_is_told_by_the_envelope(services: Services) -> None:
    assert forwarded(services, create(creation()), ADMIN, by=NOBODY).code == 31


def test_what_is_never_forwarded_is_an_invalid_request(services: Services) -> None:
    assert forwarded(services, describe(), ADMIN).code == 42


@pytest.mark.parametrize("cut", [0, 7, 8, 30])
def test_a_broker_is_not_hung_up_on_for_its_clients_broken_bytes(
    services: Services, cut: int
) -> None:
    """Kafka answers UNSUPPORTED_VERSION (35) to an unreadable forwarded request."""
    whole = write_request(create(creation()), 9, "client")
    sealed = seal(0, whole[:cut], ADMIN_PRINCIPAL, bytes([10, 0, 0, 1]))
    assert unsealed_answer(asked(services, sealed, BROKER)).code == 35


def test_an_envelope_in_an_envelope_is_not_opened(services: Services) -> None:
    inner = seal(0, write_request(create(creation()), 9, "c"), ADMIN_PRINCIPAL, bytes(4))
    assert forwarded(services, inner, ADMIN).code == 42


@pytest.mark.parametrize(
    ("principal", "address", "code"),
    [(b"\0\1", bytes(4), 97), (b"", bytes(4), 97), (b"\0\0\xff", bytes(4), 97), (None, b"1", 42)],
)
def test_an_envelope_whose_principal_or_address_is_none_carries_nothing(
    services: Services, principal: bytes | None, address: bytes, code: int
) -> None:
    good = seal(0, write_request(create(creation()), 9, "c"), ADMIN_PRINCIPAL, address)
    sealed = good if principal is None else replace(good, request_principal=principal)
    assert unsealed_answer(asked(services, sealed, BROKER)).code == code
    assert asked(services, describe()).resources == ()


@pytest.mark.parametrize(("version", "code"), [(0, -1), (1, 20_000)])
def test_a_gate_that_is_shut_is_said_where_the_version_knows_it(
    services: Services, version: int, code: int
) -> None:
    loading = StandardAuthorizer.configured({"super.users": BROKER})
    shut = services._replace(authorizer=loading)
    assert forwarded(shut, create(creation()), NOBODY, version=version).code == code
    assert codes(asked(shut, create(creation()), NOBODY).results) == [7]


def test_a_controller_that_was_fenced_is_said_by_the_envelope(services: Services) -> None:
    services.replica.close()
    assert forwarded(services, create(creation()), ADMIN).code == 41
    assert codes(asked(services, create(creation())).results) == [41]


class Counting(StandardAuthorizer):
    """Records each call."""

    def authorize(self, context: RequestContext, asked: Sequence[Action]) -> AuthorizationResults:
        self.calls = [*getattr(self, "calls", []), list(asked)]
        return super().authorize(context, asked)


def test_the_topics_of_a_metadata_request_are_authorized_in_one_call_each_once(
    services: Services,
) -> None:
    """As in Kafka, which makes a set of the names first, and answers each once."""
    authorizer = Counting()
    authorizer.complete_initial_load()
    parts = request_parts(METADATA, 13)
    named = [parts.MetadataRequestTopic(name=name, topic_id=None) for name in "abab"]
    body = parts.MetadataRequest(
        topics=tuple(named),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    listener = CONTROLLER._replace(is_for_controllers=False)
    context = RequestContext(NOBODY, "127.0.0.1", "CONTROLLER", "Metadata")
    incoming = IncomingRequest(
        WireRequest(RequestHeader(METADATA, 13, 7), "test", body), b"", context, listener, False
    )
    api = apis_of(is_for_controllers=False)[METADATA]
    answered: Any = answer(api, services._replace(authorizer=authorizer), incoming)
    assert [(each.name, int(each.error_code)) for each in answered.topics] == [("a", 29), ("b", 29)]
    [call] = authorizer.calls
    assert [(each.resource.name, each.resource_reference_count) for each in call] == [
        ("a", 1),
        ("b", 1),
    ]


def _operations_shown(services: Services, key: int, version: int) -> int:
    """By a broker's listener, to NOBODY."""
    fields: dict[str, object] = {"include_cluster_authorized_operations": True}
    if key == METADATA:
        fields |= {
            "topics": (),
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        }
    elif version >= 1:
        fields |= {"endpoint_type": 1}
    if key == DESCRIBE_CLUSTER and version >= 2:
        fields |= {"include_fenced_brokers": False}
    context = RequestContext(NOBODY, "127.0.0.1", "CONTROLLER", "Metadata")
    request = WireRequest(RequestHeader(key, version, 7), "", request_type(key, version)(**fields))
    listener = CONTROLLER._replace(is_for_controllers=False)
    incoming = IncomingRequest(request, b"", context, listener, False)
    answered: Any = answer(apis_of(is_for_controllers=False)[key], services, incoming)
    return int(answered.cluster_authorized_operations)


@pytest.mark.parametrize(
    ("key", "version"),
    [*((METADATA, each) for each in (8, 9, 10)), *((DESCRIBE_CLUSTER, each) for each in (0, 1, 2))],
)
def test_the_operations_on_the_cluster_are_shown_to_who_may_describe_it(
    services: Services, key: int, version: int
) -> None:
    assert _operations_shown(services, key, version) == 0
    on_cluster = {"resource_type": 4, "resource_name": "kafka-cluster", "principal": NOBODY}
    asked(services, create(creation(**on_cluster, operation=int(Operation.CREATE))))
    assert _operations_shown(services, key, version) == 0
    asked(services, create(creation(**on_cluster, operation=int(Operation.ALTER))))
    shown = {each for each in Operation if _operations_shown(services, key, version) >> each & 1}
    assert shown == {Operation.CREATE, Operation.ALTER, Operation.DESCRIBE}


@pytest.mark.parametrize("key", [CREATE, DELETE])
def test_of_a_change_that_is_refused_the_items_are_only_counted(
    services: Services, key: int
) -> None:
    """They are unreadable: the bytes of each are cut short."""
    api = apis_of(is_for_controllers=True)[key]
    payload = hostile(request_type(key, 3), Shape()).removesuffix(b"\x01\0") + b"\x04\xff\xff\xff"
    context = RequestContext(NOBODY, "127.0.0.1", "CONTROLLER", api.name)
    request = UnreadRequest(read_head(payload), payload, api.most_elements)
    incoming = IncomingRequest(request, payload, context, CONTROLLER, is_encrypted=False)
    answered: Any = answer(api, services, incoming)
    told = answered.results if key == CREATE else answered.filter_results
    assert codes(told) == [31, 31, 31]
    allowed = incoming._replace(context=RequestContext(ADMIN, "127.0.0.1", "CONTROLLER", api.name))
    with pytest.raises(Malformed):
        answer(api, services, allowed)


def passwords(*given: tuple[str, int, str | None]) -> Any:
    return extensions.WireScramPasswordRequest(
        credentials=tuple(
            extensions.WireScramCredentials(username=user, hash_type=hash_type, password=password)
            for user, hash_type, password in given
        )
    )


def results(answered: Any) -> dict[tuple[int, str], int]:
    return {
        (hashed.hash_type, user.username): int(user.error_code)
        for hashed in answered.hash_results
        for user in hashed.user_results
    }


def test_passwords_that_come_over_tls_are_set_and_deleted(services: Services) -> None:
    request = passwords(("alice", 1, "a" * 12), ("alice", 2, "b" * 12), ("bob", 9, "c"))
    answered = asked(services, request, is_encrypted=True)
    assert results(answered) == {(1, "alice"): 0, (2, "alice"): 0, (9, "bob"): 33}
    known = services.replica.image.scram.mechanisms
    assert sorted(mechanism for mechanism, users in known.items() if "alice" in users) == [1, 2]
    answered = asked(services, passwords(("alice", 1, None)), is_encrypted=True)
    assert results(answered) == {(1, "alice"): 0}
    assert services.replica.image.scram.credential(ScramMechanism.SCRAM_SHA_256, "alice") is None


@pytest.mark.parametrize(
    ("principal", "is_encrypted", "code"), [(ADMIN, False, 20_001), (NOBODY, True, 20_002)]
)
def test_passwords_are_taken_over_tls_and_from_super_users_only(
    services: Services, principal: str, is_encrypted: bool, code: int
) -> None:
    request = passwords(("alice", 1, "secret"), ("bob", 2, None))
    answered = asked(services, request, principal, is_encrypted=is_encrypted)
    assert results(answered) == {(1, "alice"): code, (2, "bob"): code}


def test_a_password_is_in_no_repr(services: Services) -> None:
    assert "sesame" not in repr(passwords(("alice", 1, "sesame")))
