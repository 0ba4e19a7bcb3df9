"""The configuration of a development node: one listener, on this machine only, where every client
is a super user.

The folder is formatted when it is first used. This module must not know what the node is used for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from metalog.log.folder.layout import META_PROPERTIES
from metalog_node.config.node_config import NodeConfig, config_of
from snapshot.formatting import format_log

_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_NODE_ID: Final = 1


def dev_config(
    folder: str | Path, *, port: int = 0, changed: Mapping[str, str] | None = None
) -> NodeConfig:
    """The configuration of a development node whose log is in ``folder``. A missing folder is
    created. Port 0 means any free port.

    ``changed`` adds or replaces keys of Kafka, such as ``{"super.users": "User:admin"}``.
    """
    folder = Path(folder)
    if not is_formatted(folder):
        format_log(folder, node_id=_NODE_ID)
    return config_of(
        {
            "process.roles": "broker,controller",
            "node.id": str(_NODE_ID),
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "authorizer.class.name": _AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "metadata.log.dir": str(folder),
            **(changed or {}),
        }
    )


def is_formatted(folder: Path) -> bool:
    return (folder / META_PROPERTIES).exists()
