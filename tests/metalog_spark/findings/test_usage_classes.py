"""The use of ACLs in a window: small cases computed by hand, without Spark."""

from itertools import pairwise
from typing import NamedTuple

from authorizer.history.timeline import AclLifetime, Edge
from metalog.acl import Acl, Operation, ResourceType
from metalog.ids import uuid_text
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes
from metalog_spark.findings.usage.usage_classes import (
    WHY_UNKNOWN,
    Conditions,
    ObservedUse,
    Reason,
    Request,
    UsageState,
    Verdict,
    tally,
    verdicts,
)
from metalog_spark.findings.usage.usage_counts import Counted
from tests.support.worlds.small_acls import BOB, allow, deny, lived

WHOLE = Conditions(
    1_000,
    9_000,
    known_from_ms=1_000,
    is_allowed_seen=True,
    is_any_seen=True,
    is_controller_seen=True,
)


class Traffic(NamedTuple):
    lifetimes: tuple[AclLifetime, ...]
    requests: list[Request]

    def verdict(self, acl: Acl, given: Conditions = WHOLE) -> Verdict:
        lifetimes = AclLifetimes(self.lifetimes)
        said = tally(lifetimes, self.requests)
        [found] = [each for each in verdicts(lifetimes, said, given) if each.acl == acl]
        return found


def read(
    by: AclLifetime | None = None,
    *,
    name: str = "orders",
    result: str = "ALLOWED",
    decided: str | None = None,
    offset: int = 10,
    known: bool = True,
    requests: int = 1,
    us: int = 5_000_000,
) -> Request:
    asked = (BOB, "10.0.0.1", "READ", "TOPIC", name)
    acl_id = None if by is None else uuid_text(by.id)
    answer = result if decided is None else decided
    return Request(asked, result, offset, answer, acl_id, known, requests, us, us + 1)


LITERAL = lived(1, allow("orders"))
PREFIXED = lived(2, allow("ord", prefixed=True))
OTHER = lived(3, allow("payments"))
AGAINST = lived(4, deny("orders"))


def test_what_decides_is_used_and_the_rest_that_match_are_shadowed_by_it() -> None:
    traffic = Traffic(
        (LITERAL, PREFIXED), [read(PREFIXED, requests=7), read(PREFIXED, us=6_000_000)]
    )
    used, beside = traffic.verdict(PREFIXED.acl), traffic.verdict(LITERAL.acl)
    assert (used.observed, used.state) == (ObservedUse.USED, UsageState.USED)
    assert used.uses is not None
    assert used.uses == (8, 5_000_000, 6_000_001)
    assert (beside.observed, beside.state, beside.shadow) == (
        ObservedUse.SHADOWED,
        UsageState.UNUSED,
        PREFIXED.acl,
    )
    assert (beside.matched, beside.can_go) == (8, True)


def test_an_id_means_the_acl_that_has_it_then() -> None:
    handed_on = LITERAL._replace(end=Edge(8, 3_000))
    again, other = lived(7, LITERAL.acl), lived(1, PREFIXED.acl)._replace(begin=Edge(8, 900))
    traffic = Traffic((handed_on, again, other), [read(other)])
    assert traffic.verdict(PREFIXED.acl).observed is ObservedUse.USED
    assert traffic.verdict(LITERAL.acl).observed is ObservedUse.SHADOWED


def test_a_use_is_what_was_decided_and_answered_so_under_the_id_of_then() -> None:
    handed_on, other = LITERAL._replace(end=Edge(8, 3_000)), lived(1, PREFIXED.acl)
    other = other._replace(begin=Edge(8, 3_000))
    lifetimes = AclLifetimes((other, handed_on, OTHER))
    requests = [
        read(handed_on, offset=5, requests=2),
        read(other, requests=3),
        read(other, requests=4, result="DENIED", decided="ALLOWED"),
        read(OTHER, name="payments", known=False),
    ]
    uses = Counted(lifetimes, tally(lifetimes, requests)).uses
    assert {acl: count.requests for acl, count in uses.items()} == {LITERAL.acl: 2, PREFIXED.acl: 3}


def test_what_matches_nothing_is_unused() -> None:
    verdict = Traffic((OTHER, LITERAL), [read(LITERAL)]).verdict(OTHER.acl)
    assert (verdict.observed, verdict.state, verdict.can_go) == (
        ObservedUse.NEVER,
        UsageState.UNUSED,
        True,
    )


def test_an_allow_under_a_deny_only_ever_matched_denied_requests() -> None:
    traffic = Traffic((LITERAL, AGAINST), [read(AGAINST, result="DENIED")])
    assert traffic.verdict(LITERAL.acl).observed is ObservedUse.ONLY_DENIED
    denies = traffic.verdict(AGAINST.acl)
    assert (denies.observed, denies.state, denies.can_go) == (
        ObservedUse.USED,
        UsageState.USED,
        False,
    )


