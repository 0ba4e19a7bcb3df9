"""The meaning of each format, and the errors: file, position, and the nearest known word."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog_sources.formats import document
from metalog_sources.formats.avro import read_avro
from metalog_sources.formats.commands.kafka_acls import read_kafka_acls
from metalog_sources.formats.csv import COLUMNS, read_csv
from metalog_sources.formats.document import AclNotes, Document, Own
from metalog_sources.formats.json import read_json
from metalog_sources.formats.yaml import read_yaml, write_yaml
from metalog_sources.formats.zookeeper.kip11 import read_kip11
from tests.support.worlds.small_acls import deny

TOPIC = ResourceType.TOPIC
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
WHOLE = """\
owns:
  - resourceType: [Topic, group]
    resourceName: payments-
    patternType: prefixed
acls:
  - principal: [User:app, User:no]
    operation: [Read, describe_configs]
    resourceType: topic
    resourceName: no          # a topic called no, not false
    comment: why
    owner: payments
    ticket: PAY-7
    expires: 2026-12-31
  - {principal: User:app, operation: Alter, resourceType: Cluster, permissionType: deny}
"""


def test_a_yaml_file() -> None:
    document = read_yaml(WHOLE, "a.yaml")
    notes = AclNotes("why", "payments", "PAY-7", "2026-12-31")
    assert [(entry.acl, entry.notes) for entry in document.entries] == [
        *(
            (Acl(TOPIC, "no", LITERAL, principal, "*", operation, ALLOW), notes)
            for principal in ("User:app", "User:no")
            for operation in (READ, Operation.DESCRIBE_CONFIGS)
        ),
        (deny("kafka-cluster", Operation.ALTER, "User:app", kind=ResourceType.CLUSTER), AclNotes()),
    ]
    assert document.owns == (
        Own(TOPIC, "payments-", PREFIXED),
        Own(ResourceType.GROUP, "payments-", PREFIXED),
    )
    assert str(document.entries[4].position) == "a.yaml, line 14, column 5"


def test_what_we_write_is_what_a_person_would() -> None:
    assert write_yaml(read_yaml(WHOLE, "a.yaml")) == (
        "owns:\n"
        "  - resourceType: TOPIC\n"
        "    resourceName: payments-\n"
        "    patternType: PREFIXED\n"
        "  - resourceType: GROUP\n"
        "    resourceName: payments-\n"
        "    patternType: PREFIXED\n"
        "acls:\n"
        "  - principal: User:app\n"
        "    permissionType: ALLOW\n"
        "    operation: [READ, DESCRIBE_CONFIGS]\n"
        "    resourceType: TOPIC\n"
        '    resourceName: "no"\n'
        "    patternType: LITERAL\n"
        '    host: "*"\n'
        "    comment: why\n"
        "    owner: payments\n"
        "    ticket: PAY-7\n"
        '    expires: "2026-12-31"\n'
        "  - principal: User:app\n"
        "    permissionType: DENY\n"
        "    operation: ALTER\n"
        "    resourceType: CLUSTER\n"
        "    resourceName: kafka-cluster\n"
        "    patternType: LITERAL\n"
        '    host: "*"\n'
        "  - principal: User:no\n"
        "    permissionType: ALLOW\n"
        "    operation: [READ, DESCRIBE_CONFIGS]\n"
        "    resourceType: TOPIC\n"
        '    resourceName: "no"\n'
        "    patternType: LITERAL\n"
        '    host: "*"\n'
        "    comment: why\n"
        "    owner: payments\n"
        "    ticket: PAY-7\n"
        '    expires: "2026-12-31"\n'
    )


def test_anchors_and_several_documents() -> None:
    text = """\
acls:
  - {principal: &who [User:a, User:b], operation: Read, resourceType: Topic, resourceName: t}
