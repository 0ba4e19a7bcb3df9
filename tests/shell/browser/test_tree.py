"""The tree of an image: our own branches, and the intended differences from Kafka's."""

import io
import json

import pytest

from metalog.ids import Uuid, uuid_text
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING, Provenance
from metalog.image.metadata import EMPTY
from metalog.records import messages as m
from shell.browser.builtins import BUILTINS
from shell.browser.session import ShellSession
from shell.browser.tree.root import root_directory
from shell.output.output import Output
from shell.version import VERSION


def uuid(number):
    return Uuid(number.to_bytes(16, "big"))


def acl(number, name, principal, pattern=3):
    return m.AccessControlEntryRecord(uuid(number), 2, name, pattern, principal, "*", 3, 3)


def ask(records, *words, show_secrets=False, provenance=NOTHING):
    """A command's output on the image of ``records``."""
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)
    output = Output(io.StringIO(), io.StringIO())
    root = root_directory(delta.apply(provenance), show_secrets=show_secrets)
    session = ShellSession(root, BUILTINS, output)
    session.run_words(words)
    return output.out.getvalue() + output.err.getvalue()


ACLS = [
    acl(1, "orders", "User:alice"),
    acl(2, "orders", "User:*"),
    acl(3, "or", "User:alice", pattern=4),
    acl(4, "*", "User:a/b"),
]


def test_an_acl_is_its_record_with_the_names_of_its_enums():
    text = ask(ACLS, "cat", f"/acl/id/{uuid_text(uuid(3))}")
    assert json.loads(text) == {
        "id": uuid_text(uuid(3)),
        "resourceType": "TOPIC",
        "resourceName": "or",
        "patternType": "PREFIXED",
        "principal": "User:alice",
        "host": "*",
        "operation": "READ",
        "permissionType": "ALLOW",
    }
    assert text.startswith('{\n  "id"')


def test_acls_by_principal_and_by_resource():
    paths = ask(ACLS, "find", "/acl").splitlines()
    ids = [uuid_text(uuid(number)) for number in range(1, 5)]
    assert paths == [
        "/acl",
        "/acl/byPrincipal",
        "/acl/byPrincipal/User:*",
        f"/acl/byPrincipal/User:*/{ids[1]}",
        "/acl/byPrincipal/User:a%2Fb",
        f"/acl/byPrincipal/User:a%2Fb/{ids[3]}",
        "/acl/byPrincipal/User:alice",
        f"/acl/byPrincipal/User:alice/{ids[0]}",
        f"/acl/byPrincipal/User:alice/{ids[2]}",
        "/acl/byResource",
        "/acl/byResource/TOPIC",
        "/acl/byResource/TOPIC/LITERAL",
        "/acl/byResource/TOPIC/LITERAL/*",
        f"/acl/byResource/TOPIC/LITERAL/*/{ids[3]}",
        "/acl/byResource/TOPIC/LITERAL/orders",
        f"/acl/byResource/TOPIC/LITERAL/orders/{ids[0]}",
        f"/acl/byResource/TOPIC/LITERAL/orders/{ids[1]}",
        "/acl/byResource/TOPIC/PREFIXED",
        "/acl/byResource/TOPIC/PREFIXED/or",
        f"/acl/byResource/TOPIC/PREFIXED/or/{ids[2]}",
        "/acl/id",
        *(f"/acl/id/{id_text}" for id_text in ids),
    ]


def test_in_a_tree_an_acl_is_a_sentence():
    assert ask(ACLS, "tree", "/acl/byPrincipal/User:alice") == (
        f"{uuid_text(uuid(1))}:\n"
        "  ALLOW User:alice READ on topic orders from any host\n"
        f"{uuid_text(uuid(3))}:\n"
        "  ALLOW User:alice READ on topic names that begin with or from any host\n"
    )


@pytest.mark.parametrize("name", ["x", uuid_text(uuid(9)), f"../byPrincipal/{uuid_text(uuid(1))}"])
def test_an_id_that_is_not_there_is_not_found(name):
    assert "no such file" in ask(ACLS, "cat", f"/acl/id/{name}")


def test_an_acl_is_not_found_under_another_principal():
    path = f"/acl/byPrincipal/User:alice/{uuid_text(uuid(2))}"
    assert ask(ACLS, "cat", path) == f"cat: {path}: no such file or directory\n"


