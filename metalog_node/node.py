"""A node: creates its log, authorizer and listeners, opens them in order, and closes them.

The replica claims and replays the log outside the event loop. A listener opens when its future from
the authorizer is done (KIP-801). This module must not know what a request is.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from authorizer.config import from_properties
from authorizer.engine.index import AclIndex
from authorizer.interface import Authorizer
from authorizer.loading import load_authorizer
from authorizer.standard import StandardAuthorizer
from metalog.config.plugins import class_named, instance_of
from metalog.controller.scram_password import ScramPasswordPolicy
from metalog.controller.scram_password_config import POLICY_CLASS, ScramPasswordConfig
from metalog.errors import ConfigException, InvalidRequest
from metalog.hosts.host_port import Address
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.log.quorum.observer import QuorumLog
from metalog.ports import Publisher
from metalog.replica.replica import Replica
from metalog.wire.client.security import ClientSettings, client_settings
from metalog_node.apis import apis_of
from metalog_node.auth.authentication import Logins
from metalog_node.config.dev_config import is_formatted
from metalog_node.config.listeners import ANY_ADDRESS, Listener
from metalog_node.config.node_config import NodeConfig
from metalog_node.forward import Forwarder
from metalog_node.handlers.request import HandledApi, PasswordSetting, Services
from metalog_node.net.client import ListenerContext
from metalog_node.net.connection_quotas import quotas_for
from metalog_node.net.loop_budget import LoopBudget, RequestTurns
from metalog_node.net.refusal_log import RefusalLog
from metalog_node.net.server import OpenListener
from metalog_node.net.tls import ServerTls
from metalog_node.ops.http_endpoint import HttpEndpoint
from metalog_node.ops.metrics import CountedAuthorizer, Metrics
from metalog_node.ops.node_state import NodeState
from metalog_node.ops.timed_files import TimedFiles
from metalog_node.publish.fetch_purgatory import FetchPurgatory
from metalog_node.publish.listing_cache import Listings
from metalog_node.publish.publishers import CredentialsPublisher, GcFreezer
from metalog_node.publish.served_log import ServedLog
from snapshot.upkeep import Upkeep

if TYPE_CHECKING:
    from metalog_node.topic_node import TopicNode

_log = logging.getLogger(__name__)

_SECRET_BYTES: Final = 32
_SALTING_THREADS: Final = 2
_ANSWERING_THREADS: Final = 2
"""How many long requests are handled at the same time."""
_PATIENCE_S: Final = 1.0
"""How long early-start listeners wait for the claim of the log, in seconds."""


class Node:
    """``async with Node(config) as node:`` runs a node until the block ends.

    When the block starts, the early-start listeners are open, but the log is perhaps not claimed.
    ``await node.ready()`` returns when all listeners are open.

    - ``on_open`` gets each opened listener and its address.
    - ``apis``: the APIs of the program around the node, by API key.
    - ``lost_lines`` returns the number of lost lines, by log (the node's or the audit log).
    """

    def __init__(
        self,
        config: NodeConfig,
        *,
        on_open: Callable[[Listener, Address], None] = lambda listener, address: None,
        apis: Mapping[int, HandledApi] | None = None,
        lost_lines: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._config = config
        self._apis = apis
        self._on_open = on_open
        self._open: dict[str, OpenListener] = {}
        self._quotas = quotas_for(
            config.max_connections, config.max_connections_per_ip, config.max_connections_of
        )
        self._refusals = RefusalLog()
        self._starting: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        secure = {listener.name for listener in config.listeners if listener.is_secure}
        self.authorizer: Authorizer | None = load_authorizer(config.properties, secure)
        if self.authorizer is None:
            _log.warning("there is no authorizer.class.name: everybody may do everything")
        self.metrics = Metrics(lambda: self._state.condition())
        self._http_endpoint: HttpEndpoint | None = None
        self.watch_address: Address | None = None
        """The address of metrics and probes, or None."""
        self._credentials = CredentialsPublisher(os.urandom(_SECRET_BYTES))
        self._listings = Listings()
        self._threads = ThreadPoolExecutor(_ANSWERING_THREADS, thread_name_prefix="metalog-answer")
        self._turns = RequestTurns(self._threads)
        self._budget = LoopBudget()
        self._passwords = PasswordSetting(
            config.scram_passwords,
            _policy(config.scram_passwords),
            ThreadPoolExecutor(_SALTING_THREADS, thread_name_prefix="metalog-salt"),
        )
        self._tls = {name: ServerTls(name, files) for name, files in config.tls.items()}
        self.addresses: dict[str, Address] = dict(config.advertised)
        """Each listener's address for clients, by name."""
        self._cluster_id = ""
        self._log: QuorumLog | None = None
        authorizer_config, _ = from_properties(config.properties)
        self._kafka = (
            None
            if authorizer_config.kafka_version is None
            else authorizer_config.kafka_version.value
        )
        self._topic = _topic_node(config, self._kafka)
        self._purgatory: FetchPurgatory | None = None
        self.replica = self._replica()
        self._state = NodeState(
            self.replica,
            self.authorizer,
            config.listeners,
            self._open,
            deny_after_ms=authorizer_config.stale_deny_after_ms,
            lost_lines=lost_lines,
        )
        self._forwarder = self._forwarder_to_controllers()

    async def __aenter__(self) -> Self:
        self._starting = asyncio.create_task(asyncio.to_thread(self.replica.start))
        try:
            await asyncio.wait({self._starting}, timeout=_PATIENCE_S)
            if self._starting.done():
                self._starting.result()
            await self._begin()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def ready(self) -> None:
        """Return when all listeners are open; raise if a listener cannot be opened."""
        if self._opening is not None:
            await asyncio.shield(self._opening)

    async def until(self, stopping: asyncio.Event) -> None:
        """Return when ``stopping`` is set; raise if a listener cannot be opened."""
        waiting = asyncio.create_task(stopping.wait())
        opening = asyncio.create_task(self.ready())
        try:
            await asyncio.wait({waiting, opening}, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()
            await waiting
        finally:
            waiting.cancel()
            opening.cancel()

    def reload_certificates(self) -> None:
        """Load the certificates again, for new connections. A listener with an invalid file keeps
        its old certificates, and so do the connections to controllers."""
        for name, tls in self._tls.items():
            try:
                tls.reload()
            except ConfigException as error:
                _log.error("the old certificates stay in use: %s", error)
            else:
                _log.info("listener %s has reloaded its certificates", name)
        if self._forwarder is None:
            return
        try:
            settings = self._client_settings()
        except InvalidRequest as error:
            _log.error("the old certificates stay in use: connections to controllers: %s", error)
            return
        self._forwarder.settings = settings
        if self._log is not None:
            self._log.use(settings)

    async def close(self) -> None:
        """Accept no more requests, finish the requests under way, and close the log."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        closing = [asyncio.create_task(opened.close()) for opened in self._open.values()]
        if self._purgatory is not None:
            await asyncio.to_thread(self._purgatory.close)
        await asyncio.gather(*closing)
        self._refusals.end_period()
        await asyncio.to_thread(self._passwords.threads.shutdown)
        await asyncio.to_thread(self._listings.close)
        await asyncio.to_thread(self._threads.shutdown)
        if self._forwarder is not None:
            await asyncio.to_thread(self._forwarder.close)
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        await asyncio.to_thread(self.replica.close)
        if self._topic is not None:
            await asyncio.to_thread(self._topic.close)
        if self.authorizer is not None:
            self.authorizer.close()
        if self._http_endpoint is not None:
            await self._http_endpoint.close()
        await self._state.heartbeat.stop()

    def _publishers(self) -> list[Publisher]:
        """The publishers, in order.

        Credentials come before the authorizer, because clients log in as soon as the authorizer is
        loaded. Listings come after the authorizer, because they show its ACLs.
        """
        kept: list[Publisher] = [self._credentials]
        if isinstance(self.authorizer, Publisher):
            kept.append(self.authorizer)
        return [*kept, self._listings, GcFreezer()]

    def _replica(self) -> Replica:
        config = self._config
        if self._topic is not None and "controller" in config.roles:
            return self._topic.candidate(self._publishers(), config.listeners, config.advertised)
        if self._topic is not None:
            return self._topic.follower(self._publishers())
        if "controller" in config.roles:
            return self._controller()
        bootstrap = ",".join(map(str, config.bootstrap_servers))
        self._log = QuorumLog(bootstrap, self._client_settings(), identifies=True)
        return Replica(self._log, self._publishers(), kafka=self._kafka)

    def _controller(self) -> Replica:
        config = self._config
        if config.metadata_dir is None:
            raise ConfigException("metadata.log.dir: is missing; name the folder of the log")
        if not is_formatted(config.metadata_dir):
            raise ConfigException(
                f"metadata.log.dir: {config.metadata_dir} is not formatted; "
                f"type metalog format {config.metadata_dir} --node-id {config.node_id}"
            )
        log_settings = config.log
        log = WritableDirectoryLog(
            config.metadata_dir,
            voters={config.node_id},
            limits=log_settings.segment_limits,
            files=TimedFiles(self.metrics.observe_sync),
        )
        meta = log.folder.meta_properties
        if meta is None or meta.cluster_id is None:
            raise ConfigException(
                f"metadata.log.dir: meta.properties in {config.metadata_dir} has no cluster.id"
            )
        if meta.node_id != config.node_id:
            raise ConfigException(
                f"node.id: {config.node_id} is configured, but {config.metadata_dir} is formatted "
                f"for node {meta.node_id}"
            )
        self._cluster_id = meta.cluster_id
        self._purgatory = FetchPurgatory(ServedLog(log))
        publishers = [*self._publishers(), Upkeep(log, log_settings), self._purgatory]
        idle_s = log_settings.idle_interval_ms / 1000 or None
        return Replica(log, publishers, idle_s=idle_s, is_patient=True, kafka=self._kafka)

    def _forwarder_to_controllers(self) -> Forwarder | None:
        """None if this node is a controller whose log is a folder."""
        if self._topic is not None:
            return Forwarder(self._topic.active.addresses, self._client_settings())
        if self._log is not None:
            known = self._config.bootstrap_servers
            return Forwarder(lambda: known, self._client_settings(), self._log.check_cluster)
        return None

    def _client_settings(self) -> ClientSettings:
        return client_settings(self._config.controller_client)

    async def _begin(self) -> None:
        if self._config.metrics is not None:
            self._state.heartbeat.start()
            self._http_endpoint = HttpEndpoint(self._state.pages(self.metrics))
            self.watch_address = await self._http_endpoint.open(self._config.metrics)
            _log.info("metrics and probes are on http://%s", self.watch_address)
        listeners = self._config.listeners
        names = {listener.name: str(self.addresses[listener.name]) for listener in listeners}
        if self.authorizer is None:
            futures: dict[str, Future[None]] = dict.fromkeys(names, self.replica.loaded)
        else:
            futures = self.authorizer.start(names)
        at_once = set(names) if self.replica.loaded.done() else self._config.early_start
        early = [each for each in listeners if futures[each.name].done() and each.name in at_once]
        for listener in early:
            futures[listener.name].result()
            await self._open_listener(listener)
        later = [listener for listener in listeners if listener not in early]
        if later:
            closed = ", ".join(listener.name for listener in later)
            _log.info("listeners that stay closed until the log is loaded: %s", closed)
        self._opening = asyncio.create_task(self._open_when_loaded(later, futures))

    async def _open_when_loaded(
        self, listeners: list[Listener], futures: dict[str, Future[None]]
    ) -> None:
        if self._starting is not None:
            await asyncio.shield(self._starting)
        for listener in listeners:
            await asyncio.wrap_future(futures[listener.name])
            await asyncio.wrap_future(self.replica.loaded)  # listings come after the authorizer
            await self._open_listener(listener)

    async def _open_listener(self, listener: Listener) -> None:
        config = self._config
        logins = None
        if listener.protocol.has_login:
            keys = config.sasl[listener.name]
            logins = Logins(
                keys.mechanisms, self._credentials, keys.passwords, os.urandom, keys.sessions_ms
            )
        context = ListenerContext(
            listener=listener,
            apis=apis_of(
                is_for_controllers=listener.is_for_controllers,
                forwards=self._forwarder is not None,
                has_quorum=self._topic is None,
                added=self._apis,
            ),
            logins=logins,
            tls=self._tls.get(listener.name),
            mapping_rules=config.mapping_rules[listener.name],
            most_bytes=config.request_max_bytes,
            idle_s=config.idle_s,
            failed_login_delay_s=config.failed_login_delay_s,
            metrics=self.metrics,
            quotas=self._quotas,
            refusals=self._refusals,
            turns=self._turns,
            budget=self._budget,
        )
        host, port = self.addresses[listener.name]
        if host in ANY_ADDRESS:
            host = await asyncio.to_thread(socket.getfqdn)
        opened = OpenListener(context, self._services())
        bound = await opened.open()
        self._open[listener.name] = opened
        self.addresses[listener.name] = Address(host, port or bound.port)
        _log.info("listener %s is open on %s", listener.name, bound)
        self._on_open(listener, bound)

    def _services(self) -> Services:
        config = self._config
        return Services(
            config.node_id,
            self._known_cluster_id,
            config.roles,
            self.replica,
            None if self.authorizer is None else CountedAuthorizer(self.authorizer, self.metrics),
            config.listeners,
            self.addresses,
            self._passwords,
            self._forwarder,
            self._purgatory,
            self._listings,
            self._acl_index if isinstance(self.authorizer, StandardAuthorizer) else None,
            self._kafka,
        )

    def _acl_index(self) -> AclIndex:
        assert isinstance(self.authorizer, StandardAuthorizer)
        return self.authorizer.index

    def _known_cluster_id(self) -> str:
        if self._topic is not None:
            return self._topic.cluster_id
        learned = None if self._log is None else self._log.known_cluster_id
        return learned or self._cluster_id


def _topic_node(config: NodeConfig, kafka: str | None) -> TopicNode | None:
    """Imports Kafka's client only if the log is a topic."""
    if config.topic is None:
        return None
    from metalog_node.topic_node import TopicNode

    return TopicNode(config.topic, config.node_id, config.controller_listener, kafka)


def _policy(config: ScramPasswordConfig) -> ScramPasswordPolicy | None:
    if config.policy_class is None:
        return None
    policy_class = class_named(config.policy_class, POLICY_CLASS)
    policy: ScramPasswordPolicy = instance_of(policy_class, POLICY_CLASS, ("accept", "describe"))
    return policy
