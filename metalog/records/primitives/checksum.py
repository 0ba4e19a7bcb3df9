"""CRC-32C, the only checksum of the log. The only module that imports google_crc32c."""

from __future__ import annotations

from math import isqrt

import google_crc32c

_POLYNOMIAL = 0x82F63B78
"""Castagnoli's, its bits reversed."""
_TOP = 1 << 31


def crc32c(data: bytes) -> int:
    checksum: int = google_crc32c.value(data)
    return checksum


def crc32c_of_more(checksum: int, data: bytes) -> int:
    """The checksum of what ``checksum`` is of, followed by ``data``; 0 is that of nothing."""
    extended: int = google_crc32c.extend(checksum, data)
    return extended


def is_one_bit_off(difference: int, size: int) -> bool:
    """Whether two checksums that differ by ``difference`` are of ``size`` bytes that are equal
    but for one bit at most, or one of the checksums itself has one wrong bit.

    A checksum is linear: a bit that ``n`` bits follow changes it by what ``n + 1`` steps of the
    shift register make of 1. That ``n`` is looked for from both ends at once, in steps of about
    the root of the bits (baby-step giant-step). By chance one in 2**32 differences fits each bit.
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
