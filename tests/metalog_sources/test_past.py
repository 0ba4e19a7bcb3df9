"""A program gets an image of a moment if it is certain, else an exception."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from metalog import AuthorizerNotReady, CorruptLog, InvalidMoment, InvalidSource, MetadataImage
from metalog.log.folder.layout import segment_name
from metalog.records.batch import encode_batch
from metalog_sources import image_at
from snapshot import format_log
from tests.support.disk.tiny_log import ace, batch, leader_change
from tests.support.kafka.cases import REPOSITORY

DEMO = REPOSITORY / "metalog_sources" / "demo" / "log-dir"


def test_the_image_is_of_the_moment_that_is_given() -> None:
    assert image_at(DEMO, "151").provenance.offset <= 151 < image_at(DEMO).provenance.offset
    assert len(image_at(DEMO, "151").acls) != len(image_at(DEMO).acls)


def test_only_what_decisions_depend_on_is_read_unless_all_is_wanted() -> None:
    part, whole = image_at(DEMO), image_at(DEMO, is_whole=True)
    assert part.acls == whole.acls
    assert whole.cluster.brokers
    with pytest.raises(AttributeError, match="has no cluster: the replay did not read"):
        _ = part.cluster.brokers


@pytest.mark.parametrize("duplicate", [lambda image: pickle.loads(pickle.dumps(image)), deepcopy])
def test_an_image_with_unread_parts_can_be_sent_to_another_process(
    duplicate: Callable[[MetadataImage], MetadataImage],
) -> None:
    image = image_at(DEMO)
    again = duplicate(image)
    assert (again.acls, again.provenance) == (image.acls, image.provenance)
    with pytest.raises(AttributeError, match="has no cluster: the replay did not read"):
        _ = again.cluster.brokers


@pytest.mark.parametrize(
    ("source", "moment", "raised"),
    [
        ("nowhere", None, InvalidSource),
        (DEMO, "yesterday", InvalidMoment),
        (DEMO, "999,999", InvalidMoment),
        (REPOSITORY / "docs/guide/acls", "151", InvalidSource),
    ],
)
def test_what_cannot_be_had_is_refused(
    source: str | Path, moment: str | None, raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        image_at(source, moment)


def test_before_a_node_has_written_anything_nothing_is_decided(tmp_path: Path) -> None:
    format_log(tmp_path / "node")
    with pytest.raises(AuthorizerNotReady, match="there is no metadata record before offset 0"):
        image_at(tmp_path / "node")


def test_after_the_leader_change_alone_nothing_is_decided() -> None:
    with pytest.raises(AuthorizerNotReady, match="there is no metadata record before offset 1,"):
        image_at(DEMO, "1")


def folder_of(tmp_path: Path, content: bytes) -> Path:
    partition = tmp_path / "__cluster_metadata-0"
    partition.mkdir()
    (partition / segment_name(0)).write_bytes(content)
    return partition


def test_a_record_that_may_be_misread_refuses_the_image(tmp_path: Path) -> None:
    """With a code that Kafka 4.3 has no name for, a DENY may match fewer requests than intended."""
    odd = ace(1)._replace(permission_type=77)
    log = [leader_change(0, 1), batch(1, odd)]
    folder = folder_of(tmp_path, b"".join(map(encode_batch, log)))
    with pytest.raises(CorruptLog, match="77"):
        image_at(folder)


def test_damage_refuses_the_image(tmp_path: Path) -> None:
    content = bytearray(b"".join(map(encode_batch, [leader_change(0, 1), batch(1, ace(1))])))
    content[-3] ^= 1
    with pytest.raises(CorruptLog):
        image_at(folder_of(tmp_path, bytes(content)))
