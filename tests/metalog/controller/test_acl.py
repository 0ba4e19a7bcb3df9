"""Creating and deleting ACLs with the answers of Kafka's controller."""

import json
import tracemalloc
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.acl import (
    ANY_ACL,
    AccessControlEntryFilter,
    AclFilter,
    Operation,
    PatternType,
    PermissionType,
    ResourcePatternFilter,
    ResourceType,
)
from metalog.controller.acl import create_acls, delete_acls
from metalog.controller.result import SUCCESS
from metalog.errors import ErrorCode
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING
from metalog.image.metadata import EMPTY
from metalog.records.frame import decode_value, encode_value
from tests.support.kafka.vectors import read_acl
from tests.support.worlds.small_acls import allow

REJECTED = Path(__file__).parents[2] / "fixtures/kafka/basic-4.3/expected/rejected.json"

PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)

READ = allow("t", principal="User:x")


def numbered_entropy():
    numbers = count()
    return lambda size: next(numbers).to_bytes(size, "big")


def after(image, records):
    delta = MetadataDelta(image)
    delta.replay_all(enumerate(message for message, _ in records))
    return delta.apply(NOTHING)


def created(*acls, image=EMPTY):
    return after(image, create_acls(image.acls, acls, numbered_entropy()).records)


def read_of(topic, **changes):
    return READ._replace(resource_name=topic, **changes)


def topic_filter(name, pattern_type=PatternType.LITERAL):
    return AclFilter(ResourcePatternFilter(ResourceType.TOPIC, name, pattern_type))


def recorded_refusals():
    return [case for case in json.loads(REJECTED.read_text()) if case["where"] == "server"]


@pytest.mark.parametrize(
    ("field", "code"),
    [
        *(("resource_type", each) for each in ResourceType if each <= ResourceType.ANY),
        *(("pattern_type", each) for each in PatternType if each < PatternType.LITERAL),
        *(("operation", each) for each in Operation if each <= Operation.ANY),
        *(("permission_type", each) for each in PermissionType if each <= PermissionType.ANY),
    ],
)
def test_a_code_that_no_acl_can_have_is_refused_alone(field, code):
    """UNKNOWN, and the codes for filters."""
    records, [bad, good] = create_acls(
        EMPTY.acls, [READ._replace(**{field: code}), READ], numbered_entropy()
    )
    message = f"Invalid {field.replace('_t', 'T')} {code.name}"
    assert bad == (ErrorCode.INVALID_REQUEST, message)
    assert good == SUCCESS
    assert len(records) == 1


@pytest.mark.parametrize("case", recorded_refusals(), ids=lambda case: case["message"])
def test_refused_as_a_real_kafka_refused_it(case):
    acl = read_acl(case["acl"])
    records, [error] = create_acls(EMPTY.acls, [acl], numbered_entropy())
    assert not records
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, case["message"])


@pytest.mark.parametrize("part", ["resource_name", "principal", "host"])
def test_what_would_be_read_as_something_else_is_not_written(part):
    """Java, and so a record, has a question mark for half a surrogate pair."""
    bad = READ._replace(**{part: "User:\udcff"})
    records, [error] = create_acls(EMPTY.acls, [bad], numbered_entropy())
    assert not records
    assert error.code is ErrorCode.INVALID_REQUEST
    assert "it is not Unicode text" in error.message


@pytest.mark.parametrize("part", ["resource_name", "principal", "host"])
def test_what_is_longer_than_kafka_reads_is_not_written(part):
    """In UTF-8: Kafka's generated message code throws on more."""
    longest = READ._replace(**{part: "User:" + "\u20ac" * 10_920 + "ab"})
    longer = longest._replace(**{part: getattr(longest, part) + "c"})
    records, results = create_acls(EMPTY.acls, [longest, longer], numbered_entropy())
    assert [error.code for error in results] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert "has 32,768 bytes in UTF-8, and Kafka takes at most 32,767" in results[1].message
    [(record, version)] = records
    assert decode_value(encode_value(record, version)) == (version, record)


def test_results_keep_the_order_of_the_request():
    bad = READ._replace(principal="x")
    records, results = create_acls(
        EMPTY.acls, [read_of("a"), bad, read_of("b")], numbered_entropy()
    )
    assert [error.code for error in results] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
    ]
    assert [record.resource_name for record, _ in records] == ["a", "b"]


def test_what_exists_is_not_written_again():
    image = created(READ)
    records, results = create_acls(
        image.acls, [READ, read_of("u"), read_of("u")], lambda n: b"7" * n
    )
    assert results == [SUCCESS] * 3
    assert [record.resource_name for record, _ in records] == ["u"]


def test_an_id_is_never_given_twice():
    [(first, _)] = create_acls(EMPTY.acls, [READ], numbered_entropy()).records
    image = created(READ)
    [(second, _)] = create_acls(image.acls, [read_of("u")], numbered_entropy()).records
    assert first.id != second.id


