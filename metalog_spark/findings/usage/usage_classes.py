"""Classifies ACLs by their use in a window.

If several ACLs match a request, only the ACL that decides counts as used. This module must not know
Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from authorizer.history.timeline import AclLifetime
from authorizer.trace import is_allow
from metalog.acl import Acl
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes, RequestKey
from metalog_spark.ingest.controllers import controller_can_decide_by

ALLOWED: Final = "ALLOWED"
NOBODY: Final = -1


class ObservedUse(Enum):
    USED = "USED"
    """The ACL decided at least one request."""
    SHADOWED = "SHADOWED"
    """Other ACLs decided all known requests that the ACL matches. At least one of these
    decisions agrees with the ACL."""
    ONLY_DENIED = "ONLY_DENIED"
    """DENYs decided all known requests that this ALLOW matches."""
    NEVER = "NEVER"
    """The ACL matches no request of which the deciding ACL is certain."""


class UsageState(Enum):
    USED = "USED"
    UNUSED = "UNUSED"
    UNKNOWN = "UNKNOWN"


class Reason(Enum):
    """Why the use of an ACL is unknown. If several reasons apply, the first member counts.
    ``WHY_UNKNOWN`` explains the members."""

    YOUNGER = "YOUNGER"
    GAP = "GAP"
    WAITS = "WAITS"
    AMBIGUOUS = "AMBIGUOUS"
    DISAGREES = "DISAGREES"
    WAS_SUPER = "WAS_SUPER"
    SHADOW_GONE = "SHADOW_GONE"
    COVERAGE = "COVERAGE"
    CONTROLLER = "CONTROLLER"
    OPENS = "OPENS"
    """With allow.everyone.if.no.acl.found, a name that loses its last ACL is open to everyone."""
    UNLOGGED = "UNLOGGED"
    """If this ACL and all unused ACLs were removed, a client could not start an idempotent
    producer. Kafka does not log this client's starts."""


WHY_UNKNOWN: Final[Mapping[Reason, str]] = {
    Reason.YOUNGER: "it was perhaps not in force during the whole window",
    Reason.GAP: "it can have decided requests in a gap of the metadata log",
    Reason.WAITS: "requests that wait for the log, or are not counted yet, can be its uses",
    Reason.AMBIGUOUS: "ambiguous lines, or half lines, can be its uses",
    Reason.DISAGREES: "brokers and the log disagree about requests that it matches",
    Reason.WAS_SUPER: "a former super user sent requests that it matches",
    Reason.SHADOW_GONE: "an ACL that decided in its place is gone",
    Reason.COVERAGE: "some hours lack the lines that would show its use",
    Reason.CONTROLLER: (
        "only controllers log its operation, and their log is missing for some hours"
    ),
    Reason.OPENS: "with allow.everyone.if.no.acl.found, resources without ACLs are open",
    Reason.UNLOGGED: "an idempotent producer can need it, and its start leaves no audit line",
}
"""What the report says after "unknown:", and ``metalog pipeline unused`` after "Not known:"."""


class UsageKind(Enum):
    """What a request shows about an ACL that matches it.

    ``BESIDE``: another ACL decided, and this ACL agrees with the answer. ``OVERRIDDEN``: a DENY
    decided, and this ACL is an ALLOW. ``GAP`` and the members after it: it is uncertain which ACL
    decided, or would decide now.
    """

    DECIDED = 0
    BESIDE = 1
    OVERRIDDEN = 2
    GAP = 3
    DISAGREES = 4
    WAS_SUPER = 5
    WAITS = 6
    POSSIBLE = 7


class Request(NamedTuple):
    """Equal requests. ``result`` is the broker's answer, ``decided`` our decision.

    ``was_super``: the principal was a super user and is not one today. Requests with ``waits``
    or ``possible`` have no decision. ``begins`` is as in ``AclLifetimes.could_match``.
    """

    key: RequestKey
    result: str
    log_offset: int
    decided: str
    acl_id: str | None
    known: bool
    requests: int
    first_us: int
    last_us: int
    was_super: bool = False
    waits: bool = False
    possible: bool = False
    begins: bool = False


