"""A stopped node's folder as a target, which writes the log as the node's controller would.

The node must be the log's only voter, which is checked before the first write. This module must not
know plans.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from metalog.acl import Acl
from metalog.controller.acl_hosts import AclVersions, versions_of_log
from metalog.controller.migration import Migration, migrate
from metalog.controller.result import ControllerResult
from metalog.controller.scram import AlterScramRequest, ScramDeletion, salted_upsertion
from metalog.errors import InvalidRequest, InvalidTarget, LogFenced
from metalog.image.metadata import MetadataImage
from metalog.image.selection import AUTHORIZATION
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder_writer.ownership import check_ownership
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.replica.replica import Replica
from metalog.scram import ScramMechanism
from metalog_sources.formats.document import ScramUser
from metalog_sources.replay import Replayed, replay_source
from metalog_sources.source import Source
from metalog_sources.store import StoreState, document_of
from metalog_sources.targets.plan import ChangeKind, PlanStep

_NAME: Final = "metalog apply"


class FolderTarget:
    """Claims the log at the first change; ``close`` releases the log."""

    caller: str | None = None

    def __init__(self, source: Source, log: DirectoryLog) -> None:
        check_ownership(log, None)
        self._source = source
        self._path = log.path
        self._replica: Replica | None = None

    def state(self) -> StoreState:
        """``CorruptLog`` if the log is damaged."""
        replayed = self._replayed()
        return StoreState(document_of(replayed.image), replayed.problems)

    def why_not(self, acl: Acl) -> str | None:
        return None

    def acl_versions(self) -> AclVersions:
        """The Kafka version is assumed from the log's metadata.version."""
        return versions_of_log(self._replayed().image.features)

    def change(
        self,
        steps: Sequence[PlanStep],
        users: Sequence[ScramUser],
        before: Collection[Acl] | None = None,
    ) -> None:
        whole = Migration(
            [step.acl for step in steps if step.change is ChangeKind.ADD],
            [step.acl for step in steps if step.change is ChangeKind.REMOVE],
            users,
        )

        def change(image: MetadataImage) -> ControllerResult[None]:
            if before is not None and {*image.acls.by_id.values()} != {*before}:
                raise InvalidRequest(
                    "another program has changed the ACLs meanwhile; run the command again"
                )
            return migrate(image, whole, os.urandom)

        replica = self._opened()
        try:
            replica.submit_transaction(_NAME, change).result()
        except LogFenced as error:
            raise InvalidTarget(
                f"{error}; all changes or none were made; run the command again"
            ) from None
        except InvalidRequest as error:
            raise InvalidTarget(f"{self._path}: nothing was written: {error}") from None

    def scram_users(self) -> Mapping[str, Mapping[ScramMechanism, int]]:
        users: dict[str, dict[ScramMechanism, int]] = {}
        for mechanism, credentials in self._replayed().image.scram.mechanisms.items():
            for user, credential in credentials.items():
                users.setdefault(user, {})[mechanism] = credential.iterations
        return users

    def set_password(
        self, user: str, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> None:
        upsertion = salted_upsertion(user, mechanism, password, salt, iterations)
        self._alter(AlterScramRequest(upsertions=[upsertion]))

    def delete_credential(self, user: str, mechanism: ScramMechanism) -> None:
        self._alter(AlterScramRequest(deletions=[ScramDeletion(user, mechanism)]))

    def _alter(self, request: AlterScramRequest) -> None:
        for error in self._opened().alter_scram(request).result().values():
            if error:
                raise InvalidTarget(f"{self._path}: {error.code.name}: {error.message}")

    def _replayed(self) -> Replayed:
        return replay_source(self._source, selection=AUTHORIZATION)

    def close(self) -> None:
        replica, self._replica = self._replica, None
        if replica is not None:
            replica.close()

    def _opened(self) -> Replica:
        if self._replica is None:
            replica = Replica(WritableDirectoryLog(self._path))
            replica.start()
            self._replica = replica
        return self._replica
