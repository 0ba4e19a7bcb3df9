"""The groups of modules that `make mutate` changes, each with the test files that hold it.

A group's tests are the fast ones: they are run for each change of a function that they call. This
module must not know how changes are made.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Group(NamedTuple):
    """``modules`` and ``tests`` are paths without their ``.py``, from the repository. Tests whose
    id begins with one of ``left_out`` are not run: they are too dear, or start a Python that does
    not find mutmut."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def _under(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


_DECISIONS: Final = (
    *_under(
        "tests/authorizer",
        "test_decide",
        "test_buckets",
        "test_vectors",
        "test_index",
        "test_prefixes",
        "test_bulk",
        "test_client_hosts",
        "test_trace",
        "test_standard",
    ),
    *("tests/field/test_decisions", "tests/metalog/test_host_block"),
)

_TOO_DEAR: Final = (
    *(
        f"tests/authorizer/{test}[KafkaVersion.V4_3-"
        for test in (
            "test_vectors.py::test_answers_are_kafkas",
            "test_bulk.py::test_each_row_is_answered_as_kafka_did",
            "test_trace.py::test_what_kafka_decided",
        )
    ),
    "tests/authorizer/test_vectors.py::test_answers_are_kafkas[KafkaVersion.V4_4-cidr]",
    "tests/authorizer/test_vectors.py::test_the_new_version_answers_old_questions_otherwise",
    "tests/authorizer/test_bulk.py::test_each_row_is_answered_as_kafka_did[KafkaVersion.V4_4-cidr]",
    "tests/authorizer/test_trace.py::test_what_kafka_decided[KafkaVersion.V4_4-cidr]",
    "tests/authorizer/test_prefixes.py::test_all_stored_prefixes_are_found_the_longest_first",
    "tests/authorizer/test_index.py::test_invariants_hold_after_every_step",
    "tests/authorizer/test_standard.py::test_what_is_remembered_of_strangers_is_bounded_in_bytes",
    "tests/authorizer/test_standard.py::test_one_call_is_answered_from_one_image_while_a_writer_writes",
)

GROUPS: Final = {
    "decide": Group(_under("authorizer", "engine/decide", "kafka_version"), _DECISIONS, _TOO_DEAR),
    "index": Group(
        _under(
            "authorizer/engine",
            "index",
            "buckets",
            "prefixes",
            "grants",
            "resource_acls",
            "host_blocks",
            "bulk",
        ),
        (
            *_DECISIONS,
            *_under(
                "tests/authorizer",
                "test_host_blocks",
                "test_index_answers",
                "test_index_invariants",
            ),
        ),
        tuple(each for each in _TOO_DEAR if "test_index" not in each and "prefixes" not in each),
    ),
    "caches": Group(
        _under("authorizer/engine/cache", "decision_cache", "session_cache", "remembered"),
        (
            *_DECISIONS,
            *_under(
                "tests/authorizer",
                "test_what_a_change_forgets",
                "test_remembered",
                "test_session_cache",
            ),
        ),
        _TOO_DEAR,
    ),
    "gate": Group(
        (
            *_under("authorizer", "standard", "loading", "config"),
            *_under("metalog/replica", "load_gate", "staleness"),
        ),
        _under("tests/authorizer", "test_standard", "test_api", "test_config", "test_loading")
        + _under("tests/metalog_node", "test_gate")
        + _under("tests/metalog", "test_replica", "test_staleness"),
        (
            "tests/authorizer/test_api.py::test_importing_the_package_loads_no_third_party",
            "tests/authorizer/test_loading.py::test_importing_authorizer_does_not_load_kip_11s",
        ),
    ),
    "scram": Group(
        _under(
            "metalog",
            "scram",
            "controller/scram",
            "controller/scram_password",
            "controller/scram_password_config",
        )
        + _under("metalog_node/auth", "authentication", "scram_messages", "dummy_credentials"),
        _under(
            "tests/metalog", "test_scram", "controller/test_scram", "controller/test_scram_password"
        )
        + _under(
            "tests/metalog_node", "test_connection", "test_dummy_credentials", "test_passwords"
        )
        + (
            "tests/metalog/wire/test_sasl",
            "tests/metalog_node/test_scram_messages",
            "tests/metalog_node/test_login_reasons",
            "tests/field/test_logins",
        ),
    ),
    "permissions": Group(
        _under("authorizer/permissions", "requests", "table"),
        (
            *_under("tests/authorizer", "test_requests", "test_permissions_page"),
            "tests/metalog_node/test_permissions",
        ),
    ),
    "recovery": Group(
        _under("metalog/log/folder", "commit", "segment", "walk", "directory", "extent")
        + _under("metalog/log/folder_writer", "appender", "writer"),
        _under(
            "tests/metalog/log",
            "test_commit",
            "test_damage",
            "test_directory",
            "test_extent",
            "test_find_batch",
            "test_segment",
            "test_what_a_poll_reads",
            "test_writer",
            "test_writer_failures",
        ),
        (
            "tests/metalog/log/test_writer.py"
            "::test_a_second_writer_is_refused_in_this_process_and_in_others",
        ),
    ),
    "cells": Group(
        _under(
            "authorizer/analysis/cells",
            "claims",
            "clients",
            "claim_remedy",
            "difference",
            "enumeration",
            "gains",
            "meaning",
            "minimize",
            "names",
            "sessions",
        ),
        ("tests/authorizer/analysis/cells",),
    ),
}
