"""A user's own authorizer in a node is asked, and gets the log only if it wants it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from authorizer import Action, AuthorizationResult, Authorizer, Operation, RequestContext
from authorizer.interface import AuthorizationResults
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in
from tests.support.wire.admin_requests import NodeClient, create, creation


class ReadOnly(Authorizer):
    """An authorizer that does not need the log."""

    def configure(self, configs: Mapping[str, object]) -> None:
        self.closed = False

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        opened: Future[None] = Future()
        opened.set_result(None)
        return dict.fromkeys(server_info, opened)

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        return AuthorizationResults(
            AuthorizationResult.DENIED
            if each.operation is Operation.ALTER_CONFIGS
            else AuthorizationResult.ALLOWED
            for each in actions
        )

    def close(self) -> None:
        self.closed = True


def test_it_is_asked_and_no_fault_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With one image after each change."""
    formatted(tmp_path)
    name = f"{ReadOnly.__module__}.{ReadOnly.__qualname__}"
    with (
        caplog.at_level(logging.INFO),
        running_in(tmp_path, **{"authorizer.class.name": name}) as node,
    ):
        assert isinstance(node.authorizer, ReadOnly)
        asker = NodeClient(node.addresses["PLAINTEXT"])
        before = node.replica.image.provenance.offset
        for number in range(3):
            asker.ask(create(creation(resource_name=str(number))))
        assert node.replica.image.provenance.offset > before
        assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
    assert node.authorizer.closed
