"""``/image/features``: the finalized feature levels.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from metalog.image.state.features import FeaturesImage
from shell.browser.nodes import Directory, Leaf, listing
from shell.browser.tree.kafka import optional


def kafka_features(image: FeaturesImage) -> Directory:
    def lines() -> dict[str, str]:
        finalized = {f"finalized_{name}": str(level) for name, level in image.finalized.items()}
        return {"metadataVersion": optional(image.metadata_version_name), **finalized}

    return listing(lines, Leaf)
