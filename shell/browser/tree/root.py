"""The root of the tree, and ``/image`` with a directory for each ``ImageSubject``.

This module must not know what a subject looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from metalog.image.manifest import Provenance
from metalog.image.metadata import MetadataImage
from metalog.image.subjects import SUBJECTS, ImageSubject
from shell.browser.nodes import Directory, Leaf, fixed
from shell.browser.tree.acls import acl_directory, kafka_acls
from shell.browser.tree.client_quotas import kafka_client_quotas
from shell.browser.tree.cluster import kafka_cluster
from shell.browser.tree.configs import kafka_configs
from shell.browser.tree.delegation_tokens import kafka_delegation_tokens
from shell.browser.tree.features import kafka_features
from shell.browser.tree.kafka import zoned_time
from shell.browser.tree.producer_ids import kafka_producer_ids
from shell.browser.tree.scram import kafka_scram, scram_directory
from shell.browser.tree.topics import kafka_topics
from shell.version import VERSION


def root_directory(image: MetadataImage, *, show_secrets: bool) -> Directory:
    """Salts, keys and passwords are shown only if ``show_secrets``."""
    return fixed(
        {
            "acl": lambda: acl_directory(image.acls),
            "scram": lambda: scram_directory(image.scram, show_secrets=show_secrets),
            "image": lambda: _kafka_tree(image, show_secrets=show_secrets),
            "local": _local_directory,
        }
    )


def _local_directory() -> Directory:
    """As in Kafka's shell. The commit of an installed package is unknown."""
    return fixed({"version": lambda: Leaf(VERSION), "commitId": lambda: Leaf("unknown")})


def _kafka_tree(image: MetadataImage, *, show_secrets: bool) -> Directory:
    def directory_of(subject: ImageSubject) -> Callable[[], Directory]:
        subject_image = getattr(image, subject.name)
        return lambda: _DIRECTORIES[subject.name](subject_image, show_secrets)

    return fixed(
        {
            "provenance": lambda: _provenance_leaf(image.provenance),
            **{subject.kafka_name: directory_of(subject) for subject in SUBJECTS},
        }
    )


def _provenance_leaf(provenance: Provenance) -> Leaf:
    """As in Kafka, the leaf shows the last record's offset. ``Provenance.offset`` is exclusive."""
    offset, epoch, timestamp = provenance
    return Leaf(f"offset {offset - 1}, epoch {epoch}, time {zoned_time(timestamp)}")


_DIRECTORIES: Final[Mapping[str, Callable[[Any, bool], Directory]]] = {
    "features": lambda image, show_secrets: kafka_features(image),
    "cluster": lambda image, show_secrets: kafka_cluster(image),
    "topics": lambda image, show_secrets: kafka_topics(image),
    "configs": lambda image, show_secrets: kafka_configs(image, show_secrets=show_secrets),
    "client_quotas": lambda image, show_secrets: kafka_client_quotas(image),
    "producer_ids": lambda image, show_secrets: kafka_producer_ids(image),
    "acls": lambda image, show_secrets: kafka_acls(image),
    "scram": lambda image, show_secrets: kafka_scram(image, show_secrets=show_secrets),
    "delegation_tokens": lambda image, show_secrets: kafka_delegation_tokens(image),
}
"""By the subject's name in ``SUBJECTS``."""