def test_a_super_users_request_uses_no_acl() -> None:
    traffic = Traffic((LITERAL,), [read(None)])
    assert traffic.verdict(LITERAL.acl).observed is ObservedUse.NEVER


def test_what_somebody_did_as_a_super_user_who_is_none_now_leaves_their_acls_in_doubt() -> None:
    traffic = Traffic((LITERAL, OTHER), [read(None)._replace(was_super=True)])
    assert traffic.verdict(LITERAL.acl).reason is Reason.WAS_SUPER
    assert traffic.verdict(OTHER.acl).state is UsageState.UNUSED


def test_an_acl_younger_than_the_window_is_unknown_until_it_is_used() -> None:
    young = LITERAL._replace(begin=Edge(5, 1_001))
    assert Traffic((young,), []).verdict(young.acl).reason is Reason.YOUNGER
    assert Traffic((young,), [read(young)]).verdict(young.acl).state is UsageState.USED
    at_the_edge = LITERAL._replace(begin=Edge(5, 1_000))
    assert Traffic((at_the_edge,), []).verdict(LITERAL.acl).state is UsageState.UNUSED


def test_an_acl_of_unknown_age_is_unknown_where_the_log_begins_within_the_window() -> None:
    """A snapshot shows the ACLs of its time, not their age: it may be a minute."""
    traffic = Traffic((LITERAL,), [])
    assert traffic.verdict(LITERAL.acl).can_go
    for begins in (1_001, None):
        late = WHOLE._replace(known_from_ms=begins)
        assert traffic.verdict(LITERAL.acl, late).reason is Reason.YOUNGER
        seen = Traffic((LITERAL,), [read(LITERAL)]).verdict(LITERAL.acl, late)
        assert seen.state is UsageState.USED
    dated = LITERAL._replace(begin=Edge(5, 1_000))
    nowhere = WHOLE._replace(known_from_ms=None)
    assert Traffic((dated,), []).verdict(LITERAL.acl, nowhere).can_go


def test_two_lives_that_leave_a_hole_do_not_last_through() -> None:
    first = LITERAL._replace(begin=None, end=Edge(6, 5_000))
    second = lived(9, LITERAL.acl)._replace(begin=Edge(7, 5_001))
    assert Traffic((first, second), []).verdict(LITERAL.acl).reason is Reason.YOUNGER


def test_an_acl_that_ended_before_the_window_or_begins_after_it_has_no_verdict() -> None:
    gone = LITERAL._replace(end=Edge(6, 1_000))
    to_come = OTHER._replace(begin=Edge(6, 9_000))
    lifetimes = AclLifetimes((gone, to_come))
    assert list(verdicts(lifetimes, {}, WHOLE)) == []


def test_where_lines_are_missing_nothing_is_unused() -> None:
    dark = WHOLE._replace(is_allowed_seen=False)
    traffic = Traffic((LITERAL, OTHER, AGAINST), [read(LITERAL, result="DENIED", known=False)])
    assert traffic.verdict(OTHER.acl, dark).reason is Reason.COVERAGE
    assert traffic.verdict(OTHER.acl, dark).state is UsageState.UNKNOWN
    idle = Traffic((AGAINST,), [])
    assert idle.verdict(AGAINST.acl, dark).state is UsageState.UNUSED
    assert idle.verdict(AGAINST.acl, dark._replace(is_any_seen=False)).reason is Reason.COVERAGE


def test_without_a_controllers_log_only_what_brokers_decide_is_known() -> None:
    """Kafka 4.3.1: for topics a broker decides READ, WRITE and DESCRIBE alone, and forwards
    creation, changes and deletion; a use that brokers logged is one, whatever else is not
    logged."""
    unled = WHOLE._replace(is_controller_seen=False)
    cluster = {"kind": ResourceType.CLUSTER}
    hidden = [
        allow("orders", Operation.CREATE),
        allow("orders", Operation.ALL),
        allow("orders", Operation.ALTER_CONFIGS),
        allow("kafka-cluster", Operation.ALTER, **cluster),
        allow("g", Operation.ALTER_CONFIGS, kind=ResourceType.GROUP),
        deny("orders", Operation.DELETE),
    ]
    told = [
        allow("orders", Operation.WRITE),
        allow("orders", Operation.DESCRIBE),
        allow("kafka-cluster", Operation.IDEMPOTENT_WRITE, **cluster),
        allow("g", kind=ResourceType.GROUP),
        allow("t", Operation.ALL, kind=ResourceType.TRANSACTIONAL_ID),
    ]
    lifetimes = tuple(lived(number, acl) for number, acl in enumerate((*hidden, *told)))
    traffic = Traffic(lifetimes, [read(lifetimes[1])])
    for acl in (*hidden, *told):
        assert traffic.verdict(acl).state is not UsageState.UNKNOWN
        found = traffic.verdict(acl, unled)
        assert found.is_hidden is (acl in hidden)
        used = acl == hidden[1]
        assert found.reason is (Reason.CONTROLLER if acl in hidden and not used else None)
        assert found.can_go is (acl in told)


