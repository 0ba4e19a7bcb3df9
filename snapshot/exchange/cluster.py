"""``cluster://HOST:PORT``: any Kafka cluster through its Admin API, to read and to write.

By confluent-kafka, which knows neither ACLs on USER and DELEGATION_TOKEN resources nor the
operations for them, nor TWO_PHASE_COMMIT: such an ACL is refused by name, and where the
cluster has some, their number is said. This module must not know what is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import confluent_kafka.admin
from confluent_kafka import KafkaException

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.client_settings import user_of
from metalog.errors import InvalidRequest, InvalidSource
from metalog.files import Files
from metalog.kafka_client import Troubles, said
from metalog.scram import ScramCredential, ScramMechanism
from snapshot.exchange.client_file import client_settings
from snapshot.exchange.credentials import PasswordOffer
from snapshot.exchange.formats.document import Document, Entry, ScramUser
from snapshot.exchange.store import State

if TYPE_CHECKING:
    from metalog.wire.passwords import PasswordClient

_api: Any = confluent_kafka.admin
"""Its own types say less than it takes: a filter's None, and a logger among the settings."""

SCHEME: Final = "cluster://"
_TIMEOUT_S: Final = 20.0
_LOOK_S: Final = 0.1
_LIBRARY: Final = "confluent-kafka"


