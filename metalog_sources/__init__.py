"""Reads a SOURCE, at its end or at a point of its past.

The names below are the package's public API; a name is imported at its first use.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from metalog_sources.past import image_at as image_at

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(__name__, {"metalog_sources.past": "image_at"})
