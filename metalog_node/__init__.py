"""A node: a log of its own or a follower, its authorizer, and listeners for Kafka's clients.

Names are loaded when first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalog_node.config import NodeConfig, config_of, read_config
    from metalog_node.event_loop import new_event_loop
    from metalog_node.handlers.question import Api, Question, Services
    from metalog_node.node import Node
    from metalog_node.threaded import running
    from metalog_node.trial import trial_config

__all__ = [
    "Api",
    "Node",
    "NodeConfig",
    "Question",
    "Services",
    "config_of",
    "new_event_loop",
    "read_config",
    "running",
    "trial_config",
]

_HOMES = {
    "Node": "metalog_node.node",
    "new_event_loop": "metalog_node.event_loop",
    "running": "metalog_node.threaded",
    "trial_config": "metalog_node.trial",
    **dict.fromkeys(("NodeConfig", "config_of", "read_config"), "metalog_node.config"),
    **dict.fromkeys(("Api", "Question", "Services"), "metalog_node.handlers.question"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
