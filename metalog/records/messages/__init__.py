# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""Every message class by name, imported when first used; by key, see ``registry``.

Two classes are called ``Voter``: import it from the module of its message.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

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

_MODULES: Final = {
    "RegisterBrokerRecord": "register_broker_record",
    "UnregisterBrokerRecord": "unregister_broker_record",
    "TopicRecord": "topic_record",
    "PartitionRecord": "partition_record",
    "ConfigRecord": "config_record",
    "PartitionChangeRecord": "partition_change_record",
    "FenceBrokerRecord": "fence_broker_record",
    "UnfenceBrokerRecord": "unfence_broker_record",
    "RemoveTopicRecord": "remove_topic_record",
    "DelegationTokenRecord": "delegation_token_record",
    "UserScramCredentialRecord": "user_scram_credential_record",
    "FeatureLevelRecord": "feature_level_record",
    "ClientQuotaRecord": "client_quota_record",
    "ProducerIdsRecord": "producer_ids_record",
    "BrokerRegistrationChangeRecord": "broker_registration_change_record",
    "AccessControlEntryRecord": "access_control_entry_record",
    "RemoveAccessControlEntryRecord": "remove_access_control_entry_record",
    "NoOpRecord": "no_op_record",
    "ZkMigrationStateRecord": "zk_migration_state_record",
    "RemoveUserScramCredentialRecord": "remove_user_scram_credential_record",
    "BeginTransactionRecord": "begin_transaction_record",
    "EndTransactionRecord": "end_transaction_record",
    "AbortTransactionRecord": "abort_transaction_record",
    "RemoveDelegationTokenRecord": "remove_delegation_token_record",
    "RegisterControllerRecord": "register_controller_record",
    "ClearElrRecord": "clear_elr_record",
    "UnregisterControllerRecord": "unregister_controller_record",
    "LeaderChangeMessage": "leader_change_message",
    "SnapshotHeaderRecord": "snapshot_header_record",
    "SnapshotFooterRecord": "snapshot_footer_record",
    "KRaftVersionRecord": "kraft_version_record",
    "VotersRecord": "voters_record",
    "BrokerEndpoint": "register_broker_record",
    "BrokerFeature": "register_broker_record",
    "EntityData": "client_quota_record",
    "ControllerEndpoint": "register_controller_record",
    "ControllerFeature": "register_controller_record",
    "Endpoint": "voters_record",
    "KRaftVersionFeature": "voters_record",
}

__all__ = [
    "AbortTransactionRecord",
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "BrokerEndpoint",
    "BrokerFeature",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "ControllerEndpoint",
    "ControllerFeature",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "Endpoint",
    "EntityData",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "KRaftVersionFeature",
    "KRaftVersionRecord",
    "LeaderChangeMessage",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveTopicRecord",
    "RemoveUserScramCredentialRecord",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
    "TopicRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
    "UnregisterControllerRecord",
    "UserScramCredentialRecord",
    "VotersRecord",
    "ZkMigrationStateRecord",
]


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
