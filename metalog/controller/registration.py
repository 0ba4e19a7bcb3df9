"""Turns requests about registered controllers into records.

This module refuses what Kafka 4.4's QuorumController and ClusterControlManager refuse, with the
same codes and messages. Pure. This module must not know the caller, nor how a controller registers.
"""

from __future__ import annotations

from typing import Final

from metalog.controller.result import SUCCESS, ApiError, ControllerResult
from metalog.errors import ErrorCode
from metalog.image.metadata import MetadataImage
from metalog.records.messages import UnregisterControllerRecord

UNREGISTRATION_SINCE: Final = 33
"""metadata.version 4.4-IV2, the first with UNREGISTER_CONTROLLER_RECORD."""

_ACTIVE: Final = ApiError(
    ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active."
)
_TOO_OLD: Final = ApiError(
    ErrorCode.UNSUPPORTED_VERSION,
    "The current MetadataVersion is too old to support controller unregistration.",
)


def unregister_controller(
    image: MetadataImage, controller_id: int, active_id: int
) -> ControllerResult[ApiError]:
    """The records that unregister a controller; ``active_id`` is the active controller."""
    if controller_id == active_id:
        return ControllerResult((), _ACTIVE)
    if (image.features.metadata_version or 0) < UNREGISTRATION_SINCE:
        return ControllerResult((), _TOO_OLD)
    if controller_id not in image.cluster.controllers:
        why = f"Controller ID {controller_id} is not currently registered."
        return ControllerResult((), ApiError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, why))
    return ControllerResult([(UnregisterControllerRecord(controller_id), 0)], SUCCESS)
