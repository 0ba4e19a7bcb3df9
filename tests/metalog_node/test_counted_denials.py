"""A node counts each denial by the rule of the same image that decided it, or as unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from authorizer import Action, AuthorizationResult, Operation, RequestContext, StandardAuthorizer
from authorizer.api import topic
from authorizer.interface import AuthorizationResults
from metalog.acl import PermissionType
from metalog.errors import AuthorizerNotReady
from metalog.ids import Uuid
from metalog_node.ops.metrics import NOT_READY, UNKNOWN, Condition, CountedAuthorizer, Metrics
from tests.support.worlds.small_acls import allow

CONTEXT = RequestContext("User:app", "127.0.0.1")
READ = Action(Operation.READ, topic("orders"))
DENIED = AuthorizationResult.DENIED
ALLOW = allow("orders", principal=CONTEXT.principal)
DENY = ALLOW._replace(permission_type=PermissionType.DENY)
RULES = ("DefaultDeny", "MatchingAcl", NOT_READY, UNKNOWN)


class ChangedAfterwards(StandardAuthorizer):
    """Calls ``change`` between a decision and its return, as another thread may."""

    change: Callable[[StandardAuthorizer], object] = staticmethod(lambda authorizer: None)

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        results = super().authorize(context, actions)
        self.change(self)
        return results


def loaded() -> ChangedAfterwards:
    authorizer = ChangedAfterwards.configured({"stale.deny.after.ms": "1"})
    assert isinstance(authorizer, ChangedAfterwards)
    authorizer.complete_initial_load()
    return authorizer


def counts_of(authorizer: StandardAuthorizer, *actions: Action) -> dict[str, float]:
    """The counts of one call, which must deny all ``actions``."""
    condition = Condition(True, 0, 0, None, None, {})
    metrics = Metrics(lambda: condition)
    results = CountedAuthorizer(authorizer, metrics).authorize(CONTEXT, actions)
    assert set(results) == {DENIED}
    value = metrics.registry.get_sample_value
    found = {rule: value("metalog_denials_total", {"rule": rule}) for rule in RULES}
    return {rule: count for rule, count in found.items() if count}


def test_a_denial_is_counted_by_its_rule_unless_it_is_not_logged() -> None:
    authorizer = loaded()
    unlogged = Action(Operation.READ, topic("orders"), log_if_denied=False)
    assert counts_of(authorizer, READ, unlogged) == {"DefaultDeny": 1}
    authorizer.add_acl(Uuid(bytes(15) + b"1"), DENY)
    assert counts_of(authorizer, READ, READ) == {"MatchingAcl": 2}


@pytest.mark.parametrize(
    "change",
    [
        lambda authorizer: authorizer.note_staleness(1),
        lambda authorizer: authorizer.add_acl(Uuid(bytes(15) + b"1"), DENY),
        lambda authorizer: authorizer.add_acl(Uuid(bytes(15) + b"2"), ALLOW),
    ],
    ids=["the gate shuts", "another rule denies", "an ACL allows"],
)
def test_a_change_after_the_decision_changes_neither_it_nor_its_rule(
    change: Callable[[StandardAuthorizer], object],
) -> None:
    authorizer = loaded()
    authorizer.change = change
    assert counts_of(authorizer, READ) == {UNKNOWN: 1}


def test_a_call_before_the_load_is_counted_once() -> None:
    metrics = Metrics(lambda: Condition(False, 0, 0, None, None, {}))
    with pytest.raises(AuthorizerNotReady):
        CountedAuthorizer(StandardAuthorizer(), metrics).authorize(CONTEXT, (READ, READ))
    assert metrics.registry.get_sample_value("metalog_denials_total", {"rule": NOT_READY}) == 1
