"""Computes CRC-32C, the checksum of a record batch.

This module must not know what the bytes mean.
"""

from __future__ import annotations

from math import isqrt

import google_crc32c

_POLYNOMIAL = 0x82F63B78
"""Castagnoli's polynomial with its bits reversed."""
_TOP = 1 << 31


def crc32c(data: bytes) -> int:
    checksum: int = google_crc32c.value(data)
    return checksum


def crc32c_of_more(checksum: int, data: bytes) -> int:
    """Extend ``checksum``, the checksum of all earlier bytes, by ``data``."""
    extended: int = google_crc32c.extend(checksum, data)
    return extended


def is_one_bit_off(difference: int, size: int) -> bool:
    """Whether one wrong bit explains why two checksums differ; ``difference`` is their XOR.

    The wrong bit is in the ``size`` bytes of data, or in one of the checksums.

    A CRC is linear: the difference depends only on the number ``n`` of bits after the wrong bit. A
    shift register that begins with 1 has this difference after ``n + 1`` steps. A baby-step
    giant-step search finds ``n``. A random difference fits with a probability of approximately
    (number of bits) / 2**32.
    """
    if difference.bit_count() <= 1:
        return True
    stride = isqrt(8 * size) + 1
    near, register = set(), 1
    for _ in range(stride):
        register = register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)
        near.add(register)
    back = [_stepped_back(1 << bit, stride) for bit in range(32)]
    for _ in range(stride):
        if difference in near:
            return True
        before, difference = difference, 0
        for bit in range(32):
            if before >> bit & 1:
                difference ^= back[bit]
    return False


def _stepped_back(register: int, steps: int) -> int:
    for _ in range(steps):
        if register & _TOP:
            register = (register ^ _POLYNOMIAL) << 1 | 1
        else:
            register <<= 1
    return register
