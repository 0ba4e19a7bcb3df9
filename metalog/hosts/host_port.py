"""Reads addresses of the form HOST:PORT, and writes the errors of sockets as text.

This module must not resolve names, nor open anything.
"""

from __future__ import annotations

import os
import re
import socket
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest

_HOST_PORT: Final = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.%]+)\]|(?P<name>[^\s:/\[\],]+)):(?P<port>\d{1,5})"
)


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> list[Address]:
    """The addresses in ``HOST:PORT[,HOST:PORT…]``; ``InvalidRequest`` for any other text.

    An IPv6 address must be in brackets.
    """
    return [_address(part.strip()) for part in text.split(",")]


def _address(text: str) -> Address:
    match = _HOST_PORT.fullmatch(text)
    if match is None:
        raise InvalidRequest(f"{text!r} is not HOST:PORT")
    if not 0 < int(match["port"]) < 1 << 16:
        raise InvalidRequest(f"{text!r}: the port is not between 1 and 65535")
    return Address(match["v6"] or match["name"], int(match["port"]))


def socket_error_text(error: OSError | UnicodeError) -> str:
    """The text for an error of a socket, or of the resolver of host names.

    Python raises ``UnicodeError`` for a name that cannot be encoded for DNS, such as ``a..b``.
    """
    if isinstance(error, UnicodeError):
        return "not a valid host name"
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return str(error) if error.errno is None else os.strerror(error.errno)
