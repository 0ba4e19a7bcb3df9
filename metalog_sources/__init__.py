"""What is read as a SOURCE, at its end or at a moment of its past.

The names below are what others need from here; each is imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from metalog_sources.past import image_at as image_at

__all__ = [
    "image_at",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "metalog_sources.past": ("image_at",),
        },
    )
