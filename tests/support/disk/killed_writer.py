"""A process that changes the log in a folder or topic as fast as it can, until it is killed.

It prints what it is about to do and what was acknowledged, one line each: ``create N``, ``created
N``, ``delete N``, ``deleted N``. Request N creates, or deletes, all ACLs whose names begin with
``N-``. This module must not know when it is killed.
"""

from __future__ import annotations

import os
import sys
import threading
from itertools import count

from metalog import Replica, WritableDirectoryLog, WritableTopicLog
from metalog.acl import Acl, AclFilter, ResourcePatternFilter
from metalog.log.folder_writer.appender import SegmentLimits
from metalog.ports import WritableLog
from tests.support.worlds.small_acls import allow

CALLERS = 8
IN_ONE_REQUEST = 3
LIMITS = SegmentLimits(max_bytes=20_000)


def acls(request: str) -> list[Acl]:
    return [allow(f"{request}-{number}", principal="User:a") for number in range(IN_ONE_REQUEST)]


def say(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())


def delete(replica: Replica, request: str, descriptor: int) -> None:
    say(descriptor, f"delete {request}")
    patterns = [ResourcePatternFilter(name=acl.resource_name) for acl in acls(request)]
    for deleted in replica.delete_acls(None, list(map(AclFilter, patterns))):
        deleted.result()
    say(descriptor, f"deleted {request}")


def work(replica: Replica, caller: str) -> None:
    for number in count():
        request = f"{caller}.{number}"
        say(1, f"create {request}")
        for created in replica.create_acls(None, acls(request)):
            created.result()
        say(1, f"created {request}")
        if number % 3 == 0:
            delete(replica, request, 1)


def opened(log: str) -> WritableLog:
    if log.startswith("topic://"):
        return WritableTopicLog(log)
    return WritableDirectoryLog(log, limits=LIMITS)


def main(log: str, run: str) -> None:
    with Replica(opened(log)) as replica:
        callers = [
            threading.Thread(target=work, args=(replica, f"{run}.{caller}"), daemon=True)
            for caller in range(CALLERS)
        ]
        for each in callers:
            each.start()
        for each in callers:
            each.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
