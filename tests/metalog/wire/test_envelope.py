"""Envelopes: a controller unwraps what a broker wrapped, in both versions, with errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import ErrorCode, InvalidRequest
from metalog.principal import KafkaPrincipal
from metalog.wire.envelope import (
    ENVELOPE,
    ForwardedAnswer,
    PrincipalUnreadable,
    seal,
    sealed_answer,
    unseal,
    unsealed_answer,
)
from metalog.wire.frames import Malformed
from metalog.wire.messages import read_request, read_response, write_request, write_response
from metalog.wire.schema import request_type, response_type

ALICE = KafkaPrincipal("User", "alice")
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.sampled_from([0, 1]),
    st.binary(),
    TEXT,
    TEXT,
    st.booleans(),
    st.binary(min_size=4, max_size=4),
)
def test_a_forwarded_request_comes_out_as_it_went_in(
    version: int, request: bytes, kind: str, name: str, by_token: bool, address: bytes
) -> None:
    principal = KafkaPrincipal(kind, name)
    sealed = seal(version, request, principal, address, token_authenticated=by_token)
    arrived = read_request(write_request(sealed, 7, "1"))
    assert arrived.head == (ENVELOPE, version, 7)
    assert unseal(arrived.body) == (request, principal, by_token, ".".join(map(str, address)))


def test_the_bytes_of_the_principal_are_kafkas() -> None:
    """int16 version, two compact strings, a boolean, no tagged fields (DefaultPrincipalData)."""
    sealed = seal(0, b"", ALICE, bytes(4))
    assert sealed.request_principal == b"\0\0\x05User\x06alice\0\0"


@pytest.mark.parametrize(
    "principal", [None, b"", b"\0", b"\0\1\x05User\x06alice\0\0", b"\0\0\x05Use"]
)
def test_a_principal_in_another_form_is_refused(principal: bytes | None) -> None:
    envelope = request_type(ENVELOPE, 0)(
        request_data=b"", request_principal=principal, client_host_address=bytes(4)
    )
    with pytest.raises(PrincipalUnreadable) as raised:
        unseal(envelope)
    assert raised.value.code == 97


@pytest.mark.parametrize("size", [0, 3, 5, 15, 17])
def test_an_address_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(InvalidRequest, match="4 or 16") as raised:
        unseal(seal(0, b"", ALICE, bytes(size)))
    assert raised.value.code == 42


@pytest.mark.parametrize(
    ("version", "code", "told"),
    [
        (0, ErrorCode.NONE, 0),
        (0, ErrorCode.NOT_CONTROLLER, 41),
        (0, ErrorCode.AUTHORIZER_NOT_READY, -1),
        (1, ErrorCode.NOT_CONTROLLER, 41),
        (1, ErrorCode.AUTHORIZER_NOT_READY, 20_000),
    ],
)
def test_a_peer_is_told_only_codes_that_it_can_know(
    version: int, code: ErrorCode, told: int
) -> None:
    response = b"inner" if code == ErrorCode.NONE else None
    wire = write_response(sealed_answer(version, code, response), 7)
    body = read_response(wire, response_type(ENVELOPE, version))
    assert unsealed_answer(body) == ForwardedAnswer(told, response)


def test_both_versions_have_the_same_bytes() -> None:
    old, new = (seal(version, b"inner", ALICE, bytes(4)) for version in (0, 1))
    assert write_request(old, 7, "1")[4:] == write_request(new, 7, "1")[4:]
    old, new = (sealed_answer(version, ErrorCode.NOT_CONTROLLER, None) for version in (0, 1))
    assert write_response(old, 7) == write_response(new, 7)


def test_an_answer_that_says_nothing_is_refused() -> None:
    with pytest.raises(Malformed):
        unsealed_answer(sealed_answer(0, ErrorCode.NONE, None))