SECRETS = [
    m.UserScramCredentialRecord("alice", 1, b"\x01salt", b"stored", b"server", 4096),
    m.ConfigRecord(4, "1", "listener.name.x.ssl.key.password", "hunter2"),
    m.ConfigRecord(4, "1", "log.cleaner.threads", "2"),
]


def test_secrets_are_masked():
    assert json.loads(ask(SECRETS, "cat", "/scram/SCRAM-SHA-256/alice")) == {
        "iterations": 4096,
        "salt": "[redacted]",
        "storedKey": "[redacted]",
        "serverKey": "[redacted]",
    }
    assert ask(SECRETS, "tree", "/image/configs") == (
        "BROKER:1:\n  listener.name.x.ssl.key.password:\n    [redacted]\n"
        "  log.cleaner.threads:\n    2\n"
    )


def test_secrets_are_shown_where_asked_for():
    shown = json.loads(ask(SECRETS, "cat", "/scram/SCRAM-SHA-256/alice", show_secrets=True))
    assert (shown["salt"], shown["storedKey"], shown["serverKey"]) == (
        "AXNhbHQ=",
        "c3RvcmVk",
        "c2VydmVy",
    )
    assert "hunter2" in ask(SECRETS, "tree", "/image/configs", show_secrets=True)


def test_a_mechanism_without_users_is_an_empty_directory():
    assert ask(SECRETS, "ls", "/scram/SCRAM-SHA-512", "/scram") == (
        "SCRAM-SHA-512:\n\nscram:\nSCRAM-SHA-256\nSCRAM-SHA-512\n"
    )


@pytest.mark.parametrize(
    ("entity", "name"),
    [
        ({"user": None}, "user"),
        ({"client-id": None}, "clientId"),
        ({"ip": None}, "ip"),
        ({"user": None, "client-id": "a"}, "clientId(a)_user"),
        ({"user": "b", "client-id": None}, "clientId_user(b)"),
        ({"user": "user"}, "user(user)"),
        ({"user": "a/b"}, "user(a%2Fb)"),
    ],
)
def test_default_quotas_have_names(entity, name):
    """Kafka's shell leaves default parts out, and fails if nothing is left."""
    parts = tuple(m.EntityData(kind, part) for kind, part in entity.items())
    records = [m.ClientQuotaRecord(parts, "producer_byte_rate", 1e6, False)]
    path = f"/image/clientQuotas/{name}"
    assert ask(records, "find", path) == f"{path}\n{path}/producer_byte_rate\n"
    assert ask(records, "cat", f"{path}/producer_byte_rate") == "1000000.0\n"


def test_an_empty_image_has_the_same_branches():
    assert ask([], "find", "/").splitlines() == [
        "/",
        "/acl",
        "/acl/byPrincipal",
        "/acl/byResource",
        "/acl/id",
        "/image",
        "/image/acls",
        "/image/acls/byId",
        "/image/clientQuotas",
        "/image/cluster",
        "/image/cluster/brokers",
        "/image/cluster/controllers",
        "/image/configs",
        "/image/delegationToken",
        "/image/features",
        "/image/features/metadataVersion",
        "/image/producerIds",
        "/image/producerIds/nextProducerId",
        "/image/provenance",
        "/image/scram",
        "/image/scram/SCRAM-SHA-256",
        "/image/scram/SCRAM-SHA-512",
        "/image/topics",
        "/image/topics/byId",
        "/image/topics/byName",
        "/local",
        "/local/commitId",
        "/local/version",
        "/scram",
        "/scram/SCRAM-SHA-256",
        "/scram/SCRAM-SHA-512",
    ]
    assert ask([], "cat", "/image/features/metadataVersion") == "Optional.empty\n"
    assert ask([], "cat", "/local/version") == f"{VERSION}\n"


def test_provenance_names_the_last_record():
    assert ask([], "cat", "/image/provenance", provenance=Provenance(321, 2, 1000)) == (
        "offset 320, epoch 2, time 1970-01-01T00:00:01Z[UTC]\n"
    )


def test_a_hostile_name_cannot_reach_the_terminal():
    records = [acl(1, "a\x1b]0;x\x07\nb", "User:\u202ex")]
    for line in ("tree /", "find /", "cat /acl/byPrincipal/*/*", "ls /acl/byPrincipal"):
        printed = ask(records, *line.split())
        assert printed.replace("\n", "").isprintable()
