"""``cluster://HOST:PORT``: reads and writes a cluster's ACLs and SCRAM users by the Admin API.

The addresses are those of brokers or of controllers. An ACL with a code of a newer Kafka cannot be
read. This module must not know plans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from metalog.acl import (
    ANY_ACL,
    AccessControlEntryFilter,
    Acl,
    AclFilter,
    Operation,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.controller.acl_hosts import AclVersions, versions_of_cluster
from metalog.disk.files import Files
from metalog.errors import CorruptLog, ErrorCode, InvalidRequest, InvalidSource
from metalog.hosts.host_port import Address, parse_addresses
from metalog.image.state.features import METADATA_VERSION
from metalog.loader import LoadDoubt
from metalog.scram import ScramCredential, ScramMechanism
from metalog.wire.acls import DescribedAcls
from metalog.wire.client.cluster_client import ClusterClient, ListedTopic
from metalog.wire.client.security import ClientSettings
from metalog.wire.outcome import ApiOutcome, first_failure
from metalog.wire.scram_users import NewCredential
from metalog_sources.formats.document import AclEntry, Document, ScramUser
from metalog_sources.live.client_file import wire_settings
from metalog_sources.store import StoreState
from metalog_sources.targets.answers import PartlyDone, PasswordOffer

if TYPE_CHECKING:
    from metalog.wire.client.passwords import PasswordClient

SCHEME: Final = "cluster://"
_REQUEST_TIMEOUT_S: Final = 30.0
"""The default of Kafka's clients."""
_USER_TYPE: Final = "User:"
_LIST: Final = "list ACLs"
_LIST_USERS: Final = "list SCRAM users"
_LIST_ALL: Final = "list ACLs and SCRAM users"
_KIP_373_VERSION: Final = 3
"""The first version of CreateAcls with ACLs on the resource type USER."""
_KAFKA_4_1: Final = 26
"""The first metadata.version of the release with TWO_PHASE_COMMIT (KIP-939)."""
_UNCERTAIN: Final = frozenset((-1, 7, 13))
"""UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, NETWORK_EXCEPTION: perhaps the change was made."""

Answer = TypeVar("Answer")


