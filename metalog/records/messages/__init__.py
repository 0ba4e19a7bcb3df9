# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""Exports the message classes, and imports each class at its first use.

``registry`` finds a class by its key. Two classes are called ``Voter``: import ``Voter``
from the module of its message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from .abort_transaction_record import AbortTransactionRecord as AbortTransactionRecord
    from .access_control_entry_record import AccessControlEntryRecord as AccessControlEntryRecord
    from .begin_transaction_record import BeginTransactionRecord as BeginTransactionRecord
    from .broker_registration_change_record import (
        BrokerRegistrationChangeRecord as BrokerRegistrationChangeRecord,
    )
    from .clear_elr_record import ClearElrRecord as ClearElrRecord
    from .client_quota_record import ClientQuotaRecord as ClientQuotaRecord
    from .client_quota_record import EntityData as EntityData
    from .config_record import ConfigRecord as ConfigRecord
    from .delegation_token_record import DelegationTokenRecord as DelegationTokenRecord
    from .end_transaction_record import EndTransactionRecord as EndTransactionRecord
    from .feature_level_record import FeatureLevelRecord as FeatureLevelRecord
    from .fence_broker_record import FenceBrokerRecord as FenceBrokerRecord
    from .kraft_version_record import KRaftVersionRecord as KRaftVersionRecord
    from .leader_change_message import LeaderChangeMessage as LeaderChangeMessage
    from .no_op_record import NoOpRecord as NoOpRecord
    from .partition_change_record import PartitionChangeRecord as PartitionChangeRecord
    from .partition_record import PartitionRecord as PartitionRecord
    from .producer_ids_record import ProducerIdsRecord as ProducerIdsRecord
    from .register_broker_record import BrokerEndpoint as BrokerEndpoint
    from .register_broker_record import BrokerFeature as BrokerFeature
    from .register_broker_record import RegisterBrokerRecord as RegisterBrokerRecord
    from .register_controller_record import ControllerEndpoint as ControllerEndpoint
    from .register_controller_record import ControllerFeature as ControllerFeature
    from .register_controller_record import RegisterControllerRecord as RegisterControllerRecord
    from .remove_access_control_entry_record import (
        RemoveAccessControlEntryRecord as RemoveAccessControlEntryRecord,
    )
    from .remove_delegation_token_record import (
        RemoveDelegationTokenRecord as RemoveDelegationTokenRecord,
    )
    from .remove_topic_record import RemoveTopicRecord as RemoveTopicRecord
    from .remove_user_scram_credential_record import (
        RemoveUserScramCredentialRecord as RemoveUserScramCredentialRecord,
    )
    from .snapshot_footer_record import SnapshotFooterRecord as SnapshotFooterRecord
    from .snapshot_header_record import SnapshotHeaderRecord as SnapshotHeaderRecord
    from .topic_record import TopicRecord as TopicRecord
    from .unfence_broker_record import UnfenceBrokerRecord as UnfenceBrokerRecord
    from .unregister_broker_record import UnregisterBrokerRecord as UnregisterBrokerRecord
    from .unregister_controller_record import (
        UnregisterControllerRecord as UnregisterControllerRecord,
    )
    from .user_scram_credential_record import UserScramCredentialRecord as UserScramCredentialRecord
    from .voters_record import Endpoint as Endpoint
    from .voters_record import KRaftVersionFeature as KRaftVersionFeature
    from .voters_record import VotersRecord as VotersRecord
    from .zk_migration_state_record import ZkMigrationStateRecord as ZkMigrationStateRecord

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            ".register_broker_record": "RegisterBrokerRecord BrokerEndpoint BrokerFeature",
            ".unregister_broker_record": "UnregisterBrokerRecord",
            ".topic_record": "TopicRecord",
            ".partition_record": "PartitionRecord",
            ".config_record": "ConfigRecord",
            ".partition_change_record": "PartitionChangeRecord",
            ".fence_broker_record": "FenceBrokerRecord",
            ".unfence_broker_record": "UnfenceBrokerRecord",
            ".remove_topic_record": "RemoveTopicRecord",
            ".delegation_token_record": "DelegationTokenRecord",
            ".user_scram_credential_record": "UserScramCredentialRecord",
            ".feature_level_record": "FeatureLevelRecord",
            ".client_quota_record": "ClientQuotaRecord EntityData",
            ".producer_ids_record": "ProducerIdsRecord",
            ".broker_registration_change_record": "BrokerRegistrationChangeRecord",
            ".access_control_entry_record": "AccessControlEntryRecord",
            ".remove_access_control_entry_record": "RemoveAccessControlEntryRecord",
            ".no_op_record": "NoOpRecord",
            ".zk_migration_state_record": "ZkMigrationStateRecord",
            ".remove_user_scram_credential_record": "RemoveUserScramCredentialRecord",
            ".begin_transaction_record": "BeginTransactionRecord",
            ".end_transaction_record": "EndTransactionRecord",
            ".abort_transaction_record": "AbortTransactionRecord",
            ".remove_delegation_token_record": "RemoveDelegationTokenRecord",
            ".register_controller_record": "RegisterControllerRecord "
            "ControllerEndpoint "
            "ControllerFeature",
            ".clear_elr_record": "ClearElrRecord",
            ".unregister_controller_record": "UnregisterControllerRecord",
            ".leader_change_message": "LeaderChangeMessage",
            ".snapshot_header_record": "SnapshotHeaderRecord",
            ".snapshot_footer_record": "SnapshotFooterRecord",
            ".kraft_version_record": "KRaftVersionRecord",
            ".voters_record": "VotersRecord Endpoint KRaftVersionFeature",
        },
    )
