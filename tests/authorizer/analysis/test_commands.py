"""A kafka-acls command line survives bash unchanged."""

from __future__ import annotations

import shutil
import subprocess
from itertools import chain, combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.analysis.remedies.commands import (
    CONNECTION,
    CommandKind,
    acl_comment,
    kafka_acls_command,
    kafka_acls_commands,
    quoted,
    why_no_command,
)
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from tests.support.worlds.small_acls import allow

GRANT = allow("payments", Operation.DESCRIBE_CONFIGS)


def test_a_grant():
    assert kafka_acls_command(CommandKind.ADD, GRANT) == (
        f"kafka-acls {CONNECTION} --add --allow-principal User:bob "
        "--operation DescribeConfigs --topic payments"
    )


def test_a_denial_for_a_prefix_from_one_host():
    denial = GRANT._replace(
        resource_type=ResourceType.GROUP,
        resource_name="it's-",
        pattern_type=PatternType.PREFIXED,
        host="10.0.0.1",
        operation=Operation.READ,
        permission_type=PermissionType.DENY,
    )
    assert kafka_acls_command(CommandKind.REMOVE, denial) == (
        f"kafka-acls {CONNECTION} --remove --force --deny-principal User:bob "
        "--deny-host 10.0.0.1 --operation Read --group 'it'\"'\"'s-' "
        "--resource-pattern-type prefixed"
    )


def test_the_cluster_has_no_name_on_the_command_line():
    acl = GRANT._replace(
        resource_type=ResourceType.CLUSTER,
        resource_name="kafka-cluster",
        operation=Operation.CLUSTER_ACTION,
    )
    assert kafka_acls_command(CommandKind.ADD, acl).endswith("--operation ClusterAction --cluster")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"resource_name": "trailing "}, "cuts the blanks at the ends of the resource name"),
        ({"host": " 10.0.0.1"}, "cuts the blanks at the ends of the host"),
        ({"resource_name": "nul\0"}, "cannot get a NUL or a surrogate character in the resource"),
        ({"resource_name": "\ud800"}, "cannot get a NUL or a surrogate character in the resource"),
        ({"resource_name": ""}, "takes no empty text for the resource name"),
        ({"principal": "nobody"}, "takes only principals such as User:name"),
        ({"operation": Operation.CLUSTER_ACTION}, "refuses the operation CLUSTER_ACTION on TOPIC"),
        ({"permission_type": PermissionType.UNKNOWN}, "no option for the permission UNKNOWN"),
        ({"pattern_type": PatternType.UNKNOWN}, "no option for UNKNOWN TOPIC"),
        (
            {"resource_type": ResourceType.CLUSTER, "operation": Operation.ALTER},
            "no option for LITERAL CLUSTER",
        ),
    ],
)
def test_an_acl_without_a_command_has_a_reason(change, reason):
    acl = GRANT._replace(**change)
    assert kafka_acls_command(CommandKind.ADD, acl) is None
    assert reason in why_no_command(acl)
    assert "\n" not in acl_comment(acl)


def test_an_acl_with_a_command_has_no_reason():
    assert why_no_command(GRANT) is None


def test_what_is_left_of_a_change_answers_as_what_was_or_as_what_was_meant():
    grants = GRANT, GRANT._replace(principal=" User:bob")
    denials = [each._replace(permission_type=PermissionType.DENY) for each in grants]
    denials.append(GRANT._replace(permission_type=PermissionType.UNKNOWN))
    acls = [*grants, *denials]
    sets = [
        frozenset(each)
        for each in chain(*(combinations(acls, size) for size in range(len(acls) + 1)))
    ]

    def is_granted(held: frozenset[Acl]) -> bool:
        return not held.isdisjoint(grants) and held.isdisjoint(denials)

    def is_without_acls(held: frozenset[Acl]) -> bool:
        return not held

    for before, after in product(sets, sets):
        added, gone = after - before, before - after
        changes = [
            *((CommandKind.ADD, each) for each in added),
            *((CommandKind.REMOVE, each) for each in gone),
        ]
        for allow_everyone in (False, True):
            lines = kafka_acls_commands(changes, allow_everyone=allow_everyone).lines
            done = {
                (change, acl) for change, acl in changes if kafka_acls_command(change, acl) in lines
            }
            left = before | {acl for change, acl in done if change is CommandKind.ADD}
            left -= {acl for change, acl in done if change is CommandKind.REMOVE}
            for answer in (is_granted, *[is_without_acls] * allow_everyone):
                assert answer(left) in (answer(before), answer(after)), (before, after)


def test_a_value_that_looks_like_an_option_is_no_option():
    command = kafka_acls_command(CommandKind.ADD, GRANT._replace(resource_name="--force"))
    assert command.endswith("--topic=--force")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
@pytest.mark.parametrize("name", ["=ls", "=", "=it's", "==", "~root", "%1", "#x", "a=b", "!!"])
def test_zsh_reads_a_word_back(name):
    script = f"printf '%s' {quoted(name)}"
    done = subprocess.run(["zsh", "-fc", script], capture_output=True, check=True)
    assert done.stdout.decode() == name


def test_a_word_that_zsh_would_take_for_a_command_is_quoted():
    assert quoted("=ls") == "'=ls'"


def test_no_bang_stands_where_a_shell_may_expand_it():
    assert "!" not in quoted("it's\x01!reboot")


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(max_examples=30, deadline=None)
@given(st.lists(words, min_size=20, max_size=20))
def test_bash_reads_each_word_back(values):
    script = "printf '%s\\0' " + " ".join(map(quoted, values))
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == values


@given(words)
def test_nothing_that_a_terminal_would_obey_is_in_a_quoted_word(value):
    assert quoted(value).isprintable()
