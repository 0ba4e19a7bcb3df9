"""Times general authorization libraries on 1,000 ACLs: Cedar (cedarpy) and Casbin (pycasbin).

It runs in a separate environment with these two libraries and without our code. Each library is
used as its own documentation recommends for speed: policies and entities are parsed once. It prints
the number of allowed requests, to compare with ours. Arguments are as for ``bench/peer``:
folder, CPU seconds of the warm-up and of a round, rounds, library.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from stopwatch import Stopwatch
from workloads import small_acls, small_requests

Ask = Callable[[int, None], bool]

_CASBIN_MODEL = """
[request_definition]
r = sub, act, kind, obj
[policy_definition]
p = sub, act, kind, pattern, obj
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.act == p.act && r.kind == p.kind && \
(r.obj == p.obj || p.pattern == "PREFIXED" && startsWith(r.obj, p.obj))
"""


def casbin_asker() -> Ask:
    import casbin

    with tempfile.TemporaryDirectory() as scratch:
        model, policy = Path(scratch, "model.conf"), Path(scratch, "policy.csv")
        model.write_text(_CASBIN_MODEL)
        lines = [
            f"p, {acl.principal}, READ, {acl.resource_type}, {acl.pattern_type}, {acl.name}"
            for acl in small_acls()
        ]
        policy.write_text("\n".join(lines))
        enforcer = casbin.Enforcer(str(model), str(policy))
    enforcer.add_function("startsWith", str.startswith)
    questions = [
        (request.principal, request.operation, request.resource_type, request.name)
        for request in small_requests()
    ]
    return lambda number, _: bool(enforcer.enforce(*questions[number]))


def cedar_asker() -> Ask:
    import cedarpy

    requests = small_requests()
    statements = []
    for acl in small_acls():
        head = f'principal == User::"{acl.principal}", action == Action::"READ", '
        if acl.pattern_type == "LITERAL":
            statements.append(f'permit({head}resource == {acl.resource_type}::"{acl.name}");')
        else:
            statements.append(
                f"permit({head}resource is {acl.resource_type}) "
                f'when {{ resource.name like "{acl.name}*" }};'
            )
    entities = [
        {"uid": {"type": kind, "id": name}, "attrs": {"name": name}, "parents": []}
        for kind, name in {(request.resource_type, request.name) for request in requests}
    ]
    policies = cedarpy.PolicySet.from_str("\n".join(statements))
    known = cedarpy.Entities.from_json_str(json.dumps(entities))
    questions = [
        {
            "principal": f'User::"{request.principal}"',
            "action": f'Action::"{request.operation}"',
            "resource": f'{request.resource_type}::"{request.name}"',
        }
        for request in requests
    ]
    return lambda number, _: cedarpy.is_authorized(questions[number], policies, known).allowed


ASKERS = {"casbin": casbin_asker, "cedar": cedar_asker}


def main(arguments: list[str]) -> None:
    _, warmup_s, round_s, rounds, library = arguments
    watch = Stopwatch(float(warmup_s), float(round_s), int(rounds))
    ask = ASKERS[library]()
    numbers = [(number, None) for number in range(len(small_requests()))]
    watch.note("allowed", sum(ask(*number) for number in numbers))
    watch.time_repeated("decision", ask, numbers)
    print(json.dumps(watch.figures))


if __name__ == "__main__":
    main(sys.argv[1:])
