"""Targets whose SCRAM users can be changed, one user and mechanism at a time.

Kafka's controller accepts a user only once in a request, so a second mechanism needs a second call.
This module must not know the caller, nor where a password comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from metalog.scram import ScramMechanism
from metalog_sources.source import Source
from metalog_sources.source_kinds import USER_TARGETS
from metalog_sources.targets.answers import PasswordOffer
from metalog_sources.targets.target import target_of


@runtime_checkable
class CredentialTarget(Protocol):
    """No error of these methods quotes a password."""

    def scram_users(self) -> Mapping[str, Mapping[ScramMechanism, int]]:
        """The iterations of each credential, by user and mechanism."""
        ...

    def set_password(
        self, user: str, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> None: ...

    def delete_credential(self, user: str, mechanism: ScramMechanism) -> None: ...

    def close(self) -> None:
        """Release the connection or lock. A caller may repeat the call."""
        ...


@runtime_checkable
class TakesPasswords(CredentialTarget, Protocol):
    """A target that can accept the password itself (KIP-506)."""

    def password_offer(self) -> PasswordOffer: ...

    def send_password(self, user: str, mechanism: ScramMechanism, password: str) -> None: ...


def credential_target_of(source: Source) -> CredentialTarget:
    """``InvalidTarget`` if the SCRAM users of ``source`` cannot be changed."""
    target = target_of(source)
    if not isinstance(target, CredentialTarget):
        raise USER_TARGETS.refusal(source.kind, source.text)
    return target