class ClusterStore:
    """Connects at the first request."""

    def __init__(self, url: str, nodes: Sequence[Address], settings: ClientSettings) -> None:
        self.url = url
        self.caller = settings.security.user
        credentials = settings.security.credentials
        self.caller_mechanism = None if credentials is None else credentials.mechanism
        self._nodes = tuple(nodes)
        self._settings = settings
        self._client = ClusterClient(nodes, settings)

    @classmethod
    def opened(cls, url: str, command_config: Path | None, files: Files) -> ClusterStore:
        settings = wire_settings(command_config, files, request_timeout_s=_REQUEST_TIMEOUT_S)
        try:
            nodes = parse_addresses(url.removeprefix(SCHEME))
        except InvalidRequest as error:
            raise InvalidSource(f"{url}: {error}; give {SCHEME}HOST:PORT[,HOST:PORT]") from None
        return cls(url, nodes, settings)

    @property
    def is_at_controllers(self) -> bool:
        """Whether controllers answer instead of brokers; False before the first answer."""
        return self._client.is_at_controllers

    def state(self) -> StoreState:
        """All ACLs and SCRAM users; a cluster never returns a user's salt and keys."""
        described = self._described(ANY_ACL, _LIST_ALL)
        return self._state(described.acls, self._users(None), self._unread(described.unread))

    def state_about(
        self, patterns: Sequence[ResourcePatternFilter], principals: Sequence[str] = ()
    ) -> StoreState:
        acls: dict[Acl, None] = {}
        unread: dict[str, int] = {}
        for pattern in patterns:
            described = self._described(AclFilter(pattern))
            acls.update(dict.fromkeys(described.acls))
            unread.update(described.unread)
        for principal in principals:
            others = self._described(AclFilter(entry=AccessControlEntryFilter(principal))).acls
            acls.update(
                (acl, None)
                for acl in others
                if not any(pattern.matches(acl) for pattern in patterns)
            )
        users = [name.removeprefix(_USER_TYPE) for name in principals if _is_user(name)]
        return self._state(acls, self._users(users) if users else ((), ()), self._unread(unread))

    def why_not(self, acl: Acl) -> str | None:
        """Why the cluster is too old for ``acl`` (KIP-373, KIP-939), or None."""
        what = "create ACLs"
        if acl.resource_type is ResourceType.USER:
            version = self._call(what, self._client.create_acls_version)
            if version < _KIP_373_VERSION:
                return f"{self.url} is older than Kafka 3.3, which brought ACLs on users"
        if acl.operation is Operation.TWO_PHASE_COMMIT:
            level = self._call(what, lambda: self._client.supported_level(METADATA_VERSION))
            if level < _KAFKA_4_1:
                return f"{self.url} is older than Kafka 4.1, which brought TWO_PHASE_COMMIT"
        return None

    def acl_versions(self) -> AclVersions:
        """The Kafka version of the node that answers, and the cluster's metadata.version."""
        return self._call(
            "find out its Kafka version",
            lambda: versions_of_cluster(
                self._client.supported_level(METADATA_VERSION),
                self._client.finalized_level(METADATA_VERSION),
            ),
        )

    def create(self, acls: Sequence[Acl]) -> None:
        """Create ``acls`` in one request; ``PartlyDone`` if an ACL was not created."""
        what = "create ACLs"
        self._check(what, acls, self._call(what, lambda: self._client.create_acls(acls)))

    def delete(self, acls: Sequence[Acl]) -> None:
        """Delete exactly ``acls`` in one request; missing ACLs are not an error."""
        what = "delete ACLs"
        self._check(what, acls, self._call(what, lambda: self._client.delete_acls(acls)))

    def scram_users(self) -> Mapping[str, Mapping[ScramMechanism, int]]:
        """The iterations of each credential. ``InvalidSource`` if the cluster says that the caller
        may not change SCRAM users."""
        what = "change SCRAM users"
        allowed = self._call(what, self._client.authorized_operations)
        if allowed is not None and Operation.ALTER not in allowed:
            raise InvalidSource(f"{self.url}: cannot {what}: {self._may_not(Operation.ALTER)}")
        described = self._call(_LIST_USERS, self._client.describe_users)
        self._refuse(_LIST_USERS, described.outcome, Operation.DESCRIBE)
        return described.users

    def set_password(
        self, user: str, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> None:
        """Send the salted password (KIP-554), not the password."""
        wanted = NewCredential(user, mechanism, password, salt, iterations)
        self._alter_user(f"set the password of {user}", lambda: self._client.set_credential(wanted))

    def delete_credential(self, user: str, mechanism: ScramMechanism) -> None:
        self._alter_user(
            f"delete the {mechanism.mechanism_name} credential of {user}",
            lambda: self._client.delete_credential(user, mechanism),
        )

    def topics(self) -> list[ListedTopic]:
        return self._call("list topics", self._client.topics)

    def password_offer(self) -> PasswordOffer:
        """Whether the node supports KIP-506's request, and is reached over TLS."""
        try:
            with self._passwords() as client:
                if not client.is_supported():
                    return PasswordOffer.NONE
                return PasswordOffer.USABLE if client.is_encrypted else PasswordOffer.NOT_ENCRYPTED
        except InvalidRequest:
            return PasswordOffer.NONE

    def send_password(self, user: str, mechanism: ScramMechanism, password: str) -> None:
        """Send the password itself (KIP-506); the node salts the password.

        Errors do not name the cluster.
        """
        from metalog.wire.client.passwords import NewPassword, ScramEntity

        with self._passwords() as client:
            passwords = [NewPassword(ScramEntity(user, mechanism), password)]
            client.set_scram_password(passwords).all().result(self._settings.call_timeout_s)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._client.close()

    def _passwords(self) -> PasswordClient:
        from metalog.wire.client.passwords import PasswordClient

        return PasswordClient(self._nodes, self._settings)

    def _described(self, wanted: AclFilter, what: str = _LIST) -> DescribedAcls:
        described = self._call(what, lambda: self._client.describe_acls(wanted))
        self._refuse(_LIST, described.outcome, Operation.DESCRIBE)
        return described

    def _users(
        self, named: Sequence[str] | None
    ) -> tuple[tuple[ScramUser, ...], tuple[LoadDoubt, ...]]:
        try:
            described = self._call(_LIST_USERS, lambda: self._client.describe_users(named))
            self._refuse(_LIST_USERS, described.outcome, Operation.DESCRIBE)
        except InvalidSource as error:
            return (), (LoadDoubt(1, CorruptLog(str(error))),)
        users = (
            ScramUser(user, mechanism, ScramCredential(b"", b"", b"", iterations))
            for user, credentials in sorted(described.users.items())
            for mechanism, iterations in credentials.items()
        )
        return tuple(users), ()

    def _state(
        self,
        acls: Sequence[Acl] | Mapping[Acl, None],
        users: tuple[tuple[ScramUser, ...], tuple[LoadDoubt, ...]],
        unread: tuple[LoadDoubt, ...],
    ) -> StoreState:
        listed, unread_users = users
        notes = tuple(f"{self.url}: {note}" for note in self._settings.notes)
        return StoreState(
            Document(tuple(map(AclEntry, acls)), users=listed), notes, unread, unread_users
        )

    def _unread(self, unread: Mapping[str, int]) -> tuple[LoadDoubt, ...]:
        return tuple(
            LoadDoubt(
                number, CorruptLog(f"an ACL cannot be read: {code} is unknown", file=self.url)
            )
            for code, number in unread.items()
        )

    def _check(self, what: str, acls: Sequence[Acl], outcomes: Sequence[ApiOutcome]) -> None:
        failed = first_failure(outcomes)
        if not failed.is_failure:
            return
        done = sum(not outcome.is_failure for outcome in outcomes)
        acl = acls[outcomes.index(failed)]
        about = "" if done == 0 else f" ({acl.principal} on {acl.resource_name})"
        message = f"{self.url}: cannot {what}: {self._why(failed, Operation.ALTER)}{about}"
        raise PartlyDone(message, done, is_exact=not any(o.code in _UNCERTAIN for o in outcomes))

    def _alter_user(self, what: str, change: Callable[[], Sequence[ApiOutcome]]) -> None:
        self._refuse(what, first_failure(self._call(what, change)), Operation.ALTER)

    def _refuse(self, what: str, outcome: ApiOutcome, needed: Operation) -> None:
        if outcome.is_failure:
            raise InvalidSource(f"{self.url}: cannot {what}: {self._why(outcome, needed)}")

    def _why(self, outcome: ApiOutcome, needed: Operation) -> str:
        if outcome.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return self._may_not(needed)
        if outcome.code == ErrorCode.SECURITY_DISABLED:
            return f"{outcome}; without an authorizer everybody may do everything there"
        return str(outcome)

    def _may_not(self, needed: Operation) -> str:
        return f"{self.caller or 'this client'} may not {needed.name} Cluster"

    def _call(self, what: str, call: Callable[[], Answer]) -> Answer:
        try:
            return call()
        except InvalidRequest as error:
            raise InvalidSource(f"{self.url}: cannot {what}: {error}") from None


def _is_user(principal: str) -> bool:
    return principal.startswith(_USER_TYPE) and principal != _USER_TYPE
