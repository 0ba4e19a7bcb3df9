"""CRC-32C, the only checksum of the log. The only module that imports google_crc32c."""

from __future__ import annotations

import google_crc32c


def crc32c(data: bytes) -> int:
    checksum: int = google_crc32c.value(data)
    return checksum
