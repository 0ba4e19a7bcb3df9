"""Times one job on our own authorizer and replay, and prints one line of JSON.

The arguments are those of ``bench/peer``: the folder of the workloads, seconds of CPU for the
warm-up and for a round, the number of rounds, the job, and the job's own arguments.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from measured import LAPS
from stopwatch import Stopwatch
from workloads import PREFIX, RESOURCES, SplitMix64, small_acls, small_requests

from authorizer import Action, AuthorizerConfig, RequestContext, StandardAuthorizer
from authorizer.api import ResourcePattern
from authorizer.engine.bulk import BulkDecider, RequestColumns
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from metalog import Replica, open_log
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.gc_pause import gc_paused
from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING, Leader, LogManifest
from metalog.image.metadata import EMPTY
from metalog.log.folder.single_file import SegmentLog
from metalog.records.fast_decode.acl_fast_decode import Part, numbered
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source

REQUESTS_A_CHANGE = 20
FRESH = 30
"""The number of authorizers that answer their first question."""

Requests = list[tuple[RequestContext, list[Action]]]


def read_acls(folder: Path, name: str) -> dict[Uuid, Acl]:
    """The ACLs in the file's order. Equal strings are one object, as in our images."""
    texts: dict[str, str] = {}
    acls = {}
    with (folder / f"{name}.acls.tsv").open() as lines:
        for line in lines:
            uuid, kind, name, pattern, principal, host, operation, permission = line.rstrip(
                "\n"
            ).split("\t")
            acls[Uuid(bytes.fromhex(uuid))] = Acl(
                ResourceType[kind],
                texts.setdefault(name, name),
                PatternType[pattern],
                texts.setdefault(principal, principal),
                texts.setdefault(host, host),
                Operation[operation],
                PermissionType[permission],
            )
    return acls


def read_requests(folder: Path, name: str) -> Requests:
    contexts: dict[str, RequestContext] = {}
    requests = []
    with (folder / f"{name}.requests.tsv").open() as lines:
        for line in lines:
            principal, host, kind, name, operation = line.rstrip("\n").split("\t")
            context = contexts.setdefault(principal, RequestContext(principal, host, "CLIENT"))
            pattern = ResourcePattern(ResourceType[kind], name)
            action = Action(Operation[operation], pattern, 1, False, False)
            requests.append((context, [action]))
    return requests


def loaded(acls: dict[Uuid, Acl], config: AuthorizerConfig | None = None) -> StandardAuthorizer:
    authorizer = StandardAuthorizer(config)
    authorizer.load_snapshot(acls)
    authorizer.complete_initial_load()
    return authorizer


def decide(folder: Path, watch: Stopwatch, acl_set: str, request_list: str) -> None:
    authorizer = loaded(read_acls(folder, acl_set))
    requests = read_requests(folder, request_list)
    single = [(context, action) for context, [action] in requests]
    gc.collect()
    gc.freeze()

    def first_pass() -> None:
        authorize = authorizer.authorize
        for context, actions in requests:
            authorize(context, actions)

    watch.time_once("first_pass", len(requests), first_pass)
    watch.time_repeated("authorize", authorizer.authorize, requests)
    watch.time_repeated("decision", authorizer.is_allowed, single)
    watch.time_repeated("rule", authorizer.decide, single)


def blocks(folder: Path, watch: Stopwatch, request_list: str) -> None:
    """Time decisions of Kafka 4.4 by two sets, which differ only in the hosts of a tenth of the
    ACLs."""
    requests = read_requests(folder, request_list)
    config = AuthorizerConfig(kafka_version=KafkaVersion.V4_4)
    sets = {"without": read_acls(folder, "plain"), "with": read_acls(folder, "blocks")}
    authorizers = {name: loaded(acls, config).authorize for name, acls in sets.items()}
    gc.collect()
    gc.freeze()
    for name, authorize in authorizers.items():
        watch.time_once(f"{name}_first", len(requests), partial(_ask_all, authorize, requests))
        watch.time_repeated(name, authorize, requests)


def _ask_all(authorize: Callable[..., object], requests: Requests) -> None:
    for context, actions in requests:
        authorize(context, actions)


def many(folder: Path, watch: Stopwatch, acl_set: str, request_list: str, count: str) -> None:
    """Time ``count`` actions, each in its own call, and all in one call."""
    authorizer = loaded(read_acls(folder, acl_set))
    requests = read_requests(folder, request_list)[: int(count)]
    context = requests[0][0]
    actions = [action for _, [action] in requests]
    gc.collect()
    gc.freeze()
    watch.time_repeated("single", authorizer.authorize, requests)
    watch.time_repeated("many", authorizer.authorize, [(context, actions)])


