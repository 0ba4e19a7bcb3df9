"""Serves one client of a listener: reads requests, sends answers in order, and disconnects.

A request is read after the previous request is answered, so the node holds little more than one
request of each client. ``connection`` and the handlers make all decisions.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from authorizer.api import RequestContext
from metalog.errors import InvalidRequest
from metalog.principal import KafkaPrincipal
from metalog.wire.frames import framed
from metalog.wire.messages import UnreadRequest, read_response, write_response
from metalog.wire.schema import response_type
from metalog.wire.versions import Versions
from metalog_node.auth.authentication import LoginRefused, Logins
from metalog_node.auth.principals import MappingRule, principal_of
from metalog_node.config.listeners import Listener
from metalog_node.features import features_of
from metalog_node.handlers.request import (
    MOST_BYTES_ON_LOOP,
    Answer,
    DeferredResponse,
    EncodedResponse,
    HandledApi,
    IncomingRequest,
    Services,
    answer,
)
from metalog_node.net.connection import QueuedRequest, ServerConnection
from metalog_node.net.connection_quotas import ConnectionQuotas
from metalog_node.net.loop_budget import LoopBudget, RequestTurns
from metalog_node.net.refusal_log import RefusalLog
from metalog_node.net.tls import ServerTls
from metalog_node.net.tls_stream import Encrypted
from metalog_node.ops.metrics import NO_ERROR, Metrics, outcome_of

R = TypeVar("R")

_log = logging.getLogger(__name__)

ANONYMOUS: Final = KafkaPrincipal("User", "ANONYMOUS")
CHUNK: Final = 4 << 10
"""The bytes in one read. asyncio stops reading when twice as many bytes are buffered."""
_PIECE: Final = 256 << 10
"""The bytes in one write of a long answer."""
_LOGIN_S: Final = 15.0
"""The time limit of a whole login, in seconds."""
_LAST_ANSWER_S: Final = 5.0
"""How long a client may take to receive the last answer, in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListenerContext:
    """The common state of all clients of one listener.

    ``logins`` is None without SASL, ``tls`` is None without TLS. ``turns`` runs requests that would
    block the event loop.
    """

    listener: Listener
    apis: Mapping[int, HandledApi]
    logins: Logins | None
    tls: ServerTls | None
    mapping_rules: Sequence[MappingRule]
    most_bytes: int
    idle_s: float
    failed_login_delay_s: float
    metrics: Metrics
    quotas: ConnectionQuotas
    refusals: RefusalLog
    turns: RequestTurns
    budget: LoopBudget


