"""The readers of others' bytes and texts, by name, with inputs to begin from.

A target raises one of the two error families, or nothing; anything else is a fault. This module
must not know where inputs come from.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from authorizer.audit.layouts import Zone, read_entry
from metalog.errors import MetalogError
from metalog.principal import KafkaPrincipal
from metalog.records.avro.codec import from_avro, to_avro
from metalog.records.batch import decode_batch
from metalog.records.frame import Undecodable, decode_value, encode_value
from metalog.wire.frames import framed
from metalog.wire.messages import UnreadRequest, read_response, write_request
from metalog.wire.schema import request_type, response_type
from metalog_node.apis import announced_versions
from metalog_node.auth.authentication import MECHANISMS, Logins
from metalog_node.auth.principals import name_text, parse_rules
from metalog_node.net.connection import QueuedRequest, ServerConnection
from metalog_node.publish.publishers import CredentialsPublisher
from metalog_spark.ingest.audit_splits import Record, read_records
from shell.browser.builtins import BUILTINS
from shell.browser.completion import complete
from shell.browser.session import ShellSession
from shell.output.output import Output
from tests.laws.test_readers_are_bounded import READERS, REFUSING, Reader
from tests.metalog_node.test_cost_before_trust import APIS
from tests.shell.browser.test_session import small_tree
from tests.support.disk.batch_files import HEADER_SIZE, read_batches, resealed
from tests.support.kafka.cases import DEMO, FIXTURES
from tests.support.wire.every_request import requests

SMALL = 300
MOST_BYTES = 2_048
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
UTC = Zone("UTC")
ANYBODY = KafkaPrincipal("User", "a")
SPOKEN = announced_versions(APIS, "4.4")


def record(data: bytes) -> None:
    """What is read is the same again, written as bytes and in Avro."""
    version, message = decode_value(data)
    if isinstance(message, Undecodable):
        return
    meant = json_text(message, version)
    assert json_text(*reversed(decode_value(encode_value(message, version)))) == meant
    assert json_text(*from_avro(*to_avro(message, version))) == meant


def json_text(message: Any, version: int) -> str:
    """Also of a number that is not equal to itself."""
    return str(message.json_text(version))


def sealed_batch(data: bytes) -> None:
    """A batch whose length and checksum are right, whatever else is not."""
    if len(data) >= HEADER_SIZE:
        decode_batch(resealed(data)).parts()


def before_login(data: bytes) -> None:
    for _ in connection(with_logins=True).receive(data):
        pass


def login(data: bytes) -> None:
    """SCRAM's messages, or PLAIN's, which LF parts."""
    server = connection(with_logins=True)
    first, *messages = data.split(b"\n")
    mechanism = "PLAIN" if first == b"PLAIN" else "SCRAM-SHA-256"
    bodies = [request_type(SASL_HANDSHAKE, 1)(mechanism=mechanism)]
    authenticate = request_type(SASL_AUTHENTICATE, 2)
    bodies += [authenticate(auth_bytes=each) for each in messages[:4]]
    for body in bodies:
        for _ in server.receive(framed(write_request(body, 1, "fuzz"))):
            pass
    assert server.principal is None, "somebody logged in"


def after_login(data: bytes) -> None:
    for step in connection(with_logins=False).receive(data):
        if isinstance(step, QueuedRequest):
            most = APIS[step.head.api_key].most_elements
            UnreadRequest(step.head, step.payload, most).read()


def request(data: bytes) -> None:
    """The first two bytes select the API and its version."""
    keys = sorted(APIS)
    key = keys[data[0] % len(keys)] if data else keys[0]
    versions = APIS[key].versions
    version = versions.least + data[1] % (versions.most - versions.least + 1) if data[1:] else 0
    head = key.to_bytes(2, "big") + version.to_bytes(2, "big")
    after_login(framed(head + data[2:]))


def response(data: bytes) -> None:
    keys = sorted(each for each in APIS if each < 1_000)
    key = keys[data[0] % len(keys)] if data else keys[0]
    versions = APIS[key].versions
    version = versions.least + data[1] % (versions.most - versions.least + 1) if data[1:] else 0
    read_response(data[2:], response_type(key, version))


def connection(*, with_logins: bool) -> ServerConnection:
    logins = Logins(MECHANISMS, CredentialsPublisher(b"secret"), {"a": "secret"}, os.urandom)
    return ServerConnection(
        SPOKEN, logins=logins if with_logins else None, principal=ANYBODY, most_bytes=1 << 20
    )


def shell_line(data: bytes) -> None:
    session = ShellSession(small_tree(), BUILTINS, Output(io.StringIO(), io.StringIO()))
    for line in data.decode().splitlines():
        session.run_line(line)
        for _ in complete(session, line):
            pass


def audit_table(data: bytes) -> None:
    """A cell of a table, or a record of a topic, with one or several lines."""
    for _ in read_records([Record("table", "b1", 0, data)], UTC):
        pass


def layout(data: bytes) -> None:
    read_entry(data.decode(), UTC)


def certificates_name(data: bytes) -> None:
    """These are what ``distinguished_name`` takes for a name that cannot be read."""
    with suppress(ValueError, TypeError, OverflowError):
        name_text(data)


OWN: dict[str, Reader] = {
    "record": record,
    "batch behind its checksum": sealed_batch,
    "bytes before the login": before_login,
    "messages of a login": login,
    "bytes after the login": after_login,
    "request": request,
    "response": response,
    "metadata shell": shell_line,
    "audit table": audit_table,
    "audit line in a layout": layout,
    "name of a certificate": certificates_name,
    "mapping rules": lambda data: parse_rules(data.decode()),
}
TARGETS: dict[str, Reader] = {**{name: read for name, (read, _) in READERS.items()}, **OWN}


def tried(name: str, data: bytes) -> None:
    """``data`` given to a target; a text reader gets text, whatever the bytes."""
    read = TARGETS[name]
    with suppress(MetalogError, *REFUSING.get(read, ())):
        read(data.decode(errors="replace").encode() if name in TEXTS else data)


def takes_text(read: Reader) -> bool:
    try:
        read(b"\xff\xff\xff")
    except UnicodeDecodeError:
        return True
    except Exception:
        return False
    return False


TEXTS = frozenset(name for name, read in TARGETS.items() if takes_text(read))


def seeds(name: str) -> Iterator[bytes]:
    """A few inputs that a target reads, or nearly."""
    if name in READERS:
        yield from (hostile(SMALL)[:MOST_BYTES] for hostile in READERS[name][1])
    yield from SEEDS.get(name, list)()


def records() -> list[bytes]:
    """One of each type in the logs that are here."""
    logs = chain(DEMO.glob("log-dir/*/*.log"), FIXTURES.glob("kafka/*/log-dir/*/*.log"))
    batches = chain.from_iterable(map(read_batches, logs))
    values = (each.value for batch in batches for each in batch.records() if each.value)
    return list({value[:3]: value for value in values}.values())


def frames() -> list[bytes]:
    return [framed(write_request(body, 1, "fuzz")) for body in requests().values()]


def bodies() -> list[bytes]:
    keys = sorted(APIS)
    found = requests()
    versions = {key: APIS[key].versions for key in found if key in APIS}
    return [
        bytes((keys.index(key), body.__version__ - versions[key].least))
        + write_request(body, 1, "fuzz")[4:]
        for key, body in found.items()
        if key in versions
    ]


def audit_lines() -> list[bytes]:
    lines = gzip.decompress((FIXTURES / "audit" / "acl-authorizer-3.9.log.gz").read_bytes())
    line = lines.splitlines()[0]
    text = line.decode().partition("Principal = ")
    sentence = (text[1] + text[2]).replace('"', "'")
    return [
        line,
        f"[2026-01-02 03:04:05,678] INFO {sentence} (kafka.authorizer.logger)".encode(),
        f'{{"@timestamp":"2026-01-02T03:04:05Z","message":"{sentence}"}}'.encode(),
        f"2026-01-02T03:04:05.000000001Z stdout F [2026-01-02] {sentence}".encode(),
        f"<13>Jan  2 03:04:05 host kafka: {sentence}".encode(),
    ]


LOGINS = [
    b"SCRAM\nn,,n=a,r=abcdefgh\nc=biws,r=abcdefgh,p=AAAA",
    b"PLAIN\n\0a\0wrong",
    b"PLAIN\nb\0a\0wrong",
]
SHELL = [
    b"ls\ncat image/text\ncd by\npwd\n",
    b"find . *\ntree -d 2\nman ls",
    b'ls \'User:*\' "a\\""',
]
SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "record": records,
    "frame": records,
    "bytes before the login": frames,
    "bytes after the login": frames,
    "request": bodies,
    "messages of a login": lambda: LOGINS,
    "metadata shell": lambda: SHELL,
    "audit line": audit_lines,
    "audit line in a layout": audit_lines,
    "audit table": audit_lines,
    "batch behind its checksum": lambda: [READERS["checkpoint"][1][0](SMALL)[:600]],
    "name of a certificate": lambda: [bytes.fromhex("300c310a300806035504030c0161")],
    "mapping rules": lambda: [b"RULE:^CN=(.*?),OU=(?:a|b)+.*$/$1@$2/L,DEFAULT"],
}