---
- {principal: &who [User:c], operation: Read, resourceType: Topic, resourceName: t}
- {principal: *who, operation: Write, resourceType: Topic, resourceName: t}
"""
    assert [acl.principal for acl in read_yaml(text, "a").acls] == [
        "User:a", "User:b", "User:c", "User:c"
    ]  # fmt: skip


RULE = "- {principal: User:a, operation: Read, resourceType: Topic, resourceName: t}"
MISTAKES = {
    "acls:\n  - principel: User:a": (
        "a, line 2, column 5: unknown key 'principel' in an ACL; did you mean principal?"
    ),
    "acl: []": "a, line 1, column 1: unknown key 'acl' in the file; did you mean acls?",
    RULE.replace("Read", "Raed"): (
        "a, line 1, column 34: unknown operation 'Raed'; did you mean READ?"
    ),
    RULE.replace("Topic", "Any"): (
        "a, line 1, column 54: unknown resourceType 'Any'; use one of TOPIC, GROUP, CLUSTER, "
        "TRANSACTIONAL_ID, DELEGATION_TOKEN, USER"
    ),
    RULE.replace("User:a", "alice"): (
        "a, line 1, column 3: Kafka refuses this ACL: Could not parse principal from `alice` (no "
        "colon is present separating the principal type from the principal name)"
    ),
    RULE.replace("User:a", "~"): "a, line 1, column 15: principal is empty; write a text",
    RULE.replace("User:a", "[]"): (
        "a, line 1, column 15: principal is an empty list; name at least one"
    ),
    RULE.replace("User:a", "{a: b}"): "a, line 1, column 15: principal is not text; write a text",
    RULE.replace("t}", "t, resourceName: u}"): (
        "a, line 1, column 78: the key 'resourceName' is repeated in an ACL"
    ),
    RULE.replace("t}", "t, expires: soon}"): (
        "a, line 1, column 87: expires is not a date: 'soon'; write it as 2026-12-31"
    ),
    "- {operation: Read, resourceType: Topic, resourceName: t}": (
        "a, line 1, column 3: an ACL has no principal"
    ),
    "owns: [{}]": (
        "a, line 1, column 8: an empty entry owns nothing; "
        "write resourceType, resourceName or principal"
    ),
    "owns: [{resourceName: '', patternType: prefixed}]": (
        "a, line 1, column 23: resourceName is empty; leave it out to own ACLs on any name"
    ),
    "owns: [{resourceType: Topic, patternType: prefixed}]": (
        "a, line 1, column 43: patternType without a resourceName owns nothing"
    ),
    "acls: yes": "a, line 1, column 7: acls is not a list; write each item with a dash, or in [ ]",
    "text": (
        "a, line 1, column 1: the file must be a mapping; write keys and values, "
        "such as owns, acls, users"
    ),
    "acls:\n\t- principal: User:a": "a, line 2, column 1: not YAML: a tab; indent with spaces",
    "acls: [{resource: t}]": (
        "a, line 1, column 9: unknown key 'resource' in an ACL; did you mean resourceType or "
        "resourceName?"
    ),
    "acls: [": ("a, line 2, column 1: not YAML: did not find expected node content"),
    "a: !!python/object/apply:os.system [x]": (
        "a, line 1, column 4: the tag tag:yaml.org,2002:python/object/apply:os.system is not "
        "supported; leave it out"
    ),
    "a: *b": "a, line 1, column 4: the alias *b has no anchor before it",
    "[" * 5000: "a, line 1, column 33: nested more than 32 deep",
    "apiVersion: v1\nkind: ConfigMap": (
        "a, line 2, column 7: a ConfigMap holds no ACLs; only Strimzi's KafkaUser is read"
    ),
    "kind: KafkaUser\napiVersion: strimzi/v1": (
        "a, line 2, column 13: apiVersion strimzi/v1 is not Strimzi's; write kafka.strimzi.io/v1"
    ),
}


@pytest.mark.parametrize("text", MISTAKES, ids=[text[:40] for text in MISTAKES])
def test_a_mistake_in_yaml(text: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_yaml(text, "a")
    assert str(raised.value) == MISTAKES[text]


@given(st.text(alphabet="{}[]:,-*&!|>\"'#%@`\n\t abc~", max_size=40))
def test_no_text_does_worse_than_a_mistake(text: str) -> None:
    for read in (read_yaml, read_json, read_csv, read_kafka_acls):
        try:
            said = ""
            read(text, "a")
        except InvalidRequest as error:
            said = str(error)
        assert said == "" or (said.startswith("a") and "\n" not in said)


@given(st.binary(max_size=60))
def test_no_bytes_do_worse_than_a_mistake(data: bytes) -> None:
    for head in (b"", b"Obj\x01"):
        with pytest.raises(InvalidRequest, match=r"^a: not an Avro file"):
            read_avro(head + data, "a")


MANY = ", ".join(f"x{number}" for number in range(400))


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (
            read_yaml,
            f"owns: [{{resourceName: [{MANY}], principal: [{MANY}]}}]",
            "owns more than 100,000 patterns",
        ),
        (
            read_kafka_acls,
            "kafka-acls --add"
            + "".join(f" --topic t{n} --allow-principal User:{n}" for n in range(400)),
            "a command expands to more than 100,000 ACLs",
        ),
        (read_json, '{"resourceName":' + "1" * 5_000 + "}", "an ACL has no resourceType"),
        (read_json, '{"a":' * 100_000, "nested more than 32 deep"),
    ],
)
def test_few_bytes_do_not_stand_for_much(
    read: Callable[[str, str], Document], text: str, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=r"^a, line 1, column \d+: ") as raised:
        read(text, "a")
    assert said in str(raised.value)


def test_all_rules_of_a_file_together_mean_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_ENTRIES", 10)
    monkeypatch.setattr(document, "_BYTES_AN_ENTRY", 1_000)
    said = r"^a, line \d, column \d+: the file expands to more than 10 ACLs"
    resource = "{principal: User:a, resourceType: TOPIC, resourceName: [a, b], operation: READ}"
    whole = f"acls: [&a {resource}, {', '.join(['*a'] * 4)}]"
    read_yaml(whole, "a")
    for text in (whole.replace("a, b", "a, b, c"), f"{whole}\n---\n{whole}"):
        with pytest.raises(InvalidRequest, match=said):
            read_yaml(text, "a")


def test_a_rule_that_means_too_much() -> None:
    many = ", ".join(f"x{number}" for number in range(400))
    rule = RULE.replace("t}", f"[{many}], host: [{many}]" + "}")
    with pytest.raises(InvalidRequest, match="more than 100,000 ACLs"):
        read_yaml(rule, "a")


LINE = (
    '{"id":"x","resourceType":"TOPIC","resourceName":"t","principal":"User:a","operation":"READ"}'
)


def test_json_lines() -> None:
    wanted = Acl(TOPIC, "t", LITERAL, "User:a", "*", READ, ALLOW)
    assert read_json(f"{LINE}\n\n{LINE}\n", "a").acls == (wanted,)
    assert read_json(f"[{LINE}, {LINE}]", "a").acls == (wanted,)


def test_what_zookeeper_holds_for_one_resource_is_no_source() -> None:
    """KIP-11's JSON does not name its resource: the node's path does."""
    with pytest.raises(InvalidRequest, match="does not name the resource; give zookee"):
        read_json('{"version": 1, "acls": []}', "a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LINE + "\n" + LINE.replace("host", ""), None),
        (
            f"{LINE}\n{LINE[:-1]},}}",
            'a, line 2, column 93: this is not JSON: expected a key in "quotes"',
        ),
        (LINE.replace('"READ"', '"REED"'), "unknown operation 'REED'; did you mean READ?"),
        (LINE.replace('"t"', '"\\ud800"'), "half a surrogate pair"),
        (LINE.replace('"t"', '"t'), "this is not JSON: "),
        (LINE[:-1], "a, line 1, column 92: this is not JSON: expected ',' or '}'"),
        ("[" * 40, "nested more than 32 deep"),
        ('{"version":1,"acls":[]}', "ACLs in ZooKeeper's form"),
    ],
)
def test_a_mistake_in_json(text: str, said: str | None) -> None:
    if said is None:
        assert read_json(text, "a")
        return
    with pytest.raises(InvalidRequest) as raised:
        read_json(text, "a")
    assert said in str(raised.value)


def test_kafka_security_managers_own_example() -> None:
    text = """\
KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
User:alice,Topic,LITERAL,foo,Read,Allow,*
User:bob,Group,PREFIXED,bar,Write,Deny,12.34.56.78
User:peter,Cluster,LITERAL,kafka-cluster,Create,Allow,*
"""
    acls = read_csv(text, "a.csv").acls
    assert acls[0] == Acl(TOPIC, "foo", LITERAL, "User:alice", "*", READ, ALLOW)
    assert acls[1] == deny("bar", WRITE, host="12.34.56.78", prefixed=True, kind=ResourceType.GROUP)
    assert acls[2].resource_type is ResourceType.CLUSTER


def test_its_older_files_have_no_pattern_type() -> None:
    text = (
        "KafkaPrincipal,ResourceType,ResourceName,Operation,PermissionType,Host\n"
        "User:alice,Topic,foo,Read,Allow,*\n"
    )
    assert read_csv(text, "a").acls[0].pattern_type is LITERAL


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            "a, line 1: no column KafkaPrincipal; write the first line as KafkaPrincipal,Resource",
        ),
        ("KafkaPrincipal,ResourceTyp", "unknown column 'ResourceTyp'; did you mean ResourceType?"),
        (
            "KafkaPrincipal,ResourceType,ResourceName,Operation,PermissionType,Host\n\nUser:a,To",
            "a, line 3: 2 values for 6 columns",
        ),
        (
            "KafkaPrincipal,ResourceType,ResourceName,Operation,PermissionType,Host\n"
            '"User:a\nb",Topic,t,Read,Allow,*\nUser:a,Topik,t,Read,Allow,*',
            "a, line 4: unknown ResourceType 'Topik'; did you mean TOPIC?",
        ),
    ],
)
def test_a_mistake_in_csv(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_csv(text, "a")
    assert said in str(raised.value)


def acls_in(command: str) -> set[tuple[object, ...]]:
    return {
        (acl.resource_type.name, acl.resource_name, acl.principal, acl.host, acl.operation.name)
        for acl in read_kafka_acls(command, "a.sh").acls
    }


def test_what_kafka_acls_takes_for_a_producer_and_a_consumer() -> None:
    command = (
        'bin/kafka-acls.sh --bootstrap-server "$B" --add --allow-principal User:a --producer '
        "--idempotent --topic t --transactional-id x --consumer --group=g"
    )
    who = ("User:a", "*")
    assert acls_in(command) == {
        *(("TOPIC", "t", *who, each) for each in ("WRITE", "DESCRIBE", "CREATE", "READ")),
        *(("TRANSACTIONAL_ID", "x", *who, each) for each in ("WRITE", "DESCRIBE")),
        ("CLUSTER", "kafka-cluster", *who, "IDEMPOTENT_WRITE"),
        ("GROUP", "g", *who, "READ"),
    }


def test_idempotence_is_of_the_cluster_whatever_the_pattern_is() -> None:
    command = (
        "kafka-acls --add --allow-principal User:a --producer --idempotent --topic t --group g "
        "--cluster --resource-pattern-type prefixed"
    )
    who = ("User:a", "*")
    assert acls_in(command) == {
        *(("TOPIC", "t", *who, each) for each in ("WRITE", "DESCRIBE", "CREATE")),
        ("CLUSTER", "kafka-cluster", *who, "IDEMPOTENT_WRITE"),
    }


def test_commands_with_lists_continued_lines_and_defaults() -> None:
    command = """\