def test_more_than_the_bound_creates_nothing():
    acls = [read_of(str(number)) for number in range(10_001)]
    records, results = create_acls(EMPTY.acls, acls, numbered_entropy())
    assert not records
    assert set(results) == {
        (ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    }
    assert len(create_acls(EMPTY.acls, acls[1:], numbered_entropy()).records) == 10_000


def test_an_acl_that_two_filters_match_is_removed_once_and_listed_twice():
    image = created(READ, read_of("u"))
    records, [by_name, by_any] = delete_acls(image.acls, [topic_filter("t"), ANY_ACL])
    assert len(records) == len({record.id for record, _ in records}) == 2
    assert by_name.deleted == [READ]
    assert set(by_any.deleted) == {READ, read_of("u")}
    assert len(after(image, records).acls) == 0


def test_a_bad_filter_fails_alone():
    image = created(READ)
    bad = ANY_ACL._replace(pattern=ResourcePatternFilter(ResourceType.UNKNOWN))
    worse = ANY_ACL._replace(entry=AccessControlEntryFilter(operation=Operation.UNKNOWN))
    records, results = delete_acls(image.acls, [bad, topic_filter("t"), worse])
    assert [result.error for result in results] == [
        (ErrorCode.INVALID_REQUEST, "Unknown patternFilter."),
        SUCCESS,
        (ErrorCode.INVALID_REQUEST, "Unknown entryFilter."),
    ]
    assert len(records) == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (ResourcePatternFilter(pattern_type=PatternType.UNKNOWN), "Unknown patternFilter."),
        (AccessControlEntryFilter(permission_type=PermissionType.UNKNOWN), "Unknown entryFilter."),
    ],
)
def test_a_filter_with_an_unknown_code_is_refused(bad, message):
    is_pattern = isinstance(bad, ResourcePatternFilter)
    wanted = ANY_ACL._replace(**{"pattern" if is_pattern else "entry": bad})
    records, [result] = delete_acls(created(READ).acls, [wanted])
    assert not records
    assert result.error == (ErrorCode.INVALID_REQUEST, message)


def test_a_deletion_beyond_the_bound_removes_nothing():
    acls = [read_of(str(number)) for number in range(10_000)]
    image = created(read_of("kept"), image=created(*acls))
    records, results = delete_acls(image.acls, [topic_filter("1"), ANY_ACL])
    assert not records
    assert {(result.error.code, tuple(result.deleted)) for result in results} == {
        (ErrorCode.INVALID_REQUEST, ())
    }


FILTERS = st.builds(
    AclFilter,
    st.builds(
        ResourcePatternFilter,
        st.sampled_from([ResourceType.ANY, ResourceType.TOPIC, ResourceType.GROUP]),
        st.sampled_from([None, "t", "ta", "u", "*", "other"]),
        st.sampled_from([PatternType.ANY, PatternType.MATCH, *PATTERN_TYPES]),
    ),
    st.builds(
        AccessControlEntryFilter,
        st.sampled_from([None, "User:x", "User:y", "User:z"]),
        st.sampled_from([None, "*", "10.0.0.1"]),
    ),
)


@given(st.lists(FILTERS, min_size=5, max_size=12))
def test_a_filter_among_many_matches_what_it_matches_alone(filters):
    image = created(
        *(
            read_of(topic, pattern_type=pattern_type, principal=principal, host=host)
            for topic in ("t", "ta", "u", "*")
            for pattern_type in PATTERN_TYPES
            for principal in ("User:x", "User:y")
            for host in ("*", "10.0.0.1")
        )
    ).acls
    alone = [delete_acls(image, [each]).response[0] for each in filters]
    assert delete_acls(image, filters).response == alone


def test_many_filters_that_match_the_same_do_not_fill_the_memory():
    image = created(*(read_of(str(number)) for number in range(1_000)))
    records, results = delete_acls(image.acls, [ANY_ACL] * 10_000)
    assert not records
    assert {(result.error.code, tuple(result.deleted)) for result in results} == {
        (ErrorCode.INVALID_REQUEST, ())
    }
    assert len(delete_acls(image.acls, [ANY_ACL] * 100).records) == 1_000


@pytest.mark.parametrize("filters", [0, 1, 100])
def test_acls_that_no_filter_names_are_not_kept_meanwhile(filters):
    """A list with an object for each of 500,000 ACLs held every thread for 0.4 s."""
    image = created(*(read_of(str(number)) for number in range(3_000))).acls
    wanted = [topic_filter(f"{number}-", PatternType.MATCH) for number in range(filters)]
    tracemalloc.start()
    try:
        assert not delete_acls(image, wanted).records
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000 + 1_000 * filters


def test_what_was_created_and_deleted_leaves_an_equal_image():
    image = created(READ, read_of("u"), read_of("v", pattern_type=PatternType.PREFIXED))
    records, _ = delete_acls(image.acls, [topic_filter("vw", PatternType.MATCH), topic_filter("u")])
    assert after(image, records).acls == created(READ).acls


@pytest.mark.parametrize("pattern_type", [PatternType.MATCH, PatternType.ANY])
@pytest.mark.parametrize("named", ["a name", "nothing", "a principal and a host"])
def test_a_filter_among_many_costs_what_it_matches(monkeypatch, pattern_type, named):
    """15 kB of filters over 10,000 ACLs held the writer for 8 s."""
    acls, filters, compared = 1_000, 200, []
    image = created(*(read_of(str(number)) for number in range(acls))).acls
    matches = AclFilter.matches

    def counted(self, acl):
        compared.append(acl)
        return matches(self, acl)

    monkeypatch.setattr(AclFilter, "matches", counted)
    wanted = [
        AclFilter(
            ResourcePatternFilter(
                ResourceType.TOPIC, f"{number}-" if named == "a name" else None, pattern_type
            ),
            AccessControlEntryFilter(
                *(("User:none", "*") if named == "a principal and a host" else (None, None)),
                Operation.WRITE,
            ),
        )
        for number in range(filters)
    ]
    assert not delete_acls(image, wanted).records
    assert len(compared) <= filters
