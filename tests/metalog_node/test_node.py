"""A node on free ports, driven by librdkafka's admin client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from written_log import formatted

from metalog_node.config import config_of
from metalog_node.node import Node
from snapshot.exchange.replay import replay_source
from snapshot.exchange.source import open_source

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


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a node of both roles whose log is in ``folder``."""
    config = config_of(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "metadata.log.dir": str(folder),
        }
    )
    address: Future[str] = Future()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def run() -> None:
        try:
            async with Node(config) as node:
                await node.ready()
                address.set_result(str(node.addresses["PLAINTEXT"]))
                await done.wait()
        except Exception as error:
            if not address.done():
                address.set_exception(error)
            raise

    thread = Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        yield address.result(timeout=20)
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def test_acls_are_created_listed_and_deleted_and_are_in_the_log(tmp_path: Path) -> None:
    formatted(tmp_path)
    with running(tmp_path) as address:
        admin = AdminClient({"bootstrap.servers": address})
        for future in admin.create_acls([READ_FOO]).values():
            assert future.result(10) is None
        assert admin.describe_acls(OF_APP).result(10) == [READ_FOO]
    replayed = replay_source(open_source(str(tmp_path), environ={}), committed=False)
    assert "foo" in {acl.resource_name for acl in replayed.image.acls.by_id.values()}
    with running(tmp_path) as address:
        admin = AdminClient({"bootstrap.servers": address})
        [deleted] = admin.delete_acls([OF_APP]).values()
        assert deleted.result(10) == [READ_FOO]
        assert admin.describe_acls(OF_APP).result(10) == []
