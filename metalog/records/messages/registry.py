# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""Finds a message class by its key, and imports the class at the first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final, cast

from metalog.records.message import ControlMessage, Message

METADATA: Final = {
    0: ("register_broker_record", "RegisterBrokerRecord"),
    1: ("unregister_broker_record", "UnregisterBrokerRecord"),
    2: ("topic_record", "TopicRecord"),
    3: ("partition_record", "PartitionRecord"),
    4: ("config_record", "ConfigRecord"),
    5: ("partition_change_record", "PartitionChangeRecord"),
    7: ("fence_broker_record", "FenceBrokerRecord"),
    8: ("unfence_broker_record", "UnfenceBrokerRecord"),
    9: ("remove_topic_record", "RemoveTopicRecord"),
    10: ("delegation_token_record", "DelegationTokenRecord"),
    11: ("user_scram_credential_record", "UserScramCredentialRecord"),
    12: ("feature_level_record", "FeatureLevelRecord"),
    14: ("client_quota_record", "ClientQuotaRecord"),
    15: ("producer_ids_record", "ProducerIdsRecord"),
    17: ("broker_registration_change_record", "BrokerRegistrationChangeRecord"),
    18: ("access_control_entry_record", "AccessControlEntryRecord"),
    19: ("remove_access_control_entry_record", "RemoveAccessControlEntryRecord"),
    20: ("no_op_record", "NoOpRecord"),
    21: ("zk_migration_state_record", "ZkMigrationStateRecord"),
    22: ("remove_user_scram_credential_record", "RemoveUserScramCredentialRecord"),
    23: ("begin_transaction_record", "BeginTransactionRecord"),
    24: ("end_transaction_record", "EndTransactionRecord"),
    25: ("abort_transaction_record", "AbortTransactionRecord"),
    26: ("remove_delegation_token_record", "RemoveDelegationTokenRecord"),
    27: ("register_controller_record", "RegisterControllerRecord"),
    28: ("clear_elr_record", "ClearElrRecord"),
    29: ("unregister_controller_record", "UnregisterControllerRecord"),
}

CONTROL: Final = {
    2: ("leader_change_message", "LeaderChangeMessage"),
    3: ("snapshot_header_record", "SnapshotHeaderRecord"),
    4: ("snapshot_footer_record", "SnapshotFooterRecord"),
    5: ("kraft_version_record", "KRaftVersionRecord"),
    6: ("voters_record", "VotersRecord"),
}


@cache
def message_type(api_key: int) -> type[Message] | None:
    """The class of a metadata record; None for an unknown key."""
    found = METADATA.get(api_key)
    return None if found is None else cast("type[Message]", _imported(*found))


@cache
def control_message_type(key: int) -> type[ControlMessage] | None:
    """The class of a control record of the quorum; None for an unknown key."""
    found = CONTROL.get(key)
    return None if found is None else cast("type[ControlMessage]", _imported(*found))


def _imported(module: str, name: str) -> object:
    return getattr(import_module(f"metalog.records.messages.{module}"), name)
