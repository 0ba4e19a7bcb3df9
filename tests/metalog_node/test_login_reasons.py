"""Why a login is refused: in the log word for word, and to the client always the same."""

from __future__ import annotations

from base64 import b64encode

import pytest

from metalog.scram import (
    MOST_NAME_BYTES,
    ScramCredential,
    ScramMechanism,
    client_proof,
    credential_of,
    salted_password,
)
from metalog_node.auth.authentication import (
    MECHANISMS,
    Login,
    LoginRefused,
    Logins,
    NotReadyForLogins,
)
from metalog_node.auth.dummy_credentials import DummyCredentials

SHA_256 = ScramMechanism.SCRAM_SHA_256
SALT = b"0123456789abcdefghijklmn"
SALTED = salted_password(SHA_256, "pencil", SALT, 4096)
KEPT = credential_of(SHA_256, SALTED, SALT, 4096)
FIRST = "n,,n=alice,r=abc"


class Users:
    def __init__(self, *, is_loaded: bool = True, kept: ScramCredential = KEPT) -> None:
        self.is_loaded = is_loaded
        self._kept = kept

    def dummy(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        return DummyCredentials({}, b"secret").of(mechanism, user)

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return self._kept if (mechanism, user) == (SHA_256, "alice") else None


def login(mechanism: str, users: Users | None = None) -> Login:
    logins = Logins(MECHANISMS, users or Users(), {"alice": "pencil"}, lambda size: b"n" * size)
    begun = logins.begin(mechanism)
    assert begun is not None
    return begun


def scram() -> Login:
    return login("SCRAM-SHA-256")


def final_of(
    challenge: str,
    first: str = FIRST,
    *,
    binding: str = "n,,",
    nonce: str | None = None,
    salted: bytes = SALTED,
) -> str:
    nonce = nonce or challenge.split(",")[0].removeprefix("r=")
    without_proof = f"c={b64encode(binding.encode()).decode()},r={nonce}"
    text = ",".join((first.removeprefix("n,,"), challenge, without_proof)).encode()
    return f"{without_proof},p={b64encode(client_proof(SHA_256, salted, text)).decode()}"


def reason(begun: Login, token: str) -> str:
    with pytest.raises(LoginRefused) as refused:
        begun.answer(token.encode())
    assert begun.principal is None
    mechanism = "PLAIN" if token.count("\0") else "SCRAM-SHA-256"
    assert str(refused.value) == (
        "Authentication failed during authentication due to invalid credentials "
        f"with SASL mechanism {mechanism}"
    )
    return refused.value.reason


def test_a_right_password_is_answered() -> None:
    begun = scram()
    challenge = begun.answer(FIRST.encode()).decode()
    assert challenge.startswith(f"r=abc{b'n'.hex() * 24},s=")
    assert begun.answer(final_of(challenge).encode()).startswith(b"v=")
    assert str(begun.principal) == "User:alice"
    plain = login("PLAIN")
    assert plain.answer(b"\0alice\0pencil") == b""
    assert str(plain.principal) == "User:alice"


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        *(
            (token, "a token that is not valid by RFC 4616")
            for token in ("\0alice\0pencil\0", "\0alice\0pencil\0x", "alice\0pencil", "\0alice")
        ),
        ("bob\0alice\0pencil", "the client asks to act as somebody else"),
        (f"\0{'a' * (MOST_NAME_BYTES + 1)}\0pencil", "a name of more than 1024 bytes"),
        ("\0alice\0Pencil", "unknown user or wrong password: 'alice'"),
        ("\0bob\0pencil", "unknown user or wrong password: 'bob'"),
        (f"\0{'a' * 101}\0pencil", f"unknown user or wrong password: '{'a' * 100}'"),
    ],
)
def test_why_plain_refuses(token: str, expected: str) -> None:
    assert reason(login("PLAIN"), token) == expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("n,a=bob,n=alice,r=abc", "the client asks to act as somebody else (user 'alice')"),
        (f"n,,n={'a' * (MOST_NAME_BYTES + 1)},r=abc", "a name of more than 1024 bytes"),
        ("what", "a first message that is not valid by RFC 5802"),
    ],
)
def test_why_a_first_message_is_refused_and_nothing_follows_it(first: str, expected: str) -> None:
    begun = scram()
    assert reason(begun, first) == expected
    about = " (user 'alice')" if "alice" in expected else ""
    assert reason(begun, FIRST) == f"a token after the end of the exchange{about}"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"binding": "y,,"}, "the channel binding differs from the first message"),
        ({"nonce": "abc"}, "the nonce differs from the exchange"),
        ({"salted": bytes(32)}, "wrong password"),
    ],
)
def test_why_a_last_message_is_refused_and_nothing_follows_it(
    change: dict[str, str], expected: str
) -> None:
    begun = scram()
    final = final_of(begun.answer(FIRST.encode()).decode(), **change)  # type: ignore[arg-type]
    assert reason(begun, final) == f"{expected} (user 'alice')"
    assert reason(begun, final) == "a token after the end of the exchange (user 'alice')"


@pytest.mark.parametrize(
    ("first", "iterations", "expected"),
    [
        (
            "n,,n=bob,r=abc",
            4096,
            "no user of that name has a SCRAM-SHA-256 credential (user 'bob')",
        ),
        (
            f"{FIRST},tokenauth=true",
            4096,
            "login by delegation token is not supported here (user 'alice')",
        ),
        (FIRST, 4095, "fewer than 4096 iterations; set the password again (user 'alice')"),
    ],
)
def test_who_cannot_log_in_is_told_apart_in_the_log(
    first: str, iterations: int, expected: str
) -> None:
    begun = login("SCRAM-SHA-256", Users(kept=KEPT._replace(iterations=iterations)))
    assert reason(begun, final_of(begun.answer(first.encode()).decode(), first)) == expected


def test_before_the_load_nobody_is_told_anything_else() -> None:
    with pytest.raises(NotReadyForLogins) as told:
        login("SCRAM-SHA-256", Users(is_loaded=False)).answer(FIRST.encode())
    assert str(told.value) == "the node is not ready: it has not loaded its users yet; try again"