#!/bin/bash
kafka-acls --add --allow-principal 'User:a' --allow-principal "User:b" \\
  --deny-principal User:c --deny-host 10.0.0.1 --topic $'t\\x20\\u0041' --force; # and
kafka-acls --add --allow-principal User:a --operation DescribeConfigs --cluster --topic p- \\
  --resource-pattern-type prefixed
"""
    assert acls_in(command) == {
        ("TOPIC", "t A", "User:a", "*", "ALL"),
        ("TOPIC", "t A", "User:b", "*", "ALL"),
        ("TOPIC", "t A", "User:c", "10.0.0.1", "ALL"),
        ("TOPIC", "p-", "User:a", "*", "DESCRIBE_CONFIGS"),
    }


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rm -rf /", "a.sh, line 1, column 1: 'rm' is not a kafka-acls command"),
        ("kafka-acls --list", "--list is not read here; write each ACL with --add"),
        ("kafka-acls --topic t --allow-principal User:a", "has no --add"),
        (
            "kafka-acls --add --topic t",
            "You must specify one of: --allow-principal, --deny-principal",
        ),
        (
            "kafka-acls --add --allow-principal User:a",
            "a.sh, line 1, column 1: You must provide at least one resource",
        ),
        ("kafka-acls --add --topik t", "unknown option '--topik'; did you mean --topic?"),
        ("kafka-acls --add --topic", "--topic has no value"),
        ("kafka-acls --add --topic 't", "line 1, column 26: a quote is not closed"),
        ("kafka-acls --add --topic $T --allow-principal User:a", "--topic has a variable, $T"),
        ("kafka-acls --add --topic t | cat", "| is not supported"),
        ("kafka-acls --add --topic $(cat t)", "$( is not supported"),
        ("\nkafka-acls --add --topic t --allow-principal User:a --operation Red", "line 2"),
        (
            "kafka-acls --add --producer --topic t --allow-principal User:a --operation Read",
            'Option "[producer]" can\'t be used with option "[operation]"',
        ),
    ],
)
def test_a_mistake_in_a_command(command: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_kafka_acls(command, "a.sh")
    assert said in str(raised.value)


KAFKA_USER = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata:
  name: my-user
  labels: {strimzi.io/cluster: my-cluster}
spec:
  authentication: {type: tls}
  quotas: {producerByteRate: 1048576}
  authorization:
    type: simple
    acls:
      - resource: {type: topic, name: my-topic, patternType: prefix}
        operations: [Read, DescribeConfigs]
        host: "*"
      - resource: {type: cluster}
        operation: Alter
        type: deny
"""


