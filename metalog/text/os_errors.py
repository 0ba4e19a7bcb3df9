"""Texts of the operating system's errors. This module must not know who reads or writes a file."""

from __future__ import annotations


def os_error_text(error: OSError) -> str:
    """The reason of ``error``, after the file's name if the error names a file."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"
