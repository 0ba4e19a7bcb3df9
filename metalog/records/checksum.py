"""CRC-32C, the only checksum of the log. The only module that imports google_crc32c."""

from __future__ import annotations

import google_crc32c


def crc32c(data: bytes) -> int:
    checksum: int = google_crc32c.value(data)
    return checksum


def crc32c_of_more(checksum: int, data: bytes) -> int:
    """The checksum of what ``checksum`` is of, followed by ``data``; 0 is that of nothing."""
    extended: int = google_crc32c.extend(checksum, data)
    return extended