def churn(folder: Path, watch: Stopwatch, acl_set: str, request_list: str) -> None:
    """Time requests in groups; before each group an ACL is removed and added again."""
    acls = read_acls(folder, acl_set)
    authorizer = loaded(acls)
    requests = read_requests(folder, request_list)
    starts = range(0, len(requests) - REQUESTS_A_CHANGE, REQUESTS_A_CHANGE)
    pairs, random = list(acls.items()), SplitMix64(10)
    chosen = [pairs[random.below(len(pairs))] for _ in starts]
    gc.collect()
    gc.freeze()

    def change_and_ask(changed: tuple[Uuid, Acl], start: int) -> None:
        authorizer.remove_acl(changed[0])
        authorizer.add_acl(*changed)
        _ask_all(authorizer.authorize, requests[start : start + REQUESTS_A_CHANGE])

    watch.time_repeated("round", change_and_ask, list(zip(chosen, starts, strict=True)))


def page(folder: Path, watch: Stopwatch, acl_set: str, request_list: str) -> None:
    """Time the whole list in one call, with an empty cache; then again."""
    acls = read_acls(folder, acl_set)
    requests = read_requests(folder, request_list)
    context, actions = requests[0][0], [action for _, [action] in requests]
    fresh = [loaded(acls) for _ in range(FRESH)]
    gc.collect()
    gc.freeze()

    def ask_each() -> None:
        for authorizer in fresh:
            authorizer.authorize(context, actions)

    watch.time_once("first", FRESH, ask_each)
    watch.time_repeated("page", fresh[0].authorize, [(context, actions)])


def bulk(folder: Path, watch: Stopwatch, acl_set: str) -> None:
    """Time columns of requests, each round with an empty cache."""
    index = AclIndex.of(read_acls(folder, acl_set).values())
    gc.collect()
    gc.freeze()
    zipf = _columns(folder, "zipf")
    round_and_round = RequestColumns._make([*column] * LAPS for column in zipf)
    by_traffic = {"skewed": round_and_round, "first": zipf, "distinct": _distinct()}
    for name, columns in by_traffic.items():

        def decide_all(requests: RequestColumns = columns) -> list[bool]:
            return BulkDecider(index, AuthorizerConfig()).allowed(requests)

        watch.time_whole(name, len(columns.hosts), decide_all)


def _columns(folder: Path, request_list: str) -> RequestColumns:
    with (folder / f"{request_list}.requests.tsv").open() as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    principals, hosts, kinds, names, operations = zip(*rows, strict=True)
    return RequestColumns(principals, hosts, operations, kinds, names)


def _distinct() -> RequestColumns:
    """READ and WRITE on every resource of ``plain``, in random order."""
    random = SplitMix64(11)
    rows = [
        ("User:test-user", "127.0.0.1", operation, "TOPIC" if i % 10 else "GROUP", f"{PREFIX}{i}")
        for i in range(RESOURCES)
        for operation in ("READ", "WRITE")
    ]
    rows.sort(key=lambda _: random.next())
    return RequestColumns(*zip(*rows, strict=True))


def small(_: Path, watch: Stopwatch) -> None:
    """Time the small sets, which general libraries decide, too."""
    grants = [
        Acl(
            ResourceType[grant.resource_type],
            grant.name,
            PatternType[grant.pattern_type],
            grant.principal,
            grant.host,
            Operation.READ,
            PermissionType.ALLOW,
        )
        for grant in small_acls()
    ]
    authorizer = StandardAuthorizer.from_acls(grants)
    questions = []
    for request in small_requests():
        pattern = ResourcePattern(ResourceType[request.resource_type], request.name)
        action = Action(Operation[request.operation], pattern, 1, False, False)
        questions.append((RequestContext(request.principal, "127.0.0.1", "CLIENT"), action))
    watch.note("allowed", sum(authorizer.is_allowed(*question) for question in questions))
    watch.time_repeated("decision", authorizer.is_allowed, questions)


def by_resource_type(folder: Path, watch: Stopwatch, acl_set: str) -> None:
    authorizer = loaded(read_acls(folder, acl_set))

    def ask(context: RequestContext, _: None) -> object:
        return authorizer.authorize_by_resource_type(context, Operation.READ, ResourceType.TOPIC)

    for name, principal in (("allowed", "User:test-user"), ("denied", "User:nobody")):
        context = RequestContext(principal, "127.0.0.2", "CLIENT")
        watch.time_once(f"{name}_first", 1, partial(ask, context, None))
        watch.time_repeated(name, ask, [(context, None)])
    watch.time_whole("list_all", 1, authorizer.acls)


