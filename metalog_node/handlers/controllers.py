"""UnregisterController: removes the registration of a controller that no longer exists (Kafka
4.4).

``metalog.controller.registration`` decides which requests are refused. This module must not know
how a controller registers.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from metalog.acl import Operation
from metalog.controller.registration import unregister_controller
from metalog.errors import ApiError
from metalog.wire.declared.newest import UNREGISTER_CONTROLLER
from metalog.wire.schema import Body, response_type
from metalog.wire.versions import VersionRange
from metalog_node.handlers.request import (
    NO_THROTTLING,
    SMALL_REQUESTS,
    Answer,
    DeferredResponse,
    HandledApi,
    IncomingRequest,
    Services,
    authorize_cluster,
)


def unregister(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.ALTER)
    change = partial(
        unregister_controller,
        controller_id=incoming.request.body.controller_id,
        active_id=services.node_id,
    )
    done = services.replica.submit(change)
    return DeferredResponse(done, lambda changed: _response(incoming, changed.result()))


def _response(incoming: IncomingRequest, error: ApiError) -> Body:
    declared = response_type(UNREGISTER_CONTROLLER, incoming.request.head.version)
    return declared(throttle_time=NO_THROTTLING, error_code=error.code, error_message=error.message)


APIS: Final = {
    UNREGISTER_CONTROLLER: HandledApi(
        "UnregisterController",
        VersionRange(0, 0),
        unregister,
        _response,
        since="4.4",
        **SMALL_REQUESTS,
    )
}
