"""Makes the workloads for measuring both sides: ACL sets, requests and a log.

The files are the same on every machine, and their SHA-256 sums are checked. Random numbers come
from SplitMix64. Names and shapes are those of Kafka's own AuthorizerBenchmark, and of more cases.

``python bench/workloads.py`` writes them to build/bench. Nothing here measures.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "build" / "bench"

RESOURCES = 50_000
ACLS_A_RESOURCE = 10
SMALL_RESOURCES = 100
REQUESTS = 100_000
REPLAY_BATCHES = 1_000
REPLAY_BATCH_RECORDS = 1_000
REPLAY_TIME_MS = 1_700_000_000_000
ID_SEED = 0x1D5
PREFIX = "foo-bar35_resource-"
CLIENT = "127.0.0.1"
CLIENTS = 100_000
TEAMS = 500
STREAMS = 20_000
SERVICES = 1_000
PAGE_TOPICS = 504
PORTAL = "User:portal"
DEVICES = 60_000
PLANTS = 800
DOMAIN_ACLS = 120_000
TABLES = 1_500
_MASK = (1 << 64) - 1

SUMS = {
    "blocks.acls.tsv": "4c3df2a800cb2334e84ffccfeec92c29d59c1d00238f9e691b67530a4e205969",
    "bench.acls.tsv": "47c310235beb5c97bfee2699ec2d1fed21032e372050115343992d2d1bffd536",
    "chain.acls.tsv": "a33b8ce6451c0a471a6bea7f67f30e12560fc3b16df28aba12ddce198068e4f6",
    "chain.requests.tsv": "19f24438082fb8c487153cf010889ce4e5e237583ad672a69af0f02404dbc9ee",
    "hot.requests.tsv": "77bf2192f6fc776b3ee4a071d2d86bc4502361356c58e89033c8a936ebea7c99",
    "load.acls.tsv": "4bc87f046eb977c06aa65fa927d03df0cecb57a596f5ea9387210c661c850862",
    "long.acls.tsv": "5d5d56bfa12e255e66fdde0e425eef776e967a013b680ca6271ef28d8d001d8b",
    "long.requests.tsv": "6f087267b3f9ce161ff23fb52cb62c9b439ebe3692d8f90c2bba00b54fc2c3a9",
    "miss.requests.tsv": "d8b04448af5880b994423ad7cab9fe07f78ff46a0c63ce28a9822c5d1a5c8eb1",
    "nested.acls.tsv": "2ffd3c4b65da3821ee94fe3d1895d0accf1b8d8a16f6058d678eb02cbad8c636",
    "nested.requests.tsv": "5fbaa406274e3a4ec1de3357f7d1d65cb17ee67a4fd01bb292827913509ce9df",
    "one.acls.tsv": "f308ae9b670f9bc822beb95973b64bd8b2612dc62acd6fc4eeb798b4b12be403",
    "one.requests.tsv": "b736ac89d0ba33888c26549df3ebbf250e1eb0ccec8407bf2304141a53eba698",
    "plain.acls.tsv": "5ac3e21dfb67daa3fbc8ad1aeaea2e668d3b454070b07babed25fbebf0c6970b",
    "uniform.requests.tsv": "7e7cacf14ad94f211bfbc7882ac374a9533fa992c6f89534b199269b9b2f9265",
    "zipf.requests.tsv": "7f9fb015ff4950addf9006332d6124664c56b14ea4ddcd82907b838edd495e0d",
    "fleet.acls.tsv": "9d6c10797b7d10a3821e6d5380cfcea04cd34e2c770213f1c4c6dce66e2e7c75",
    "fleet.requests.tsv": "c2f7fa101beca0325dcc66b0d1626b56848ec50248cbf95d488fd593f0d4e108",
    "churn.acls.tsv": "3baf3f2c4c65e243028c463a55f856f0b40ea2d121a73f0d76db8ec68f2f275c",
    "churn.requests.tsv": "9b5052c852ecce12ca44b4cea1382901ad3bc284d18fd137bb9b5200370c0e2d",
    "page.acls.tsv": "f43425930c8a6dba5103c8d9e1890be4179e542ff51ff57116d364c4dd1a7d36",
    "page.requests.tsv": "657ba43e3bd66fa76d4e0549d1389e84204a9d73faa62370c297454cad112836",
    "sensors.acls.tsv": "6c35a51b13acbad80bcc8928a6bee1ca86daf5c002e6dadb5add42d31f6ea10b",
    "sensors.requests.tsv": "77528545bb5863928bb4284b76cc56190668ce520aeb9ed025c11e85a696761c",
    "domains.acls.tsv": "f6be58e6baff559b46fe2efcc21636adaf52200b45c32db645731aa455fd437b",
    "domains.requests.tsv": "835f5b599fa45625829e916d16aaa386922ad4cd30e2c7417981f2e676b86653",
    "tables.acls.tsv": "d3fed8013e5a54183d30c063042cf3529ce61d4091f98a28712fb1bd0fa08aa6",
    "tables.requests.tsv": "a638bfb9dda0b48929b5498303abc21669e84c74cb28f3d84529d23a7c199324",
    "replay.log": "068259211bde833b45969e7d0ff69a8d26b3f577336d6d7e097f1ceca2f5bae7",
}


class Grant(NamedTuple):
    """An ACL; its fields are the columns of an ``.acls.tsv`` after the id."""

    resource_type: str
    name: str
    pattern_type: str
    principal: str
    host: str = "*"
    operation: str = "READ"
    permission_type: str = "ALLOW"


class WorkloadRequest(NamedTuple):
    principal: str
    operation: str
    resource_type: str
    name: str
    host: str = CLIENT

    @property
    def columns(self) -> tuple[str, ...]:
        return self.principal, self.host, self.resource_type, self.name, self.operation


class SplitMix64:
    """The generator of Steele, Lea and Flood: 64 bits at a time from a seed."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def next(self) -> int:
        self._state = z = self._state + 0x9E3779B97F4A7C15 & _MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
        return z ^ z >> 31

    def below(self, bound: int) -> int:
        return (self.next() >> 33) % bound

    def unit(self) -> float:
        return (self.next() >> 11) * 2.0**-53


