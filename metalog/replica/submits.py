"""The methods that change a log: ACLs, SCRAM users, and any other change.

This module must not know how a change is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TypeVar

from metalog.acl import Acl, AclFilter
from metalog.controller import acl as acl_control
from metalog.controller.acl_hosts import versions_of_log
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
    """The methods that change a log. Any thread may call each method.

    The methods do not wait for the log. A future completes when the change is durable and
    published. A refused change has Kafka's error as its response. If the future has an exception,
    the log perhaps lacks the change. After a failed write, the exception is ``LogFenced``.
    """

    def __init__(self, entropy: Entropy, kafka: str | None) -> None:
        self._entropy = entropy
        self._kafka = kafka

    @property
    def _writer(self) -> WriteQueue:
        raise NotImplementedError

    def submit(self, change: Change[R]) -> Future[R]:
        """Carry out ``change``.

        Args:
            change: a pure function of the image that returns records and a response
                (``metalog.controller``). The replica's thread calls the function. The image can
                have changes that are not durable yet.

        Raises:
            NotController: this node cannot write the log.
        """
        return self._writer.submit(change)

    def submit_transaction(self, name: str, change: Change[R]) -> Future[R]:
        """Carry out ``change`` as one metadata transaction of up to 128 MiB.

        The change takes effect as a whole or not at all. Below metadata.version 3.6-IV1, ``change``
        must fit one batch.

        Args:
            name: the transaction's name in the log, for people.
            change: as for ``submit``.

        Raises:
            NotController: this node cannot write the log.
        """
        return self._writer.submit(change, name)

    def create_acls(self, context: object, acls: Sequence[Acl]) -> list[Future[AclCreateResult]]:
        """Create ``acls`` as one request, in one batch.

        Args:
            context: ignored. The caller must ask the authorizer first.
            acls: the ACLs. An ACL that exists is not an error.

        Returns:
            A future for each of ``acls``, in order. The result for a refused ACL is an error, which
            counts as true. Any other result is ``SUCCESS``, which counts as false.

        Raises:
            NotController: this node cannot write the log.
        """
        return each_of(self.submit_creations(acls), len(acls))

    def delete_acls(
        self, context: object, filters: Sequence[AclFilter]
    ) -> list[Future[AclDeleteResult]]:
        """Delete the ACLs that ``filters`` match, as one request, in one batch.

        Args:
            context: ignored. The caller must ask the authorizer first.
            filters: which ACLs to delete.

        Returns:
            A future for each of ``filters``, in order, with the ACLs that the filter matched.

        Raises:
            NotController: this node cannot write the log.
        """
        return each_of(self.submit_deletions(filters), len(filters))

    def submit_creations(self, acls: Sequence[Acl]) -> Future[list[AclCreateResult]]:
        """Like ``create_acls``, with one future for all results."""

        def change(image: MetadataImage) -> ControllerResult[list[ApiError]]:
            versions = versions_of_log(image.features, self._kafka)
            return acl_control.create_acls(image.acls, acls, self._entropy, versions)

        return self.submit(change)

    def submit_deletions(self, filters: Sequence[AclFilter]) -> Future[list[AclDeleteResult]]:
        """Like ``delete_acls``, with one future for all results."""
        return self.submit(lambda image: acl_control.delete_acls(image.acls, filters))

    def alter_scram(self, request: AlterScramRequest) -> Future[dict[str, ApiError]]:
        """Set and delete SCRAM credentials (KIP-554). The result has an outcome for each user."""
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
            password: is not stored or logged.
            mechanism: credentials of other mechanisms stay unchanged.
            iterations: the number of hash iterations, 4096 to 16384.

        Returns:
            A future. The result for a refused change is an error, which counts as true. Any other
            result is ``SUCCESS``, which counts as false.

        Raises:
            NotController: this node cannot write the log.
            InvalidRequest: the password is not Unicode text.
        """
        salt = self._entropy(SALT_BYTES)
        change = salted_upsertion(user, mechanism, password, salt, iterations)
        request = AlterScramRequest(upsertions=[change])
        return after(self.alter_scram(request), lambda done: done.result()[user])