def test_a_gap_leaves_in_doubt_just_what_its_requests_could_have_used() -> None:
    traffic = Traffic((LITERAL, OTHER), [read(None, known=False, decided="DENIED")])
    assert traffic.verdict(LITERAL.acl).reason is Reason.GAP
    assert traffic.verdict(OTHER.acl).state is UsageState.UNUSED


def test_what_waits_leaves_in_doubt_just_what_may_decide_it() -> None:
    waits = read(None)._replace(waits=True)
    traffic = Traffic((LITERAL, AGAINST, OTHER), [waits])
    assert traffic.verdict(LITERAL.acl).reason is Reason.WAITS
    assert traffic.verdict(OTHER.acl).can_go
    assert traffic.verdict(AGAINST.acl).state is UsageState.UNUSED
    denied = Traffic((LITERAL, AGAINST), [waits._replace(result="DENIED")])
    assert denied.verdict(AGAINST.acl).reason is Reason.WAITS
    assert denied.verdict(LITERAL.acl).can_go
    assert Traffic((LITERAL,), [waits, read(LITERAL)]).verdict(LITERAL.acl).state is UsageState.USED


def test_a_broker_that_answers_otherwise_leaves_what_matches_in_doubt() -> None:
    traffic = Traffic((LITERAL, OTHER), [read(None, result="ALLOWED", decided="DENIED")])
    assert traffic.verdict(LITERAL.acl).reason is Reason.DISAGREES
    assert traffic.verdict(OTHER.acl).state is UsageState.UNUSED
    late = Traffic((LITERAL, OTHER), [read(LITERAL, result="DENIED", decided="ALLOWED")])
    assert late.verdict(LITERAL.acl).reason is Reason.DISAGREES
    assert late.verdict(OTHER.acl).state is UsageState.UNUSED


def test_what_a_vanished_acl_stood_in_for_is_not_unused() -> None:
    gone = PREFIXED._replace(end=Edge(20, 8_000))
    verdict = Traffic((LITERAL, gone), [read(gone)]).verdict(LITERAL.acl)
    assert (verdict.observed, verdict.reason) == (ObservedUse.SHADOWED, Reason.SHADOW_GONE)


def test_what_a_vanished_deny_held_back_is_not_unused() -> None:
    gone = AGAINST._replace(end=Edge(20, 8_000))
    denied = [read(AGAINST, result="DENIED")]
    verdict = Traffic((LITERAL, gone), denied).verdict(LITERAL.acl)
    assert (verdict.observed, verdict.reason) == (ObservedUse.ONLY_DENIED, Reason.SHADOW_GONE)
    assert Traffic((LITERAL, AGAINST), denied).verdict(LITERAL.acl).can_go


def test_an_acl_not_yet_in_force_at_the_request_is_not_beside_it() -> None:
    later = LITERAL._replace(begin=Edge(11, 900))
    verdict = Traffic((later, PREFIXED), [read(PREFIXED, offset=10)]).verdict(later.acl)
    assert verdict.observed is ObservedUse.NEVER
    assert (
        Traffic((later, PREFIXED), [read(PREFIXED, offset=11)]).verdict(later.acl).observed
        is ObservedUse.SHADOWED
    )


def test_where_everyone_may_what_no_acl_reaches_nothing_can_go() -> None:
    verdict = Traffic((OTHER,), []).verdict(OTHER.acl, WHOLE._replace(allow_everyone=True))
    assert verdict.reason is Reason.OPENS


def test_parts_add_up_however_the_traffic_is_cut() -> None:
    requests = [read(PREFIXED, us=us * 1_000_000, requests=us) for us in range(1, 9)] + [
        read(AGAINST, result="DENIED", offset=12),
        read(None, name="nothing"),
    ]
    lifetimes = AclLifetimes((LITERAL, PREFIXED, AGAINST))
    whole = tally(lifetimes, requests)
    for cut in range(len(requests)):
        parts = [tally(lifetimes, requests[:cut]), tally(lifetimes, requests[cut:])]
        joined = dict(parts[0])
        for key, count in parts[1].items():
            joined[key] = joined[key].plus(count) if key in joined else count
        assert joined == whole


def test_the_operation_of_an_allow_implies_others() -> None:
    describe = ((BOB, "h", "DESCRIBE", "TOPIC", "orders"), (BOB, "h", "WRITE", "TOPIC", "orders"))
    lifetimes = AclLifetimes((LITERAL, lived(5, allow("orders", operation=Operation.DESCRIBE))))
    assert [len(lifetimes.could_match(asked)) for asked in describe] == [2, 0]
    assert all(one <= two for one, two in pairwise(sorted(lifetimes.acls)))


def test_each_reason_has_its_words() -> None:
    assert list(WHY_UNKNOWN) == list(Reason)
    assert len({*WHY_UNKNOWN.values()}) == len(Reason)
