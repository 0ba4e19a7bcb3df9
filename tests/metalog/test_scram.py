"""SCRAM's calculations, with the test vectors of the RFCs."""

import hashlib
import hmac
from base64 import b64decode

import pytest

from metalog.scram import ScramMechanism, credential_of, salted_password


def xor(left, right):
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(
    ("mechanism", "salt", "auth_message", "proof", "signature"),
    [
        pytest.param(
            ScramMechanism.SCRAM_SHA_256,
            "W22ZaJ0SNY7soEsUEjb6gQ==",
            "n=user,r=rOprNGfwEbeRWgbNEkqO,"
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
            "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            id="RFC 7677, section 3",
        )
    ],
)
def test_a_stored_credential_proves_the_exchange_of_the_rfc(
    mechanism, salt, auth_message, proof, signature
):
    salted = salted_password(mechanism, "pencil", b64decode(salt), 4096)
    credential = credential_of(mechanism, salted, b64decode(salt), 4096)
    name = mechanism.hash_name
    client_signature = hmac.digest(credential.stored_key, auth_message.encode(), name)
    client_key = xor(b64decode(proof), client_signature)
    assert hashlib.new(name, client_key).digest() == credential.stored_key
    server_signature = hmac.digest(credential.server_key, auth_message.encode(), name)
    assert server_signature == b64decode(signature)


def test_a_credential_is_of_the_password_that_rfc_7677_proves() -> None:
    """RFC 7677's example, whose ClientProof needs the password "pencil"."""
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, "pencil", salt, 4096)
    credential = credential_of(ScramMechanism.SCRAM_SHA_256, salted, salt, 4096)
    hidden = "ScramCredential(salt=[hidden], stored_key=[hidden], server_key=[hidden], "
    assert repr(credential) == f"{hidden}iterations=4096)"
    assert credential.is_of(ScramMechanism.SCRAM_SHA_256, "pencil")
    assert not credential.is_of(ScramMechanism.SCRAM_SHA_256, "Pencil")
    assert not credential.is_of(ScramMechanism.SCRAM_SHA_512, "pencil")