Key = tuple[int, UsageKind, int]
"""An ACL's number, the kind of use, and the number of the deciding ACL or NOBODY."""


class Count(NamedTuple):
    requests: int
    first_us: int
    last_us: int

    def plus(self, other: Count) -> Count:
        return Count(
            self.requests + other.requests,
            min(self.first_us, other.first_us),
            max(self.last_us, other.last_us),
        )


Tally = dict[Key, Count]


def tally(lifetimes: AclLifetimes, requests: Iterable[Request]) -> Tally:
    """Counts for each ACL that matches one of ``requests``."""
    totals: Tally = {}
    for request in requests:
        count = Count(request.requests, request.first_us, request.last_us)
        for key in _usages(lifetimes, request):
            before = totals.get(key)
            totals[key] = count if before is None else before.plus(count)
    return totals


def _usages(lifetimes: AclLifetimes, request: Request) -> Iterator[Key]:
    allowed = request.result == ALLOWED
    doubt = _doubt(request)
    if doubt is not None:
        for acl in lifetimes.could_match(request.key, begins=request.begins):
            if is_allow(acl) is allowed or doubt is UsageKind.DISAGREES:
                yield lifetimes.number(acl), doubt, NOBODY
        return
    if request.acl_id is None:
        return
    matching = lifetimes.matching(request.key, request.log_offset)
    decider = lifetimes.acl_with_id(request.acl_id, matching, request.log_offset)
    by = NOBODY if decider is None else lifetimes.number(decider)
    for acl in matching:
        if acl is decider:
            yield by, UsageKind.DECIDED, by
        elif is_allow(acl) is allowed:
            yield lifetimes.number(acl), UsageKind.BESIDE, by
        else:
            yield lifetimes.number(acl), UsageKind.OVERRIDDEN, by


def _doubt(request: Request) -> UsageKind | None:
    if request.possible:
        return UsageKind.POSSIBLE
    if request.waits:
        return UsageKind.WAITS
    if not request.known:
        return UsageKind.GAP
    if request.decided != request.result:
        return UsageKind.DISAGREES
    return UsageKind.WAS_SUPER if request.was_super else None


class Verdict(NamedTuple):
    """``uses`` is None if the ACL decided no request. ``matched`` counts the requests that the ACL
    matches and whose deciding ACL is certain. ``shadow`` is, among the ACLs that agree with a
    SHADOWED ACL, the one that most often decided instead. ``is_hidden``: the missing log of a
    controller can have uses of the ACL."""

    acl: Acl
    lifetimes: tuple[AclLifetime, ...]
    observed: ObservedUse
    state: UsageState
    reason: Reason | None
    uses: Count | None
    matched: int
    is_hidden: bool
    shadow: Acl | None = None

    @property
    def is_alive(self) -> bool:
        return any(lifetime.end is None for lifetime in self.lifetimes)

    @property
    def can_go(self) -> bool:
        """Whether the ACL is an unused ALLOW in force."""
        return self.is_alive and self.state is UsageState.UNUSED and is_allow(self.acl)


class Conditions(NamedTuple):
    """The facts about the window.

    ``known_from_ms``: the time at which ACLs with an unknown start were certainly in force, or
    None. ``is_allowed_seen``: there are lines of allowed requests for enough hours.
    ``is_any_seen``: the same for lines of any kind. ``is_controller_seen``: the same for allowed
    lines of a controller.
    """

    start_ms: int
    end_ms: int
    known_from_ms: int | None
    is_allowed_seen: bool
    is_any_seen: bool
    is_controller_seen: bool
    allow_everyone: bool = False


