"""The TARGETs that take passwords, and the errors of Kafka's controller."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog.errors import InvalidTarget
from metalog.scram import ScramMechanism
from metalog_sources.source import Source, open_source
from metalog_sources.targets.credentials import CredentialTarget, credential_target_of
from tests.support.disk.written_log import formatted
from tests.support.worlds.memory_target import MemoryTarget


def test_a_store_of_acls_alone_takes_no_password() -> None:
    store = MemoryTarget([])
    source = Source("zookeeper://zk", "zookeeper", store, "zookeeper://zk", None, None)
    with pytest.raises(InvalidTarget, match=r"^zookeeper://zk: SCRAM users cannot be changed"):
        credential_target_of(source)


def opened(folder: Path) -> CredentialTarget:
    return credential_target_of(open_source(str(folder), environ={}))


def test_a_folder_takes_them_and_says_what_is_refused(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    target = opened(folder)
    mechanism = ScramMechanism.SCRAM_SHA_512
    assert target.scram_users() == {}
    try:
        target.set_password("alice", mechanism, "top-secret-1", b"salt", 8192)
        with pytest.raises(InvalidTarget, match="UNACCEPTABLE_CREDENTIAL: Too few iterations"):
            target.set_password("alice", mechanism, "top-secret-1", b"salt", 1)
        with pytest.raises(InvalidTarget, match=r"RESOURCE_NOT_FOUND: .*does not exist"):
            target.delete_credential("bob", mechanism)
    finally:
        target.close()
    assert opened(folder).scram_users() == {"alice": {mechanism: 8192}}
