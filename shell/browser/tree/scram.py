"""``/scram`` as JSON, ``/image/scram`` in Kafka's form; secrets only with ``--show-secrets``.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping

from metalog.image.state.scram import ScramImage
from metalog.records.masking import REDACTED
from metalog.scram import ScramCredential, ScramMechanism
from shell.browser.nodes import Directory, Leaf, listing


def scram_directory(image: ScramImage, *, show_secrets: bool) -> Directory:
    def leaf(credential: ScramCredential) -> Leaf:
        def text(secret: bytes) -> str:
            return b64encode(secret).decode("ascii") if show_secrets else REDACTED

        return Leaf(
            {
                "iterations": credential.iterations,
                "salt": text(credential.salt),
                "storedKey": text(credential.stored_key),
                "serverKey": text(credential.server_key),
            }
        )

    return _by_mechanism(image, leaf)


def kafka_scram(image: ScramImage, *, show_secrets: bool) -> Directory:
    def leaf(credential: ScramCredential) -> Leaf:
        def text(secret: bytes) -> str:
            return secret.hex() if show_secrets else REDACTED

        return Leaf(
            f"ScramCredentialData(salt={text(credential.salt)}, "
            f"storedKey={text(credential.stored_key)}, serverKey={text(credential.server_key)}, "
            f"iterations={credential.iterations})"
        )

    return _by_mechanism(image, leaf)


def _by_mechanism(image: ScramImage, leaf: Callable[[ScramCredential], Leaf]) -> Directory:
    def users(mechanism: ScramMechanism) -> Mapping[str, ScramCredential]:
        return image.mechanisms.get(mechanism, {})

    return listing(
        lambda: {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism},
        lambda mechanism: listing(lambda: users(mechanism), leaf),
    )