def verdicts(lifetimes: AclLifetimes, counts: Tally, conditions: Conditions) -> Iterator[Verdict]:
    """A verdict for each ACL in force at some time in the window."""
    by_acl: dict[int, dict[tuple[UsageKind, int], Count]] = {}
    for (number, kind, by), count in counts.items():
        by_acl.setdefault(number, {})[kind, by] = count
    for acl, own in lifetimes.by_acl.items():
        inside = tuple(lifetime for lifetime in own if _overlaps(lifetime, conditions))
        if inside:
            yield _verdict(
                lifetimes, acl, inside, by_acl.get(lifetimes.number(acl), {}), conditions
            )


def _verdict(
    lifetimes: AclLifetimes,
    acl: Acl,
    own: tuple[AclLifetime, ...],
    counts: Mapping[tuple[UsageKind, int], Count],
    conditions: Conditions,
) -> Verdict:
    kinds = {kind for kind, _ in counts}
    uses = next((count for (kind, _), count in counts.items() if kind is UsageKind.DECIDED), None)
    shadows = {
        by: count.requests for (kind, by), count in counts.items() if kind is UsageKind.BESIDE
    }
    known = (UsageKind.DECIDED, UsageKind.BESIDE, UsageKind.OVERRIDDEN)
    matched = sum(count.requests for (kind, _), count in counts.items() if kind in known)
    shadow = None
    if uses is not None:
        observed = ObservedUse.USED
    elif shadows:
        observed = ObservedUse.SHADOWED
        most = max(shadows, key=lambda by: (shadows[by], -by))
        shadow = None if most == NOBODY else lifetimes.acls[most]
    else:
        observed = ObservedUse.ONLY_DENIED if UsageKind.OVERRIDDEN in kinds else ObservedUse.NEVER
    instead = {by for kind, by in counts if kind in (UsageKind.BESIDE, UsageKind.OVERRIDDEN)}
    gone = any(by == NOBODY or not lifetimes.is_alive(lifetimes.acls[by], None) for by in instead)
    hidden = not conditions.is_controller_seen and controller_can_decide_by(acl)
    reason = None if uses is not None else _reason(acl, own, kinds, gone, hidden, conditions)
    state = (
        UsageState.USED if uses is not None else UsageState.UNKNOWN if reason else UsageState.UNUSED
    )
    return Verdict(acl, own, observed, state, reason, uses, matched, hidden, shadow)


def _reason(
    acl: Acl,
    own: tuple[AclLifetime, ...],
    kinds: set[UsageKind],
    is_shadow_gone: bool,
    is_hidden: bool,
    conditions: Conditions,
) -> Reason | None:
    is_seen = conditions.is_allowed_seen if is_allow(acl) else conditions.is_any_seen
    reasons = {
        Reason.YOUNGER: not lasts(own, *conditions[:3]),
        Reason.GAP: UsageKind.GAP in kinds,
        Reason.WAITS: UsageKind.WAITS in kinds,
        Reason.AMBIGUOUS: UsageKind.POSSIBLE in kinds,
        Reason.DISAGREES: UsageKind.DISAGREES in kinds,
        Reason.WAS_SUPER: UsageKind.WAS_SUPER in kinds,
        Reason.SHADOW_GONE: is_shadow_gone,
        Reason.COVERAGE: not is_seen,
        Reason.CONTROLLER: is_hidden,
        Reason.OPENS: conditions.allow_everyone,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _overlaps(lifetime: AclLifetime, conditions: Conditions) -> bool:
    begun = lifetime.begin is None or lifetime.begin.time_ms < conditions.end_ms
    return begun and (lifetime.end is None or lifetime.end.time_ms > conditions.start_ms)


def lasts(
    own: Iterable[AclLifetime], start_ms: int, end_ms: int, known_from_ms: int | None
) -> bool:
    """Whether a single lifetime of an ACL certainly covers the whole window."""
    for lifetime in own:
        begin_ms = known_from_ms if lifetime.begin is None else lifetime.begin.time_ms
        is_there = begin_ms is not None and begin_ms <= start_ms
        if is_there and (lifetime.end is None or lifetime.end.time_ms >= end_ms):
            return True
    return False