def load(folder: Path, watch: Stopwatch, acl_set: str) -> None:
    acls = read_acls(folder, acl_set)

    def add_all() -> StandardAuthorizer:
        authorizer = StandardAuthorizer()
        for uuid, acl in acls.items():
            authorizer.add_acl(uuid, acl)
        authorizer.complete_initial_load()  # the index waits for this, so it is timed too
        return authorizer

    watch.time_whole("snapshot", len(acls), lambda: loaded(acls))
    watch.time_whole("add", len(acls), add_all)


def update(folder: Path, watch: Stopwatch, acl_set: str) -> None:
    acls = read_acls(folder, acl_set)
    authorizer = loaded(acls)
    pairs = list(acls.items())
    random = SplitMix64(10)
    chosen = [pairs[random.below(len(pairs))] for _ in range(100_000)]

    def remove_and_add(uuid: Uuid, acl: Acl) -> None:
        authorizer.remove_acl(uuid)
        authorizer.add_acl(uuid, acl)

    watch.time_repeated("update", remove_and_add, chosen)


def heap(folder: Path, watch: Stopwatch, log: str) -> None:
    """Bytes that Python's allocator holds, by ``tracemalloc``, after a full collection."""
    tracemalloc.start(1)
    before = _allocated()
    image = replay_source(open_source(str(folder / log), environ={})).image
    replayed = _allocated()
    authorizer = StandardAuthorizer()
    delta = MetadataDelta.of_whole(image)
    manifest = LogManifest(image.provenance, Leader(-1, 1), 1, len(image.acls), 0)
    authorizer.publish(delta, image, manifest)
    del delta
    indexed = _allocated()
    count = len(image.acls)
    watch.note("objects", (replayed - before) / count)
    watch.note("index", (indexed - replayed) / count)


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def replay(folder: Path, watch: Stopwatch, log: str, records: str) -> None:
    path, items = folder / log, int(records)
    watch.time_whole("decode", items, lambda: _decode(path))
    watch.time_whole("apply", items, lambda: _apply(path))
    pauses: list[float] = []
    gc.callbacks.append(_pause_watcher(pauses))
    watch.time_whole("ready", items, lambda: _ready(path))
    watch.note("longest_pause_ms", max(pauses, default=0.0))


def _parts(path: Path) -> Iterator[tuple[int, list[Part]]]:
    """The loader's input: the first offset and the records of each batch."""
    for batch in SegmentLog(path).batches(0):
        yield batch.base_offset, batch.parts()


def _decode(path: Path) -> int:
    with gc_paused():
        return sum(len(parts) for _, parts in _parts(path))


def _apply(path: Path) -> object:
    delta = MetadataDelta(EMPTY)
    with gc_paused():
        for offset, parts in _parts(path):
            delta.replay_all(numbered(parts, offset))
    return delta.apply(NOTHING)


def _ready(path: Path) -> StandardAuthorizer:
    """A ready authorizer, made as each embedding program makes it."""
    authorizer = StandardAuthorizer()
    with Replica(open_log(str(path)), publishers=[authorizer]) as replica:
        replica.wait_until_loaded()
    return authorizer


def _pause_watcher(pauses: list[float]) -> Any:
    started = 0.0

    def watch(phase: str, _: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = time.perf_counter()
        else:
            pauses.append((time.perf_counter() - started) * 1e3)

    return watch


def first_decision(folder: Path, _: Stopwatch, log: str) -> None:
    authorizer = _ready(folder / log)
    [(context, actions)] = read_requests(folder, "hot")
    authorizer.authorize(context, actions)


JOBS: dict[str, Callable[..., None]] = {
    "decide": decide,
    "many": many,
    "churn": churn,
    "page": page,
    "blocks": blocks,
    "bulk": bulk,
    "small": small,
    "by-resource-type": by_resource_type,
    "load": load,
    "update": update,
    "heap": heap,
    "replay": replay,
    "first-decision": first_decision,
}


def main(arguments: list[str]) -> None:
    folder, warmup_s, round_s, rounds, job, *rest = arguments
    watch = Stopwatch(float(warmup_s), float(round_s), int(rounds))
    JOBS[job](Path(folder), watch, *rest)
    print(json.dumps(watch.figures))


if __name__ == "__main__":
    main(sys.argv[1:])
