"""``/image/configs``: dynamic configurations by resource; passwords only with ``--show-secrets``.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from typing import Final

from metalog.image.state.configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    Config,
    ConfigResource,
    ConfigsImage,
)
from metalog.records.masking import REDACTED, is_secret_config
from shell.browser.nodes import Directory, Leaf, Node, listing

_TYPE_NAMES: Final = {
    TOPIC: "TOPIC",
    BROKER: "BROKER",
    BROKER_LOGGER: "BROKER_LOGGER",
    CLIENT_METRICS: "CLIENT_METRICS",
    GROUP: "GROUP",
}


def kafka_configs(image: ConfigsImage, *, show_secrets: bool) -> Directory:
    def by_name() -> dict[str, Config]:
        return {_name(resource): config for resource, config in image.resources.items()}

    return listing(by_name, lambda config: _config_directory(config, show_secrets=show_secrets))


def _name(resource: ConfigResource) -> str:
    """``TYPE:name``, or the type alone for the type's default."""
    type_name = _TYPE_NAMES.get(resource.type, f"UNKNOWN_{resource.type}")
    return f"{type_name}:{resource.name}" if resource.name else type_name


def _config_directory(config: Config, *, show_secrets: bool) -> Directory:
    def child(name: str) -> Node | None:
        value = config.get(name)
        if value is None:
            return None
        return Leaf(value if show_secrets or not is_secret_config(name) else REDACTED)

    return Directory(lambda: config, child)
