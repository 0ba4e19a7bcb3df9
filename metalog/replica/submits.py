"""The methods that change a log: ACLs, SCRAM users, and any other change.

This module must not know how a change is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TypeVar

from metalog.acl import Acl, AclFilter
from metalog.controller import acl as acl_control
from metalog.controller.acl_hosts import creator_for
from metalog.controller.result import ControllerResult
from metalog.controller.scram import AlterScramRequest, alter_credentials, salted_upsertion
from metalog.errors import ApiError
from metalog.futures import after
from metalog.ids import Entropy
from metalog.image.metadata import MetadataImage
from metalog.ports import AclCreateResult, AclDeleteResult
from metalog.replica.write_queue import Change, WriteQueue, each_of
from metalog.scram import MIN_ITERATIONS, SALT_BYTES, ScramMechanism

R = TypeVar("R")


class ChangeSubmitter:
    """The methods that change a log through its one writer; any thread may call them.

    Each returns at once. A future is done when its change is durable and published. A change that
    is refused has Kafka's error in the future's result. An exception of the future means that the
    log perhaps lacks it: ``NotController`` if the log cannot be written here, ``LogFenced``
    after a failed write.
    """

    def __init__(self, entropy: Entropy, kafka: str | None) -> None:
        self._entropy = entropy
        self._kafka = kafka

    @property
    def _writer(self) -> WriteQueue:
        raise NotImplementedError

    def submit(self, change: Change[R]) -> Future[R]:
        """Carry out ``change``; its records may share a batch with those of other queued changes.

        Args:
            change: a pure function of the image that returns records and a response
                (``metalog.controller``). It is called on the replica's thread, perhaps on the
                image after other changes of its group.

        Returns:
            A future of the response.

        Raises:
            NotController: the log cannot be written here.
        """
        return self._writer.submit(change)

    def submit_transaction(self, name: str, change: Change[R]) -> Future[R]:
        """Carry out ``change`` as one metadata transaction of up to 128 MiB.

        It takes effect as a whole or not at all. Other changes wait meanwhile. Below
        metadata.version 3.6-IV1, ``change`` must fit one batch.

        Args:
            name: the transaction's name in the log, for people who read it.
            change: as for ``submit``.

        Returns:
            A future of the response.

        Raises:
            NotController: the log cannot be written here.
        """
        return self._writer.submit(change, name)

    def create_acls(self, context: object, acls: Sequence[Acl]) -> list[Future[AclCreateResult]]:
        """Create ACLs, all of them as one request and in one batch.

        Args:
            context: the caller's context, which is ignored: ask the authorizer first.
            acls: the ACLs. One that exists already succeeds, and nothing is written.

        Returns:
            A future for each of ``acls``, in order; its result is true if the ACL was refused.

        Raises:
            NotController: the log cannot be written here.
        """
        return each_of(self.submit_creations(acls), len(acls))

    def delete_acls(
        self, context: object, filters: Sequence[AclFilter]
    ) -> list[Future[AclDeleteResult]]:
        """Delete the ACLs that the filters match, all of them as one request and in one batch.

        Args:
            context: the caller's context, which is ignored: ask the authorizer first.
            filters: which ACLs to delete.

        Returns:
            A future for each of ``filters``, in order, with the ACLs that it matched.

        Raises:
            NotController: the log cannot be written here.
        """
        return each_of(self.submit_deletions(filters), len(filters))

    def submit_creations(self, acls: Sequence[Acl]) -> Future[list[AclCreateResult]]:
        """As ``create_acls``, with one future for all outcomes.

        Args:
            acls: the ACLs.

        Returns:
            A future of one outcome for each of ``acls``, in order.
        """

        def change(image: MetadataImage) -> ControllerResult[list[ApiError]]:
            creator = creator_for(image.features, self._kafka)
            return acl_control.create_acls(image.acls, acls, self._entropy, creator)

        return self.submit(change)

    def submit_deletions(self, filters: Sequence[AclFilter]) -> Future[list[AclDeleteResult]]:
        """As ``delete_acls``, with one future for all outcomes.

        Args:
            filters: which ACLs to delete.

        Returns:
            A future of one outcome for each of ``filters``, in order.
        """
        return self.submit(lambda image: acl_control.delete_acls(image.acls, filters))

    def alter_scram(self, request: AlterScramRequest) -> Future[dict[str, ApiError]]:
        """Set and delete SCRAM credentials (KIP-554).

        Args:
            request: the credentials to set and to delete, as a client sends them.

        Returns:
            A future of one outcome for each user, by name.
        """
        return self.submit(lambda image: alter_credentials(image, request))

    def set_scram_password(
        self,
        user: str,
        password: str,
        *,
        mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_512,
        iterations: int = MIN_ITERATIONS,
    ) -> Future[ApiError]:
        """Set a user's password for one SCRAM mechanism, with a new salt.

        Args:
            user: the name at login, such as ``alice``; ACLs have ``User:alice``.
            password: the password, which is not stored or logged.
            mechanism: the mechanism; credentials of other mechanisms stay unchanged.
            iterations: the number of hash iterations, 4096 to 16384.

        Returns:
            A future of the outcome; it is true if the change was refused.

        Raises:
            NotController: the log cannot be written here.
        """
        salt = self._entropy(SALT_BYTES)
        change = salted_upsertion(user, mechanism, password, salt, iterations)
        request = AlterScramRequest(upsertions=[change])
        return after(self.alter_scram(request), lambda done: done.result()[user])
