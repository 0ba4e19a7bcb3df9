"""The demo company: teams, their topics, and the services that read and write them.

Half of the topics are named ``team.entity.v1``, most services ``team-role``. A service's principal
has the service's name or, if the service logs in with a certificate, a distinguished name. This
module must not know ACLs.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from metalog_spark.demo.calendar import DAYS

COMPANY: Final = "Fernhill Books"
TEAMS: Final = {
    "orders": ("placed", "cancelled", "returns", "baskets"),
    "payments": ("charges", "refunds", "cards", "payouts"),
    "catalog": ("products", "prices", "images"),
    "stock": ("levels", "movements", "suppliers"),
    "shipping": ("parcels", "labels", "tracking"),
    "customers": ("profiles", "consents", "sessions"),
    "search": ("clicks", "index"),
    "marketing": ("campaigns", "newsletters"),
    "fraud": ("scores", "cases"),
    "analytics": ("events", "reports"),
    "support": ("tickets", "chats"),
    "platform": ("audit", "metrics", "config"),
    "finance": ("ledger", "taxes"),
    "loyalty": ("points", "vouchers"),
    "content": ("pages", "reviews"),
    "warehouse": ("picks", "counts", "dispatches"),
}
_ROLES: Final = ("api", "worker", "projector", "exporter", "sync", "notifier", "reporter")
_WITH_CERTIFICATES: Final = ("fraud", "payments")
TILLS: Final = tuple(f"shops.till-{number:02d}.sales" for number in range(1, 41))
UNPROTECTED: Final = ("intranet.news.v1", "intranet.menu.v1")
"""Topics without ACLs at first, to which allow.everyone.if.no.acl.found allows access."""
MOVED: Final = (
    "orders.placed.v1",
    "payments.charges.v1",
    "catalog.products.v1",
    "customers.profiles.v1",
)
"""Topics whose clients migrate to a second version, ``.v2``."""
_SHARE_STARTING_LATER: Final = 0.35
_SHARE_ENDING_EARLY: Final = 0.12


class Service(NamedTuple):
    """A service. Its ACLs allow all topics in ``reads``. It reads only the first ``used`` topics.

    The service runs from day ``begins`` of the year to day ``ends`` (exclusive).
    """

    name: str
    team: str
    principal: str
    hosts: tuple[str, ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    used: int
    is_transactional: bool = False
    begins: int = 0
    ends: int = DAYS

    @property
    def group(self) -> str:
        return f"{self.name}.consumers"

    @property
    def transactional_id(self) -> str:
        return f"{self.name}-tx"

    @property
    def has_certificate(self) -> bool:
        return "," in self.principal


TRACKER: Final = Service(
    "shipping-tracker",
    "shipping",
    "User:shipping-tracker",
    ("10.20.4.17", "10.20.4.18"),
    ("shipping.tracking.v1",),
    ("orders.placed.v1",),
    1,
)
LOADER: Final = Service(
    "analytics-loader",
    "analytics",
    "User:analytics-loader",
    ("10.20.9.30",),
    ("analytics.events.v1",),
    ("payments.charges.v1", "customers.sessions.v1"),
    2,
)
TILL_COLLECTOR: Final = Service(
    "shops-collector", "shops", "User:shops-collector", ("10.20.13.5",), (), TILLS, len(TILLS)
)
INTRANET: Final = Service(
    "intranet-web", "platform", "User:intranet-web", ("10.20.12.80",), UNPROTECTED[:1], (), 0
)


def topic(team: str, entity: str) -> str:
    return f"{team}.{entity}.v1"


def topics() -> list[str]:
    """All topics the company ever had."""
    first = [topic(team, entity) for team, entities in TEAMS.items() for entity in entities]
    return [*first, *TILLS, *UNPROTECTED, *(f"{first[:-1]}2" for first in MOVED)]


def all_services(random: Random) -> list[Service]:
    """Four fixed services, and random services."""
    named = [TRACKER, LOADER, TILL_COLLECTOR, INTRANET]
    everything = [topic(team, entity) for team, entities in TEAMS.items() for entity in entities]
    drawn = [
        _service(random, subnet, team, role, everything)
        for subnet, team in enumerate(TEAMS, 1)
        for role in _ROLES
    ]
    return [*named, *drawn]


def _service(random: Random, subnet: int, team: str, role: str, everything: list[str]) -> Service:
    name = f"{team}-{role}"
    own = [topic(team, entity) for entity in TEAMS[team]]
    reads = dict.fromkeys(random.sample(everything, random.randint(1, 4)))
    begins = 0 if random.random() >= _SHARE_STARTING_LATER else random.randrange(10, 300)
    leaves = random.random() < _SHARE_ENDING_EARLY
    return Service(
        name,
        team,
        f"User:{name}"
        if team not in _WITH_CERTIFICATES
        else f"User:CN={name},OU={team},O={COMPANY},C=IE",
        tuple(f"10.20.{subnet}.{random.randrange(20, 250)}" for _ in range(random.randint(1, 3))),
        tuple(random.sample(own, random.randint(1, 2))) if role != "exporter" else (),
        tuple(reads),
        random.randint(1, len(reads)),
        is_transactional=role == "worker" and random.random() < 0.6,
        begins=begins,
        ends=random.randrange(begins + 30, DAYS) if leaves else DAYS,
    )
