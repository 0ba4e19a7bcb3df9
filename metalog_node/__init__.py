"""A node: a replica of the log, an authorizer, and listeners for Kafka's clients.

``docs/reference/api.md`` describes the exported names. Each name is imported at its first use.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from metalog_node.background import running as running
    from metalog_node.config.dev_config import dev_config as dev_config
    from metalog_node.config.node_config import NodeConfig as NodeConfig
    from metalog_node.config.node_config import config_of as config_of
    from metalog_node.config.node_config import read_config as read_config
    from metalog_node.handlers.request import HandledApi as HandledApi
    from metalog_node.handlers.request import IncomingRequest as IncomingRequest
    from metalog_node.handlers.request import Services as Services
    from metalog_node.net.event_loop import new_event_loop as new_event_loop
    from metalog_node.node import Node as Node
    from metalog_node.ops.log_queue import LogQueue as LogQueue
    from metalog_node.topic_apis import FETCH as FETCH
    from metalog_node.topic_apis import LIST_OFFSETS as LIST_OFFSETS
    from metalog_node.topic_apis import METADATA as METADATA
    from metalog_node.topic_apis import PRODUCE as PRODUCE
    from metalog_node.topic_apis import UNKNOWN_TOPIC as UNKNOWN_TOPIC
    from metalog_node.topic_apis import authorized_topics as authorized_topics
    from metalog_node.topic_apis import denied as denied
    from metalog_node.topic_apis import joined as joined
    from metalog_node.topic_apis import metadata_api as metadata_api
    from metalog_node.topic_apis import restricted_to as restricted_to
    from metalog_node.topic_apis import topic_api as topic_api
    from metalog_node.topic_apis import topics_of as topics_of
    from metalog_node.topic_apis import with_answer as with_answer
    from metalog_node.upstream import Upstream as Upstream

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "metalog_node.topic_apis": "FETCH LIST_OFFSETS METADATA PRODUCE UNKNOWN_TOPIC "
            "authorized_topics denied joined metadata_api restricted_to topic_api topics_of "
            "with_answer",
            "metalog_node.config.node_config": "NodeConfig config_of read_config",
            "metalog_node.net.event_loop": "new_event_loop",
            "metalog_node.handlers.request": "HandledApi IncomingRequest Services",
            "metalog_node.ops.log_queue": "LogQueue",
            "metalog_node.node": "Node",
            "metalog_node.background": "running",
            "metalog_node.config.dev_config": "dev_config",
            "metalog_node.upstream": "Upstream",
        },
    )
