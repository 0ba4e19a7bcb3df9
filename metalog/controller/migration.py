"""Turns a migration into records: one change to ACLs and credentials together.

The change takes effect as a whole, and can have more records than a request to Kafka. Pure. This
module must not know where the wanted ACLs and credentials came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metalog.acl import Acl
from metalog.controller.acl import creations, why_not
from metalog.controller.acl_hosts import versions_of_log
from metalog.controller.result import ControllerResult
from metalog.controller.scram import SCRAM_SINCE, new_credential_problem
from metalog.errors import ErrorCode, InvalidRequest
from metalog.ids import Entropy
from metalog.image.metadata import MetadataImage
from metalog.image.state.features import METADATA_VERSIONS
from metalog.image.state.scram import record_of
from metalog.records.messages import RemoveAccessControlEntryRecord
from metalog.scram import ScramCredential, ScramMechanism


class Migration(NamedTuple):
    """ACLs to add, ACLs to remove, and credentials (salt and keys) to store unchanged."""

    added: Sequence[Acl] = ()
    removed: Sequence[Acl] = ()
    credentials: Sequence[tuple[str, ScramMechanism, ScramCredential]] = ()


def migrate(image: MetadataImage, change: Migration, entropy: Entropy) -> ControllerResult[None]:
    """The records of ``change``; ``InvalidRequest`` if an ACL or a credential is refused."""
    versions = versions_of_log(image.features)
    for acl in change.added:
        if error := why_not(acl, versions):
            raise InvalidRequest(f"{error.code.name}: {error.message}")
    for user, _, credential in change.credentials:
        if problem := new_credential_problem(user, credential.salt):
            raise InvalidRequest(f"{ErrorCode.UNACCEPTABLE_CREDENTIAL.name}: {problem}")
    level = image.features.metadata_version or 0
    if change.credentials and level < SCRAM_SINCE:
        raise InvalidRequest(
            f"metadata.version {METADATA_VERSIONS.get(level, level)} has no SCRAM users;"
            f" raise it to {METADATA_VERSIONS[SCRAM_SINCE]}"
        )
    removals = [
        (RemoveAccessControlEntryRecord(id=uuid), 0)
        for acl in dict.fromkeys(change.removed)
        for uuid in image.acls.ids(acl)
    ]
    users = [(record_of(*credential), 0) for credential in change.credentials]
    records = [*creations(image.acls, change.added, entropy), *removals, *users]
    return ControllerResult(records, None)
