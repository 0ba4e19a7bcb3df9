"""A listener's TLS from PEM files, which can be reloaded.

This module must not know sockets.
"""

from __future__ import annotations

import ssl
from typing import Final

from metalog.errors import ConfigException
from metalog.wire.client.security import ANY_TRUSTED
from metalog_node.config.listener_keys import TlsFiles

_VERIFY_MODES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class ServerTls:
    """A listener's TLS ``context`` for new clients. Connected clients keep their first context."""

    def __init__(self, listener: str, files: TlsFiles) -> None:
        self._listener = listener
        self._files = files
        self.context = self._made()

    def reload(self) -> None:
        """Load the files again. If a file is invalid, raises ``ConfigException``, and the old
        context stays."""
        self.context = self._made()

    def _made(self) -> ssl.SSLContext:
        files, context = self._files, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        files.limits.apply(context)
        context.verify_flags |= ANY_TRUSTED
        try:
            context.load_cert_chain(files.identity, password=files.password or "")
        except (OSError, ssl.SSLError) as error:
            raise self._unusable("ssl.keystore.location", str(files.identity), error) from None
        if files.trusted is not None:
            try:
                context.load_verify_locations(files.trusted)
            except (OSError, ssl.SSLError) as error:
                raise self._unusable("ssl.truststore.location", str(files.trusted), error) from None
        context.verify_mode = _VERIFY_MODES[files.client_auth]
        return context

    def _unusable(self, key: str, file: str, error: OSError) -> ConfigException:
        why = getattr(error, "reason", None) or error.strerror or type(error).__name__
        return ConfigException(f"{key}: {file} cannot be used for listener {self._listener}: {why}")