def ids() -> Iterator[bytes]:
    """The id of each ACL by number, the same in every set."""
    random = SplitMix64(ID_SEED)
    while True:
        yield (random.next() << 64 | random.next()).to_bytes(16, "big")


def user(number: int) -> str:
    return f"User:test-user{number or ''}"


def resource_type(i: int) -> str:
    return "GROUP" if i % 10 == 0 else "TOPIC"


def pattern_type(i: int) -> str:
    return "PREFIXED" if i % 5 == 0 else "LITERAL"


def long_name(i: int) -> str:
    return f"team-{i % 500:03d}.{'segment.' * 24}"[:190] + f"-{i:09d}"


def _grants(resources: int) -> Iterator[Grant]:
    for i in range(resources):
        for a in range(ACLS_A_RESOURCE):
            yield Grant(resource_type(i), f"{PREFIX}{i}", pattern_type(i), user(a))


def _bench(wildcards: int) -> Iterator[Grant]:
    yield from _grants(RESOURCES)
    for h in range(10):
        yield Grant("TOPIC", PREFIX, "PREFIXED", user(0), f"127.0.0.{h}")
    for h in range(wildcards):
        yield Grant("TOPIC", "*", "LITERAL", user(0), f"127.0.0{h}")


def _long() -> Iterator[Grant]:
    for t in range(500):
        yield Grant("TOPIC", f"team-{t:03d}.", "PREFIXED", user(0))
    for i in range(RESOURCES):
        yield Grant("TOPIC", long_name(i), "LITERAL" if i % 10 else "PREFIXED", user(i % 2))


def _nested() -> Iterator[Grant]:
    for r in range(625):
        for d in range(1, 41):
            yield Grant("TOPIC", f"r{r:04d}-{'m' * d}", "PREFIXED", user(0))
            yield Grant("TOPIC", f"r{r:04d}-{'m' * (d - 1)}a", "PREFIXED", user(0))


def _chain() -> Iterator[Grant]:
    for r in range(1_250):
        for d in range(1, 41):
            yield Grant("TOPIC", f"r{r:04d}-{'m' * d}", "PREFIXED", user(0))


def _one() -> Iterator[Grant]:
    return (Grant("TOPIC", "one", "LITERAL", f"User:user-{u}") for u in range(50_000))


def _blocks() -> Iterator[Grant]:
    """``plain``, except that a tenth of the ACLs have CIDR blocks; every request matches their
    patterns."""
    for grant in _bench(1):
        if grant.principal != user(0) or grant.host != "*":
            yield grant
            continue
        i = int(grant.name.removeprefix(PREFIX))
        inside, outside = f"127.0.0.0/{8 + i % 17}", f"10.{i >> 8}.{i & 255}.0/{16 + i % 9}"
        yield grant._replace(host=inside if i % 2 else outside)


def certificate(client: int) -> str:
    """The principal of a client of a large fleet: an X.509 subject as Kafka writes it."""
    return (
        f"User:CN=client-{client:06d}.apps.example.com,OU=team-{client % TEAMS:03d},"
        "O=Example Corporation,L=Berlin,C=DE"
    )


