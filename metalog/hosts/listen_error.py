"""Why a listener cannot be opened, in words. This module must not know listeners, nor open any."""

from __future__ import annotations

import os
import socket


def listen_error(error: OSError | UnicodeError) -> str:
    """The text for an error of a socket, or of the resolver of host names.

    Python raises ``UnicodeError`` for a name that cannot be encoded for DNS, such as ``a..b``.
    """
    if isinstance(error, UnicodeError):
        return "not a valid host name"
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return str(error) if error.errno is None else os.strerror(error.errno)