class ClusterStore:
    """A connection is made when it is first needed; an error names the cluster."""

    def __init__(self, url: str, settings: dict[str, str], notes: Sequence[str]) -> None:
        self.url = url
        self.caller = user_of(settings)
        self._notes = tuple(notes)
        self._settings = settings
        self._client: Any = None
        self._troubles = Troubles()

    @classmethod
    def opened(cls, url: str, command_config: Path | None, files: Files) -> ClusterStore:
        servers = url.removeprefix(SCHEME)
        if not servers or "/" in servers:
            raise InvalidSource(f"{url}: give {SCHEME}HOST:PORT[,HOST:PORT]")
        settings, notes = client_settings(command_config, files)
        return cls(url, settings | {"bootstrap.servers": servers}, notes)

    def state(self) -> State:
        """All ACLs and the names of all SCRAM users; a cluster never tells credentials."""
        node = self._check_allowed("list ACLs", _api.AclOperation.DESCRIBE)
        every = _api.AclBindingFilter(
            _api.ResourceType.ANY,
            None,
            _api.ResourcePatternType.ANY,
            None,
            None,
            _api.AclOperation.ANY,
            _api.AclPermissionType.ANY,
        )
        found = self._call(
            "list ACLs", lambda admin: admin.describe_acls(every, request_timeout=_TIMEOUT_S)
        )
        bindings = self._result("list ACLs", found)
        acls = list(map(_acl_of, bindings))
        entries = tuple(Entry(acl) for acl in acls if acl is not None)
        problems = [f"{self.url}: {note}" for note in self._notes]
        if unknown := acls.count(None):
            problems.append(
                f"{self.url}: {unknown} ACLs were left out, which {_LIBRARY} cannot read "
                "(on users or delegation tokens, or for operations newer than it)"
            )
        if not acls and self._names_no_authorizer(node):
            problems.append(
                f"{self.url}: no ACLs, and its broker {node} names no authorizer.class.name: "
                "all may be allowed, whatever is said here"
            )
        users, problem = self._users()
        if problem is not None:
            problems.append(problem)
        return State(Document(entries, users=users), tuple(problems))

    def why_not(self, acl: Acl) -> str | None:
        """Why this library cannot say ``acl`` to a cluster, or None."""
        if acl.resource_type not in _KINDS:
            return (
                f"{_LIBRARY} knows no ACLs on {acl.resource_type.name}; use Kafka's own kafka-acls"
            )
        if acl.operation not in _OPERATIONS:
            return f"{_LIBRARY} does not know {acl.operation.name}; use Kafka's own kafka-acls"
        return None

    def create(self, acls: Sequence[Acl]) -> None:
        """All of ``acls``, in one request; ``InvalidRequest`` where one of them failed."""
        self._check_allowed("create ACLs", _api.AclOperation.ALTER)
        bindings = [_binding(_api.AclBinding, acl) for acl in acls]
        futures = self._call(
            "create ACLs", lambda admin: admin.create_acls(bindings, request_timeout=_TIMEOUT_S)
        )
        for future in futures.values():
            self._result("create ACLs", future)

    def delete(self, acls: Sequence[Acl]) -> None:
        """Exactly ``acls``, in one request; what is not there is not missed."""
        self._check_allowed("delete ACLs", _api.AclOperation.ALTER)
        filters = [_binding(_api.AclBindingFilter, acl) for acl in acls]
        futures = self._call(
            "delete ACLs", lambda admin: admin.delete_acls(filters, request_timeout=_TIMEOUT_S)
        )
        for future in futures.values():
            self._result("delete ACLs", future)

    def scram_users(self) -> Mapping[str, Mapping[ScramMechanism, int]]:
        """The iterations of each credential; refused to who may not change them."""
        self._check_allowed("change SCRAM users", _api.AclOperation.ALTER)
        return {
            user: {ScramMechanism(each.mechanism.value): each.iterations for each in infos}
            for user, infos in self._described_users()
        }

    def set_password(
        self, user: str, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> None:
        """What goes to the cluster is the password salted (KIP-554), not the password."""
        info = _api.ScramCredentialInfo(_api.ScramMechanism(mechanism.value), iterations)
        self._alter_user(
            _api.UserScramCredentialUpsertion(user, info, password.encode(), salt),
            f"set the password of {user}",
        )

    def takes_passwords(self) -> PasswordOffer:
        """Whether it is a node of ours (KIP-506), and reached over TLS."""
        try:
            with self._passwords() as client:
                if not client.is_spoken():
                    return PasswordOffer.NONE
                return PasswordOffer.TAKEN if client.is_encrypted else PasswordOffer.NOT_ENCRYPTED
        except InvalidRequest:
            return PasswordOffer.NONE

    def send_password(self, user: str, mechanism: ScramMechanism, password: str) -> None:
        """What goes to the node is the password: its policy judges it, and it salts it."""
        from metalog.wire.passwords import NewPassword, ScramEntity

        with self._passwords() as client:
            asked = [NewPassword(ScramEntity(user, mechanism), password)]
            client.set_scram_password(asked).all().result(_TIMEOUT_S)

    def _passwords(self) -> PasswordClient:
        from metalog.wire.hosts import parse_addresses
        from metalog.wire.passwords import PasswordClient
        from metalog.wire.security import translated_settings

        nodes = parse_addresses(self._settings["bootstrap.servers"])
        return PasswordClient(nodes, translated_settings(self._settings, self._notes))

    def delete_credential(self, user: str, mechanism: ScramMechanism) -> None:
        self._alter_user(
            _api.UserScramCredentialDeletion(user, _api.ScramMechanism(mechanism.value)),
            f"delete the {mechanism.mechanism_name} credential of {user}",
        )

    def _alter_user(self, alteration: Any, what: str) -> None:
        futures = self._call(
            what,
            lambda admin: admin.alter_user_scram_credentials(
                [alteration], request_timeout=_TIMEOUT_S
            ),
        )
        for future in futures.values():
            self._result(what, future)

    def close(self) -> None:
        """Nothing is held: the next call connects anew."""
        self._client = None

    def _check_allowed(self, what: str, needed: Any) -> str:
        """A broker's id. Asked first: refused, librdkafka 2.16 lists no ACLs at all as if there
        were none, and crashes on a list of SCRAM users."""
        described = self._call(
            what,
            lambda admin: admin.describe_cluster(
                include_authorized_operations=True, request_timeout=_TIMEOUT_S
            ),
        )
        cluster = self._result(what, described)
        if needed not in (cluster.authorized_operations or ()):
            whom = self.caller or "this client"
            raise InvalidSource(f"{self.url}: cannot {what}: {whom} may not {needed.name} Cluster")
        return str(cluster.nodes[0].id)

    def _names_no_authorizer(self, node: str) -> bool:
        """Without one Kafka refuses to list ACLs, of which librdkafka says nothing either."""
        what = "read a broker's settings"
        resource = _api.ConfigResource(_api.ConfigResource.Type.BROKER, node)
        try:
            futures = self._call(
                what,
                lambda admin: admin.describe_configs([resource], request_timeout=_TIMEOUT_S),
            )
            config = self._result(what, next(iter(futures.values())))
        except InvalidSource:
            return False
        entry = config.get("authorizer.class.name")
        return entry is not None and not entry.value

    def _users(self) -> tuple[tuple[ScramUser, ...], str | None]:
        """The SCRAM users, or why they could not be listed, which is no reason to stop."""
        try:
            described = self._described_users()
        except InvalidSource as error:
            return (), str(error)
        return tuple(_scram_users(described)), None

    def _described_users(self) -> list[tuple[str, Sequence[Any]]]:
        """Sorted; asked only after ``_check_allowed``."""
        future = self._call(
            "list SCRAM users",
            lambda admin: admin.describe_user_scram_credentials(request_timeout=_TIMEOUT_S),
        )
        described = self._result("list SCRAM users", future)
        return [(user, each.scram_credential_infos) for user, each in sorted(described.items())]

    def _call(self, what: str, call: Callable[[Any], Any]) -> Any:
        try:
            if self._client is None:
                troubles = Troubles()
                self._client = _api.AdminClient({**self._settings, **troubles.settings})
                troubles.client, self._troubles = self._client, troubles
            return call(self._client)
        except (KafkaException, ValueError, TypeError) as error:
            raise InvalidSource(f"{self.url}: cannot {what}: {said(error)}") from None

    def _result(self, what: str, future: Any) -> Any:
        """The library tries a login that was refused again until its time is up; we do not."""
        deadline = monotonic() + 2 * _TIMEOUT_S
        try:
            while True:
                try:
                    return future.result(timeout=_LOOK_S)
                except TimeoutError as error:
                    why = self._troubles.why(error)
                    if self._troubles.is_refused or monotonic() > deadline:
                        break
        except KafkaException as error:
            why = self._troubles.why(error)
        raise InvalidSource(f"{self.url}: cannot {what}: {why}")


_KINDS: Final = frozenset(
    (
        ResourceType.TOPIC,
        ResourceType.GROUP,
        ResourceType.CLUSTER,
        ResourceType.TRANSACTIONAL_ID,
    )
)
_OPERATIONS: Final = frozenset(
    Operation(each.value) for each in _api.AclOperation if each.value > Operation.ANY
)


def _binding(kind: Any, acl: Acl) -> Any:
    """Kafka's codes are confluent-kafka's too; its BROKER is Kafka's CLUSTER."""
    return kind(
        _api.ResourceType(acl.resource_type.value),
        acl.resource_name,
        _api.ResourcePatternType(acl.pattern_type.value),
        acl.principal,
        acl.host,
        _api.AclOperation(acl.operation.value),
        _api.AclPermissionType(acl.permission_type.value),
    )


def _acl_of(binding: Any) -> Acl | None:
    """None where a part of it is one that the library does not know."""
    codes = (
        binding.restype.value,
        binding.resource_pattern_type.value,
        binding.operation.value,
        binding.permission_type.value,
    )
    if 0 in codes:
        return None
    return Acl(
        ResourceType(codes[0]),
        binding.name,
        PatternType(codes[1]),
        binding.principal,
        binding.host,
        Operation(codes[2]),
        PermissionType(codes[3]),
    )


def _scram_users(described: Iterable[tuple[str, Sequence[Any]]]) -> Iterable[ScramUser]:
    for user, infos in described:
        for info in infos:
            mechanism = ScramMechanism(info.mechanism.value)
            yield ScramUser(user, mechanism, ScramCredential(b"", b"", b"", info.iterations))