class Client:
    """Serves one connection. The constructor raises ``InvalidRequest`` if no mapping rule matches
    the client's certificate."""

    def __init__(
        self,
        context: ListenerContext,
        versions: Versions,
        services: Services,
        reader: asyncio.StreamReader | Encrypted,
        writer: asyncio.StreamWriter | Encrypted,
        host: str,
    ) -> None:
        self._context = context
        self._services = services
        self._reader = reader
        self._writer = writer
        self._host = host
        self._is_answering = False
        self._is_leaving = False
        self._connection = ServerConnection(
            versions,
            logins=context.logins,
            principal=_certificate_principal(context, writer),
            most_bytes=context.most_bytes,
            most_bytes_of={key: api.most_bytes for key, api in context.apis.items()},
            features=lambda: features_of(services.replica, services.kafka),
            identity=None
            if context.listener.is_for_controllers
            else lambda: (services.cluster_id, services.node_id),
        )
        self._login_deadline = asyncio.get_running_loop().time() + _LOGIN_S

    def leave(self) -> bool:
        """Read no further request, and return whether an answer is under way."""
        self._is_leaving = True
        return self._is_answering

    async def serve(self) -> None:
        """Serve the client until either side closes the connection."""
        reason = None
        try:
            await self._serve_requests()
        except InvalidRequest as error:
            reason = str(error)
        except TimeoutError:
            self._writer.transport.abort()
            is_known = self._connection.principal is not None
            reason = (
                "idle for too long, or too slow to take its answer"
                if is_known
                else "too slow to authenticate"
            )
        except OSError as error:
            _log.debug("%s: %s: disconnected: %s", self._context.listener.name, self._host, error)
        finally:
            await self._disconnect()
        self._report_end(reason)

    def _report_end(self, reason: str | None) -> None:
        refused, name = self._connection.failed_login, self._context.listener.name
        if isinstance(refused, LoginRefused):
            self._context.metrics.count_failed_login(name)
            reason = f"login refused: {refused.reason}"
        elif refused is not None:
            self._context.metrics.count_unfinished_login(name)
            reason = f"the client must log in again: {refused}"
        elif self._connection.is_amid_login or (
            reason is not None and self._connection.principal is None
        ):
            self._context.metrics.count_unfinished_login(name)
            reason = reason or "it disconnected before its login was complete"
        if reason is not None and not self._is_leaving:
            self._context.refusals.note(name, self._host, reason)

    async def _serve_requests(self) -> None:
        while not (self._connection.is_over or self._is_leaving):
            async with asyncio.timeout_at(self._deadline()):
                data = await self._reader.read(CHUNK)
            if not data:
                return
            steps = self._connection.receive(data)
            while (answer := await self._next_answer(steps)) is not None:
                await self._send(answer)
                self._is_answering = False
                if self._is_leaving:
                    return

    async def _next_answer(self, steps: Iterator[bytes | QueuedRequest]) -> bytes | None:
        """The next bytes to send, or None. A method of its own, so that the request is freed before
        a slow client receives the bytes."""
        step = await self._on_loop(next, steps, None)
        self._is_answering = step is not None
        return await self._answer(step) if isinstance(step, QueuedRequest) else step

    def _deadline(self) -> float:
        idle_until = asyncio.get_running_loop().time() + self._context.idle_s
        if self._connection.principal is not None:
            return idle_until
        return min(self._login_deadline, idle_until)

    async def _send(self, data: bytes) -> None:
        """Send an answer. A pause before the answer to a refused login slows down guessing."""
        if self._connection.failed_login is not None:
            await asyncio.sleep(self._context.failed_login_delay_s)
        async with asyncio.timeout_at(self._deadline()):
            for at in range(0, len(data), _PIECE):
                await self._on_loop(self._writer.write, data[at : at + _PIECE])
                await self._writer.drain()

    async def _disconnect(self) -> None:
        """Close when the client has received all bytes, or after ``_LAST_ANSWER_S``. asyncio alone
        would wait forever."""
        try:
            await self._context.budget.turn(self._owner)
        finally:
            self._writer.close()
        try:
            async with asyncio.timeout(_LAST_ANSWER_S):
                await self._writer.wait_closed()
        except OSError:
            self._writer.transport.abort()

    async def _answer(self, queued: QueuedRequest) -> bytes:
        api, payload = self._context.apis[queued.head.api_key], queued.payload
        request = UnreadRequest(queued.head, payload, api.most_elements)
        incoming = IncomingRequest(
            request,
            payload,
            RequestContext(queued.principal, self._host, self._context.listener.name, api.name),
            self._context.listener,
            is_encrypted=self._context.tls is not None,
        )
        handle = partial(answer, api, self._services, incoming)
        finish = partial(self._finished, api, incoming)
        if api.most_bytes_on_loop is None:
            if len(payload) > MOST_BYTES_ON_LOOP:
                await self._on_thread(request.read)
            answered = await self._on_loop(handle)
        elif len(payload) > api.most_bytes_on_loop:
            answered = await self._on_thread(handle)
        else:
            answered = await self._on_loop(handle)
            if not isinstance(answered, (Future, DeferredResponse)):
                return await self._on_loop(finish, answered)
        await _wait_for(answered)
        return await self._on_thread(finish, answered)

    def _finished(self, api: HandledApi, incoming: IncomingRequest, answered: Answer) -> bytes:
        """The response as bytes, empty if the client expects none. ``answered`` must be done."""
        if isinstance(answered, (Future, DeferredResponse)):
            answered = answered.result()
        self._context.metrics.count_answer(api.name, answered)
        if api.is_silent is not None and api.is_silent(incoming):
            _refuse_error(incoming, answered)
            return b""
        if isinstance(answered, EncodedResponse):
            answered = answered.payload
        if not isinstance(answered, bytes):
            answered = write_response(answered, incoming.request.head.correlation_id)
        return framed(answered)

    async def _on_thread(self, work: Callable[..., R], *arguments: Any) -> R:
        return await self._context.turns.run(self._owner, work, *arguments)

    async def _on_loop(self, work: Callable[..., R], *arguments: Any) -> R:
        return await self._context.budget.run(self._owner, work, *arguments)

    @property
    def _owner(self) -> tuple[KafkaPrincipal | None, str]:
        return self._connection.principal, self._host


def _refuse_error(incoming: IncomingRequest, answered: Answer) -> None:
    """Raise ``InvalidRequest`` if the answer has an error. A client that expects no response
    notices an error only when its connection closes."""
    head = incoming.request.head
    if isinstance(answered, bytes):
        answered = read_response(answered, response_type(head.api_key, head.version))
    outcome = outcome_of(answered)
    if outcome != NO_ERROR:
        name = incoming.context.request_name
        raise InvalidRequest(f"its {name} request, which expects no response, failed: {outcome}")


async def _wait_for(answered: Answer) -> None:
    """Wait until a future is done.

    ``asyncio.wrap_future`` would leave a reference cycle of the request and its answer. After
    ``gc.freeze``, a cycle is never freed.
    """
    waited = answered.future if isinstance(answered, DeferredResponse) else answered
    if isinstance(waited, Future):
        is_done = asyncio.Event()
        waited.add_done_callback(partial(_wake, asyncio.get_running_loop(), is_done))
        try:
            await is_done.wait()
        except asyncio.CancelledError:
            waited.cancel()
            raise


def _wake(loop: asyncio.AbstractEventLoop, is_done: asyncio.Event, _: Future[Any]) -> None:
    with suppress(RuntimeError):  # the loop is closed, so nobody waits
        loop.call_soon_threadsafe(is_done.set)


def _certificate_principal(
    context: ListenerContext, writer: asyncio.StreamWriter | Encrypted
) -> KafkaPrincipal:
    """The principal of the client's certificate; ANONYMOUS without a certificate."""
    tls: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    if certificate is None:
        return ANONYMOUS
    principal = principal_of(certificate, context.mapping_rules)
    if principal is None:
        raise InvalidRequest(
            "no rule of ssl.principal.mapping.rules matches its certificate's name"
        )
    return principal
