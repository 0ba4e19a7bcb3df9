"""TARGETs whose SCRAM users can be changed: one user's credential for one mechanism at a time.

Kafka's controller takes a user only once in a request, so a second mechanism is a second
call. This module must not know who asks, nor where a password comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Protocol, runtime_checkable

from metalog.scram import ScramMechanism
from metalog_sources.source import Source
from metalog_sources.source_kinds import USER_TARGETS
from metalog_sources.targets.target import target_of


@runtime_checkable
class CredentialTarget(Protocol):
    """All of these raise ``InvalidRequest`` where it cannot be done, and never quote a password."""

    def scram_users(self) -> Mapping[str, Mapping[ScramMechanism, int]]:
        """The iterations of each credential, by user and mechanism."""
        ...

    def set_password(
        self, user: str, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> None: ...

    def delete_credential(self, user: str, mechanism: ScramMechanism) -> None: ...

    def close(self) -> None:
        """Lets go of what was held to write; it may be called again."""
        ...


class PasswordOffer(Enum):
    """Whether a TARGET salts passwords itself."""

    NONE = 0
    NOT_ENCRYPTED = 1
    """It would, but a password may not be sent to it by this connection."""
    TAKEN = 2


@runtime_checkable
class TakesPasswords(CredentialTarget, Protocol):
    """A TARGET that may take a password itself (KIP-506), and salt it by its own rules."""

    def takes_passwords(self) -> PasswordOffer: ...

    def send_password(self, user: str, mechanism: ScramMechanism, password: str) -> None: ...


def credential_target_of(source: Source) -> CredentialTarget:
    """The TARGET that an opened SOURCE also is; ``InvalidTarget`` where it is none."""
    target = target_of(source)
    if not isinstance(target, CredentialTarget):
        raise USER_TARGETS.refusal(source.text)
    return target
