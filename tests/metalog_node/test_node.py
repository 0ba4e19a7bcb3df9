"""A node on free ports, driven by librdkafka's admin client."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in

READ_FOO = AclBinding(
    ResourceType.TOPIC,
    "foo",
    ResourcePatternType.LITERAL,
    "User:app",
    "*",
    AclOperation.READ,
    AclPermissionType.ALLOW,
)
OF_APP = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    "User:app",
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


def test_acls_are_created_listed_and_deleted_and_are_in_the_log(tmp_path: Path) -> None:
    formatted(tmp_path)
    with running_in(tmp_path) as node:
        admin = AdminClient({"bootstrap.servers": str(node.addresses["PLAINTEXT"])})
        for future in admin.create_acls([READ_FOO]).values():
            assert future.result(60) is None
        assert admin.describe_acls(OF_APP).result(60) == [READ_FOO]
    replayed = replay_source(open_source(str(tmp_path), environ={}), committed=False)
    assert "foo" in {acl.resource_name for acl in replayed.image.acls.by_id.values()}
    with running_in(tmp_path) as node:
        admin = AdminClient({"bootstrap.servers": str(node.addresses["PLAINTEXT"])})
        [deleted] = admin.delete_acls([OF_APP]).values()
        assert deleted.result(60) == [READ_FOO]
        assert admin.describe_acls(OF_APP).result(60) == []
