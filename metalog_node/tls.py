"""A listener's TLS context, from PEM files. This module must not know sockets."""

from __future__ import annotations

import ssl
from typing import Final

from metalog.errors import ConfigException
from metalog_node.config import TlsFiles

_ASKED: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def server_context(listener: str, files: TlsFiles) -> ssl.SSLContext:
    """``ConfigException`` names the file that cannot be used; never a password."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(context, listener, files)
    if files.trusted is not None:
        try:
            context.load_verify_locations(files.trusted)
        except (OSError, ssl.SSLError) as error:
            raise _unusable(
                listener, "ssl.truststore.location", str(files.trusted), error
            ) from None
    context.verify_mode = _ASKED[files.client_auth]
    return context


def load_identity(context: ssl.SSLContext, listener: str, files: TlsFiles) -> None:
    """Take the key and certificates as they are in their file now."""
    try:
        context.load_cert_chain(files.identity, password=files.password or "")
    except (OSError, ssl.SSLError) as error:
        raise _unusable(listener, "ssl.keystore.location", str(files.identity), error) from None


def _unusable(listener: str, key: str, file: str, error: OSError) -> ConfigException:
    why = getattr(error, "reason", None) or error.strerror or type(error).__name__
    return ConfigException(f"{key}: {file} cannot be used for listener {listener}: {why}")
