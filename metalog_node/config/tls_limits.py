"""A listener's ``ssl.enabled.protocols`` and ``ssl.cipher.suites``, as Python's ``ssl`` takes
them.

Java's names of cipher suites become OpenSSL's. This module must not know files or listeners.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from typing import Final, NamedTuple

from metalog.config.properties import comma_separated
from metalog.errors import InvalidRequest

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
SUITES_1_3: Final = frozenset(
    ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
)
"""The suites of TLS 1.3 that OpenSSL offers. Python can only offer all of them or none."""

_BEFORE_1_3: Final = re.compile(
    r"TLS_(?:RSA|(?P<keys>(?:ECDHE|DHE)_(?:RSA|ECDSA)))_WITH_(?P<cipher>AES|CHACHA20)_(?P<rest>\w+)"
)


class TlsLimits(NamedTuple):
    """``ciphers`` are OpenSSL's names of the suites before TLS 1.3; empty for OpenSSL's
    defaults."""

    least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    most: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ciphers: tuple[str, ...] = ()

    def apply(self, context: ssl.SSLContext) -> None:
        context.minimum_version, context.maximum_version = self.least, self.most
        if self.ciphers:
            context.set_ciphers(":".join(self.ciphers))


def protocols(text: str | None) -> list[ssl.TLSVersion]:
    """The versions in ``ssl.enabled.protocols``, or else all supported versions."""
    names = comma_separated(text or "") or list(VERSIONS)
    for name in names:
        if name not in VERSIONS:
            raise InvalidRequest(f"{name} is not supported; use {' or '.join(VERSIONS)}")
    return sorted(VERSIONS[name] for name in names)


def limits(versions: Sequence[ssl.TLSVersion], suites: str | None) -> TlsLimits:
    """The TLS versions and suites to offer. A version without a suite in ``suites`` is left out.
    Empty ``suites`` mean OpenSSL's default suites and all ``versions``. ``InvalidRequest`` if no
    version remains, or if only a part of TLS 1.3's suites is named."""
    named = comma_separated(suites or "")
    if not named:
        return TlsLimits(versions[0], versions[-1])
    of_1_3 = SUITES_1_3.intersection(named)
    ciphers = [_openssl_name(name) for name in named if name not in SUITES_1_3]
    offered = [
        version
        for version in versions
        if (of_1_3 if version is ssl.TLSVersion.TLSv1_3 else ciphers)
    ]
    if not offered:
        raise InvalidRequest("none of the suites belongs to a version in ssl.enabled.protocols")
    if ssl.TLSVersion.TLSv1_3 in offered and of_1_3 != SUITES_1_3:
        missing = ", ".join(sorted(SUITES_1_3 - of_1_3))
        alternative = ", or set ssl.enabled.protocols=TLSv1.2" if ciphers else ""
        raise InvalidRequest(
            f"the suites of TLS 1.3 can only be offered together; add {missing}{alternative}"
        )
    return TlsLimits(offered[0], offered[-1], tuple(ciphers))


def _openssl_name(suite: str) -> str:
    """OpenSSL's name: ``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` becomes
    ``ECDHE-RSA-AES128-GCM-SHA256``."""
    match = _BEFORE_1_3.fullmatch(suite)
    if match is None:
        raise InvalidRequest(f"{suite} is not offered here")
    cipher, rest = match["cipher"], match["rest"]
    if cipher == "AES":
        cipher, rest = f"AES{rest[:3]}", rest[4:].removeprefix("CBC_")
    else:
        rest = rest.removesuffix("_SHA256")
    name = "-".join(filter(None, (match["keys"], cipher, rest))).replace("_", "-")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers(name)
    except ssl.SSLError:
        raise InvalidRequest(f"{suite} is not offered here") from None
    return name