def test_a_kafka_user_of_strimzi() -> None:
    who = "User:CN=my-user"
    assert read_yaml(KAFKA_USER, "a").acls == (
        Acl(TOPIC, "my-topic", PREFIXED, who, "*", READ, ALLOW),
        Acl(TOPIC, "my-topic", PREFIXED, who, "*", Operation.DESCRIBE_CONFIGS, ALLOW),
        Acl(ResourceType.CLUSTER, "kafka-cluster", LITERAL, who, "*", Operation.ALTER, DENY),
    )
    scram = KAFKA_USER.replace("type: tls", "type: scram-sha-512")
    assert {acl.principal for acl in read_yaml(scram, "a").acls} == {"User:my-user"}
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + KAFKA_USER.replace("\n", "\n  ")
    assert read_yaml(listed, "a").acls == read_yaml(KAFKA_USER, "a").acls
    of_v1 = KAFKA_USER.replace("v1beta2", "v1").replace("operation: Alter", "operations: [Alter]")
    assert read_yaml(of_v1, "a").acls == read_yaml(KAFKA_USER, "a").acls


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("type: topic", "type: topics", "unknown type 'topics'; did you mean topic?"),
        ("prefix}", "prefixed}", "unknown patternType 'prefixed'; did you mean prefix?"),
        ("operations:", "operation_s:", "unknown key 'operation_s' in an ACL"),
        ("type: tls", "type: tsl", "unknown authentication type 'tsl'; did you mean tls?"),
        ("type: simple", "type: opa", "unknown authorization type 'opa'"),
        ("  name: my-user", "  nam: my-user", "line 4, column 3: there is no name"),
    ],
)
def test_a_mistake_in_a_kafka_user(old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_yaml(KAFKA_USER.replace(old, new), "a")
    assert said in str(raised.value)


@pytest.mark.parametrize("key", ["kind", "apiVersion"])
def test_each_resource_in_a_list_needs_its_kind_and_version(key: str) -> None:
    resource = re.sub(rf"(?m)^{key}: .*\n", "", KAFKA_USER)
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + resource.replace("\n", "\n  ")
    with pytest.raises(InvalidRequest) as raised:
        read_yaml(listed, "a")
    assert str(raised.value) == f"a, line 4, column 3: there is no {key}"


TOPIC_T = (TOPIC, "t", LITERAL)
KIP11 = """\
{"version": 1,
 "acls": [
\t{
      "principals": ["user:alice", "group:kafka-devs"],
\t  "permissionType": "ALLOW",
      "operations": [ "READ", "WRITE" ],
      "hosts": [ "host1", "host2" ]
    },
   {
     "principal": ["user:bob", "user:*"] ,
     "permissionType": "ALLOW",
     "operations": [ "READ" ],
     "hosts": [ "*" ]
   },
   {
     "principal": "user:bob",
     "permissionType": "DENY",
     "operations": [ "READ" ],
     "hosts": [ "host1", "host2" ]
   }
 ]
}
"""


def test_the_example_of_kip11() -> None:
    acls = [entry.acl for entry in read_kip11(KIP11, "node", TOPIC_T)]
    assert len(acls) == 2 * 2 * 2 + 2 + 2
    assert acls[0] == Acl(*TOPIC_T, "User:alice", "host1", READ, ALLOW)
    assert acls[4].principal == "Group:kafka-devs"
    assert [acl.principal for acl in acls[8:10]] == ["User:bob", "User:*"]
    assert {acl.permission_type for acl in acls[10:]} == {DENY}


def test_what_kafka_wrote_to_zookeeper() -> None:
    text = (
        '{"version":1,"acls":[{"principal":"User:alice","permissionType":"Allow",'
        '"operation":"DescribeConfigs","host":"*"}]}'
    )
    [entry] = read_kip11(text, "node", TOPIC_T)
    assert entry.acl == Acl(*TOPIC_T, "User:alice", "*", Operation.DESCRIBE_CONFIGS, ALLOW)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 1', '"version": 2', "version 2 is unknown; write 1"),
        (
            '"hosts": [ "*" ]',
            '"hosts": [ "*" ], "host": "*"',
            "hosts and host mean the same; keep one",
        ),
        ('"READ", "WRITE"', '"REED"', "node, line 6, column 23: unknown operation 'REED'"),
    ],
)
def test_a_mistake_in_kip11(old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_kip11(KIP11.replace(old, new), "node", TOPIC_T)
    assert said in str(raised.value)


def test_owning() -> None:
    own = Own(TOPIC, "pay-", PREFIXED)
    acl = Acl(TOPIC, "pay-eu", LITERAL, "User:a", "*", READ, ALLOW)
    assert own.covers(acl)
    assert own.covers(acl._replace(pattern_type=PREFIXED))
    assert not own.covers(acl._replace(resource_name="pay"))
    assert not own.covers(acl._replace(resource_type=ResourceType.GROUP))
    wildcard = acl._replace(resource_name="*")
    assert not Own(TOPIC, "*", PREFIXED).covers(wildcard)
    assert Own(TOPIC, "*").covers(wildcard)
    assert Own(TOPIC).covers(wildcard)
    assert not Own(TOPIC, "pay-eu").covers(acl._replace(pattern_type=PREFIXED))
    assert not Own(principal="User:b").covers(acl)


def test_a_reader_of_csv_lowers_no_limit_of_its_process() -> None:
    before = csv.field_size_limit(10_000_000)
    try:
        read_csv(",".join(COLUMNS), "f.csv")
        assert csv.field_size_limit() == 10_000_000
    finally:
        csv.field_size_limit(before)
