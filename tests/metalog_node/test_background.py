"""A node in a program without an event loop: an error gives the reason why it did not open."""

from __future__ import annotations

from pathlib import Path

import pytest

import metalog_node
from metalog.errors import CorruptLog, LoadTimeout


def test_the_reason_is_told_where_a_node_does_not_open(tmp_path: Path) -> None:
    config = metalog_node.dev_config(tmp_path / "node")
    with metalog_node.running(config):
        pass
    [segment] = (tmp_path / "node" / "__cluster_metadata-0").glob("*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    with (
        pytest.raises(LoadTimeout, match=rf"not open after 0\.5 s: {segment}, offset 0.*") as told,
        metalog_node.running(config, within_s=0.5),
    ):
        pytest.fail("a node on a damaged log is open")
    assert isinstance(told.value.__cause__, CorruptLog)