def _team_topic(team: int, number: int) -> str:
    return f"team-{team:03d}.{'public' if number < 3 else 'orders'}.{number}"


def _fleet() -> Iterator[Grant]:
    """14,500 ACLs: three prefixes for each team, and 26 grants on its ten topics, a few of them
    DENYs."""
    random = SplitMix64(21)
    for team in range(TEAMS):
        yield Grant("TOPIC", f"team-{team:03d}.", "PREFIXED", certificate(team), "*", "ALL")
        yield Grant("TOPIC", f"team-{team:03d}.public.", "PREFIXED", "User:*")
        yield Grant("GROUP", f"team-{team:03d}.", "PREFIXED", "User:*")
    for i in range(26 * TEAMS):
        topic = _team_topic(i % TEAMS, i // TEAMS % 10)
        client = certificate(random.below(CLIENTS))
        operation, permission = ("READ", "WRITE")[i & 1], "ALLOW" if i % 50 else "DENY"
        yield Grant("TOPIC", topic, "LITERAL", client, "*", operation, permission)


def _stream(i: int) -> str:
    return f"app-{i % 397:03d}.stream-{i}"


def _churn() -> Iterator[Grant]:
    """200,000 ACLs on 20,000 resources, a fifth of them prefixes."""
    for i in range(STREAMS):
        for a in range(ACLS_A_RESOURCE):
            service = f"User:service-{(ACLS_A_RESOURCE * i + a) % SERVICES}"
            yield Grant(resource_type(i), _stream(i), pattern_type(i), service)


def _page_topic(i: int) -> str:
    return f"team-{i % 40:02d}.orders.topic-{i:04d}"


def _page() -> Iterator[Grant]:
    """5,800 ACLs: ten on each of 504 topics, one of them for the portal, and 760 prefixes."""
    operations = ("DESCRIBE", "READ", "WRITE")
    for i in range(PAGE_TOPICS):
        yield Grant("TOPIC", _page_topic(i), "LITERAL", PORTAL, "*", operations[i % 3])
        for a in range(9):
            service = f"User:service-{(9 * i + a) % 300}"
            yield Grant("TOPIC", _page_topic(i), "LITERAL", service, "*", operations[a % 3])
    for i in range(760):
        prefix = f"team-{i % 40:02d}.{'orders.' if i % 7 else ''}{i // 40 or ''}"
        yield Grant("TOPIC", prefix, "PREFIXED", f"User:service-{i % 300}")


def _device(i: int) -> str:
    return f"User:CN={i:x}.edge.example.net,OU=iot-{i % 37},O=Devices,C=SE"


def _sensors() -> Iterator[Grant]:
    """Up to 13,800 ACLs of devices on lines and sensors of plants; most sensors have none."""
    random = SplitMix64(77)
    for i in range(5 * PLANTS):
        line = f"plant-{i % PLANTS}/line-{i // PLANTS}"
        operation = ("READ", "WRITE", "DESCRIBE")[i % 3]
        pattern = "PREFIXED" if i % 3 else "LITERAL"
        yield Grant("TOPIC", line, pattern, _device(random.below(DEVICES)), "*", operation)
    for i in range(PLANTS):
        yield Grant("TOPIC", f"plant-{i}/", "PREFIXED", "User:*", "*", "DESCRIBE")
    for i in range(9_000):
        name, permission = _sensor(random), "ALLOW" if i % 30 else "DENY"
        device = _device(random.below(DEVICES))
        yield Grant("TOPIC", name, "LITERAL", device, "*", "WRITE", permission)


def _sensor(random: SplitMix64) -> str:
    plant, line, number = random.below(PLANTS), random.below(5), random.below(20)
    return f"plant-{plant}/line-{line}/sensor-{number}"


def _domain(i: int) -> str:
    return f"dom{i % 211}.svc{i // 12}.events"


def _domains() -> Iterator[Grant]:
    """120,000 ACLs of 5,000 users, one per name; a few are prefixes or DENYs."""
    for i in range(DOMAIN_ACLS):
        pattern, operation = "LITERAL" if i % 7 else "PREFIXED", "WRITE" if i % 2 else "READ"
        permission = "ALLOW" if i % 40 else "DENY"
        yield Grant("TOPIC", _domain(i), pattern, f"User:u{i % 5000}", "*", operation, permission)


def _tables() -> Iterator[Grant]:
    """Four ACLs on each of 1,500 tables, and 69 on each of the prefixes of 23 units."""
    for i in range(TABLES):
        yield Grant("TOPIC", f"bu{i % 23}-", "PREFIXED", f"User:x{i % 90}")
        for a, operation in enumerate(("READ", "WRITE", "ALL", "DESCRIBE")):
            principal = f"User:x{(i + a) % 90}"
            yield Grant("TOPIC", f"bu{i % 23}-table{i}", "LITERAL", principal, "*", operation)


ACL_SETS: dict[str, Callable[[], Iterable[Grant]]] = {
    "bench": lambda: _bench(5_000),
    "plain": lambda: _bench(1),
    "blocks": _blocks,
    "load": lambda: _grants(RESOURCES),
    "long": _long,
    "nested": _nested,
    "chain": _chain,
    "one": _one,
    "fleet": _fleet,
    "churn": _churn,
    "page": _page,
    "sensors": lambda: dict.fromkeys(_sensors()),
    "domains": _domains,
    "tables": lambda: dict.fromkeys(_tables()),
}


def _read_or_write(random: SplitMix64) -> str:
    return ("READ", "WRITE")[random.below(2)]


def _uniform(random: SplitMix64) -> Iterator[WorkloadRequest]:
    while True:
        i = random.below(RESOURCES)
        yield WorkloadRequest(user(0), _read_or_write(random), resource_type(i), f"{PREFIX}{i}")


def _zipf(random: SplitMix64) -> Iterator[WorkloadRequest]:
    cumulated = list(accumulate(1.0 / (k + 1) for k in range(RESOURCES)))
    while True:
        i = 7919 * bisect_left(cumulated, random.unit() * cumulated[-1]) % RESOURCES
        yield WorkloadRequest(user(0), _read_or_write(random), resource_type(i), f"{PREFIX}{i}")


def _miss(random: SplitMix64) -> Iterator[WorkloadRequest]:
    for start in cycle(("qux-", "foo-bar35_nope-")):
        yield WorkloadRequest(user(0), "READ", "TOPIC", f"{start}{random.below(1_000_000)}")


def _long_requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
    while True:
        name = long_name(random.below(RESOURCES))
        yield WorkloadRequest(user(0), _read_or_write(random), "TOPIC", name)


def _nested_requests(roots: int) -> Callable[[SplitMix64], Iterator[WorkloadRequest]]:
    def requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
        while True:
            name = f"r{random.below(roots):04d}-{'m' * 40}z"
            yield WorkloadRequest(user(0), "READ", "TOPIC", name)

    return requests


def _one_requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
    while True:
        yield WorkloadRequest(f"User:user-{random.below(50_000)}", "READ", "TOPIC", "one")


def _fleet_requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
    """Requests of 100,000 clients, about two of each, each client from its own host."""
    while True:
        client, team, number = random.below(CLIENTS), random.below(TEAMS), random.below(10)
        who, host = certificate(client), f"10.{client >> 16}.{client >> 8 & 255}.{client & 255}"
        if random.below(4):
            name = _team_topic(team, number)
            yield WorkloadRequest(who, _read_or_write(random), "TOPIC", name, host)
        else:
            yield WorkloadRequest(who, "READ", "GROUP", f"team-{team:03d}.group-{number}", host)


def _churn_requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
    """Requests, half of them by a service that has an ACL on the resource."""
    while True:
        i = random.below(STREAMS)
        own = ACLS_A_RESOURCE * i + random.below(ACLS_A_RESOURCE)
        service = (own if random.below(2) else random.below(SERVICES)) % SERVICES
        yield WorkloadRequest(f"User:service-{service}", "READ", resource_type(i), _stream(i))


def _page_requests(_: SplitMix64) -> Iterator[WorkloadRequest]:
    for i in cycle(range(PAGE_TOPICS)):
        yield WorkloadRequest(PORTAL, "DESCRIBE", "TOPIC", _page_topic(i))


def _sensors_requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
    """Requests of 60,000 devices, three of each, for 80,000 sensors, about two for each."""
    while True:
        i, operation = random.below(DEVICES), ("READ", "WRITE", "DESCRIBE")[random.below(3)]
        host = f"172.{i >> 16}.{i >> 8 & 255}.{i & 255}"
        yield WorkloadRequest(_device(i), operation, "TOPIC", _sensor(random), host)


def _domains_requests(random: SplitMix64) -> Iterator[WorkloadRequest]:
    """Requests, two thirds of them by the user of the ACL on the name."""
    while True:
        i = random.below(DOMAIN_ACLS)
        user = i % 5000 if random.below(3) else random.below(9_000)
        yield WorkloadRequest(f"User:u{user}", "READ", "TOPIC", _domain(i))


def _tables_requests(_: SplitMix64) -> Iterator[WorkloadRequest]:
    for i in cycle(range(TABLES)):
        yield WorkloadRequest("User:x7", "DESCRIBE", "TOPIC", f"bu{i % 23}-table{i}")


REQUEST_LISTS: dict[str, tuple[int, Callable[[SplitMix64], Iterator[WorkloadRequest]]]] = {
    "uniform": (3, _uniform),
    "zipf": (4, _zipf),
    "miss": (5, _miss),
    "long": (6, _long_requests),
    "nested": (7, _nested_requests(625)),
    "chain": (8, _nested_requests(1_250)),
    "one": (9, _one_requests),
    "fleet": (22, _fleet_requests),
    "churn": (23, _churn_requests),
    "page": (24, _page_requests),
    "sensors": (78, _sensors_requests),
    "domains": (79, _domains_requests),
    "tables": (80, _tables_requests),
}
LENGTHS = {"fleet": 200_000, "page": PAGE_TOPICS, "sensors": 180_000, "tables": TABLES}
"""The lengths of lists that do not have ``REQUESTS`` requests."""


def small_acls() -> list[Grant]:
    """The first 1,000 ACLs of ``load``, on 100 resources."""
    return list(_grants(SMALL_RESOURCES))


def small_requests() -> list[WorkloadRequest]:
    """The requests of ``uniform`` on these 100 resources."""
    names = {f"{PREFIX}{i}" for i in range(SMALL_RESOURCES)}
    requests = islice(_uniform(SplitMix64(REQUEST_LISTS["uniform"][0])), REQUESTS)
    return [request for request in requests if request.name in names]


def _acl_lines(name: str) -> Iterator[bytes]:
    for uuid, grant in zip(ids(), ACL_SETS[name](), strict=False):
        yield "\t".join((uuid.hex(), *grant)).encode() + b"\n"


def _request_lines(name: str) -> Iterator[bytes]:
    if name == "hot":
        one = WorkloadRequest(user(0), "WRITE", "TOPIC", f"{PREFIX}95")
        requests: Iterable[WorkloadRequest] = [one]
    else:
        seed, made = REQUEST_LISTS[name]
        requests = islice(made(SplitMix64(seed)), LENGTHS.get(name, REQUESTS))
    for request in requests:
        yield "\t".join(request.columns).encode() + b"\n"


def _replay_batches() -> Iterator[bytes]:
    from metalog.acl import Operation, PatternType, PermissionType, ResourceType
    from metalog.ids import Uuid
    from metalog.records.batch import build_batch, encode_batch
    from metalog.records.messages import AccessControlEntryRecord

    grants = zip(ids(), _grants(REPLAY_BATCHES * REPLAY_BATCH_RECORDS // 10), strict=False)
    records = (
        AccessControlEntryRecord(
            id=Uuid(uuid),
            resource_type=ResourceType[grant.resource_type],
            resource_name=grant.name,
            pattern_type=PatternType[grant.pattern_type],
            principal=grant.principal,
            host=grant.host,
            operation=Operation.READ,
            permission_type=PermissionType.ALLOW,
        )
        for uuid, grant in grants
    )
    for b in range(REPLAY_BATCHES):
        messages = [(record, 0) for record in islice(records, REPLAY_BATCH_RECORDS)]
        base = b * REPLAY_BATCH_RECORDS
        yield encode_batch(build_batch(base, 1, REPLAY_TIME_MS + b, messages))


def pieces(file: str) -> Iterator[bytes]:
    name, _, kind = file.partition(".")
    if kind == "acls.tsv":
        return _acl_lines(name)
    return _request_lines(name) if kind == "requests.tsv" else _replay_batches()


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make(folder: Path = FOLDER) -> Path:
    """Write the missing files to ``folder``.

    Raises:
        SystemExit: a file has a wrong checksum.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file, expected in SUMS.items():
        path = folder / file
        if not path.exists() or _sum(path) != expected:
            with path.open("wb") as out:
                out.writelines(pieces(file))
            if _sum(path) != expected:
                raise SystemExit(f"{path}: not the workload described: its SHA-256 is {_sum(path)}")
            print(f"made {path}")
    return folder


def shorter_log(records: int, folder: Path = FOLDER) -> str:
    """The name of a log with the first ``records`` of replay.log, whole batches."""
    name = f"replay-{records}.log"
    batches = records // REPLAY_BATCH_RECORDS
    with (folder / "replay.log").open("rb") as log, (folder / name).open("wb") as out:
        for _ in range(batches):
            start = log.read(12)
            out.write(start + log.read(int.from_bytes(start[8:], "big")))
    return name


if __name__ == "__main__":
    make()
