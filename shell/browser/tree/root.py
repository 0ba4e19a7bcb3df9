"""The tree from its root: one line for each subject.

This module must not know what a subject looks like.
"""

from __future__ import annotations

from metalog.image.metadata import MetadataImage
from shell.browser.nodes import Directory, fixed
from shell.browser.tree.acls import acl_directory, kafka_acls
from shell.browser.tree.client_quotas import kafka_client_quotas
from shell.browser.tree.cluster import kafka_cluster
from shell.browser.tree.configs import kafka_configs
from shell.browser.tree.delegation_tokens import kafka_delegation_tokens
from shell.browser.tree.features import kafka_features
from shell.browser.tree.local import local_directory
from shell.browser.tree.producer_ids import kafka_producer_ids
from shell.browser.tree.provenance import kafka_provenance
from shell.browser.tree.scram import kafka_scram, scram_directory
from shell.browser.tree.topics import kafka_topics


def root_directory(image: MetadataImage, *, show_secrets: bool) -> Directory:
    """``/``. Salts, keys and passwords are readable only if ``show_secrets``."""
    return fixed(
        {
            "acl": lambda: acl_directory(image.acls),
            "scram": lambda: scram_directory(image.scram, show_secrets=show_secrets),
            "image": lambda: _kafka_tree(image, show_secrets=show_secrets),
            "local": local_directory,
        }
    )


def _kafka_tree(image: MetadataImage, *, show_secrets: bool) -> Directory:
    """``/image``, as Kafka 4.3's metadata shell has it."""
    return fixed(
        {
            "acls": lambda: kafka_acls(image.acls),
            "clientQuotas": lambda: kafka_client_quotas(image.client_quotas),
            "cluster": lambda: kafka_cluster(image.cluster),
            "configs": lambda: kafka_configs(image.configs, show_secrets=show_secrets),
            "delegationToken": lambda: kafka_delegation_tokens(image.delegation_tokens),
            "features": lambda: kafka_features(image.features),
            "producerIds": lambda: kafka_producer_ids(image.producer_ids),
            "provenance": lambda: kafka_provenance(image.provenance),
            "scram": lambda: kafka_scram(image.scram, show_secrets=show_secrets),
            "topics": lambda: kafka_topics(image.topics),
        }
    )
