"""StandardAuthorizer behind a broker: gate, futures, super users, images, audit levels."""

from __future__ import annotations

import logging
import threading
import tracemalloc
from typing import Any

import pytest

from authorizer import (
    Acl,
    Action,
    AuthorizationResult,
    AuthorizerConfig,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourcePattern,
    ResourceType,
    StandardAuthorizer,
    group,
    topic,
)
from authorizer.audit.line import LOGGER
from authorizer.engine.cache import remembered
from authorizer.engine.cache.session_cache import SessionCache
from metalog.acl import ANY_ACL
from metalog.errors import AuthorizerNotReady, InvalidRequest, NotController
from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING, Leader, LogManifest
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.state.acls import record_of
from metalog.records.messages import FeatureLevelRecord, NoOpRecord, RemoveAccessControlEntryRecord
from tests.support.worlds.small_acls import allow

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED
APP = RequestContext("User:app", "10.0.0.1", "CLIENT", "Produce")
ADMIN = RequestContext("User:admin", "10.0.0.1")
READ = Action(Operation.READ, topic("payments"))
WRITE = Action(Operation.WRITE, topic("payments"))
MANIFEST = LogManifest(NOTHING, Leader(1, 1), 1, 1, 1)


def _acl(name: str, operation: Operation = Operation.READ, host: str = "*") -> Acl:
    return allow(name, operation, "User:app", host=host, prefixed=True)


def _id(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def _publish(
    authorizer: StandardAuthorizer, image: MetadataImage, *messages: object
) -> MetadataImage:
    delta = MetadataDelta(image)
    for message in messages:
        delta.replay(message)
    after = delta.apply(NOTHING)
    authorizer.publish(delta, after, MANIFEST)
    return after


def test_the_example_of_the_readme() -> None:
    authorizer = StandardAuthorizer.from_acls([_acl("pay")], super_users=["User:admin"])
    assert authorizer.authorize(APP, [READ, WRITE]) == (ALLOWED, DENIED)
    assert authorizer.is_allowed(APP, READ)
    assert not authorizer.is_allowed(APP, WRITE)
    assert authorizer.is_allowed(ADMIN, WRITE)
    assert authorizer.acl_count() == 1


@pytest.mark.parametrize("count", [0, 1, 2])
def test_results_refuse_to_be_true(count: int) -> None:
    results = StandardAuthorizer.from_acls([]).authorize(APP, [READ] * count)
    assert len(results) == count
    with pytest.raises(TypeError):
        bool(results)


@pytest.mark.parametrize(
    ("super_users", "said"),
    [("User:admin", r"as \['User:admin'\]"), (["admin"], "write it as User:admin")],
)
def test_super_users_that_nobody_could_be_are_refused(super_users: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        StandardAuthorizer.from_acls([], super_users=super_users)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"operation": Operation.ANY, "permission_type": PermissionType.DENY}, "operation ANY"),
        ({"operation": Operation.UNKNOWN}, "operation UNKNOWN"),
        ({"resource_type": ResourceType.ANY}, "resourceType ANY"),
        ({"pattern_type": PatternType.MATCH}, "patternType MATCH"),
        ({"permission_type": PermissionType.ANY}, "permissionType ANY"),
        ({"resource_name": ""}, "empty resource name"),
        ({"resource_type": ResourceType.CLUSTER}, "kafka-cluster"),
        ({"principal": "app"}, "no colon"),
    ],
)
def test_an_acl_that_kafka_would_not_create_is_refused_by_its_position(
    changed: dict[str, Any], problem: str
) -> None:
    odd = _acl("pay")._replace(**changed)
    with pytest.raises(InvalidRequest, match=rf"^acls\[1\]: .*{problem}.*tolerant=True"):
        StandardAuthorizer.from_acls([_acl("pay"), odd])
    assert StandardAuthorizer.from_acls([odd], tolerant=True).acl_count() == 1


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        ({"host": "::1"}, "the host ::1; write 0:0:0:0:0:0:0:1"),
        ({"host": "10.0.0.0/24"}, "a CIDR block, which matches no client in Kafka 4.3"),
        ({"host": "10.0.0.0/33"}, "the host '10.0.0.0/33'; give one IP address"),
        ({"host": "app.example"}, "the host 'app.example'; give one IP address"),
        ({"host": ""}, "the host ''; give one IP address"),
        ({"resource_name": "*"}, "PREFIXED * reaches only names that begin with a *"),
        ({"principal": "User:"}, "the principal 'User:'; give Type:name"),
        ({"principal": ":app"}, "the principal ':app'; give Type:name"),
    ],
)
def test_an_acl_that_decides_nothing_is_warned_of(
    changed: dict[str, Any], warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka's controller creates each of them; such a DENY stops nobody."""
    odd = _acl("pay")._replace(pattern_type=PatternType.PREFIXED, **changed)
    StandardAuthorizer.from_acls([_acl("pay"), odd])
    [line] = caplog.messages
    assert line.startswith("acls[1]: ")
    assert warning in line


def test_before_the_initial_load_only_super_users_are_answered() -> None:
    authorizer = StandardAuthorizer.configured(
        {"super.users": "User:admin", "allow.everyone.if.no.acl.found": "true"}
    )
    authorizer.add_acl(_id(1), _acl("pay"))
    assert authorizer.is_allowed(ADMIN, WRITE)
    assert authorizer.authorize_by_resource_type(ADMIN, Operation.READ, ResourceType.TOPIC)
    for ask in (
        lambda: authorizer.authorize(APP, [READ]),
        lambda: authorizer.authorize(APP, [READ, WRITE]),
        lambda: authorizer.is_allowed(APP, READ),
        lambda: authorizer.decide(APP, READ),
        lambda: authorizer.authorize_by_resource_type(APP, Operation.READ, ResourceType.TOPIC),
    ):
        with pytest.raises(AuthorizerNotReady) as error:
            ask()
        assert error.value.code.name == "AUTHORIZER_NOT_READY"
    authorizer.complete_initial_load()
    assert authorizer.is_allowed(APP, READ)


def test_what_is_added_before_the_initial_load_is_listed_and_counts_after_it() -> None:
    authorizer = StandardAuthorizer()
    authorizer.add_acl(_id(1), _acl("pay"))
    assert authorizer.acls() == (_acl("pay"),)
    authorizer.add_acl(_id(2), _acl("other"))
    authorizer.remove_acl(_id(2))
    assert authorizer.acls() == (_acl("pay"),)
    assert authorizer.acl_count() == 1
    authorizer.complete_initial_load()
    assert authorizer.is_allowed(APP, READ)
    assert authorizer.acls() == (_acl("pay"),)
    authorizer.remove_acl(_id(1))
    assert not authorizer.is_allowed(APP, READ)


def test_listeners_wait_for_the_initial_load_unless_they_start_early() -> None:
    authorizer = StandardAuthorizer.configured({"early.start.listeners": "CONTROLLER"})
    opened = authorizer.start({"CLIENT": "0.0.0.0:9092", "CONTROLLER": "0.0.0.0:9093"})
    assert opened["CONTROLLER"].done()
    assert not opened["CLIENT"].done()
    assert not opened["CLIENT"].cancel()
    authorizer.complete_initial_load()
    assert opened["CLIENT"].result(timeout=0) is None
    authorizer.complete_initial_load()
    authorizer.close()
    assert authorizer.start({"LATE": ""})["LATE"].done()


def test_only_close_fails_the_futures() -> None:
    authorizer = StandardAuthorizer()
    opened = authorizer.start({"CLIENT": "0.0.0.0:9092"})
    authorizer.note_staleness(10_000)
    assert not opened["CLIENT"].done()
    authorizer.close()
    with pytest.raises(
        AuthorizerNotReady,
        match=r"^the authorizer was closed before its initial load was complete$",
    ):
        opened["CLIENT"].result(timeout=0)
    authorizer.close()


def test_a_log_that_the_configured_kafka_does_not_load_shuts_the_gate() -> None:
    authorizer = StandardAuthorizer.configured({"kafka.version": "4.3"})
    image = _publish(authorizer, EMPTY, record_of(_id(1), _acl("pay")))
    authorizer.complete_initial_load()
    assert authorizer.is_allowed(APP, READ)
    image = _publish(authorizer, image, FeatureLevelRecord("metadata.version", 32))
    with pytest.raises(AuthorizerNotReady, match=r"so Kafka 4\.3 refuses the log"):
        authorizer.is_allowed(APP, READ)
    _publish(authorizer, image, FeatureLevelRecord("metadata.version", 31))
    assert authorizer.is_allowed(APP, READ)


def test_a_stale_image_stays_in_force_unless_configured_otherwise() -> None:
    patient = StandardAuthorizer.from_acls([_acl("pay")])
    patient.note_staleness(1 << 40)
    assert patient.is_allowed(APP, READ)
    strict = StandardAuthorizer(AuthorizerConfig(stale_deny_after_ms=1_000))
    image = _publish(strict, EMPTY, record_of(_id(1), _acl("pay")))
    strict.complete_initial_load()
    strict.note_staleness(999)
    assert strict.is_allowed(APP, READ)
    assert strict.shut_by == ""
    strict.note_staleness(1_000)
    assert "too old" in strict.shut_by
    with pytest.raises(AuthorizerNotReady, match=r"stale\.deny\.after\.ms or longer"):
        strict.is_allowed(APP, READ)
    _publish(strict, image, NoOpRecord())
    assert strict.is_allowed(APP, READ)


def test_actions_are_on_literal_resources_only() -> None:
    authorizer = StandardAuthorizer.from_acls([], super_users=["User:admin"])
    prefixed = Action(
        Operation.READ, ResourcePattern(ResourceType.TOPIC, "pay", PatternType.PREFIXED)
    )
    for context in (APP, ADMIN):
        for actions in ([prefixed], [READ, prefixed]):
            for _ in range(2):
                with pytest.raises(InvalidRequest, match="LITERAL"):
                    authorizer.authorize(context, actions)
        with pytest.raises(InvalidRequest, match="LITERAL"):
            authorizer.decide(context, prefixed)
        authorizer.authorize(context, [Action(Operation.READ, topic("pay"))])
        with pytest.raises(InvalidRequest, match="LITERAL"):
            authorizer.authorize(context, [prefixed])


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (Operation.ANY, ResourceType.TOPIC),
        (Operation.UNKNOWN, ResourceType.TOPIC),
        (Operation.READ, ResourceType.ANY),
        (Operation.READ, ResourceType.UNKNOWN),
    ],
)
def test_by_resource_type_takes_one_operation_and_one_type(
    operation: Operation, kind: ResourceType
) -> None:
    with pytest.raises(
        InvalidRequest, match=f"^{operation.name} on {kind.name}: name one operation and one type$"
    ):
        StandardAuthorizer.from_acls([]).authorize_by_resource_type(APP, operation, kind)


def test_by_resource_type_is_kept_up_to_date() -> None:
    authorizer = StandardAuthorizer.from_acls([])

    def may_read() -> bool:
        return bool(authorizer.authorize_by_resource_type(APP, Operation.READ, ResourceType.TOPIC))

    assert not may_read()
    authorizer.add_acl(_id(10), _acl("pay"))
    assert may_read()
    denied = _acl("pay", Operation.ALL)._replace(permission_type=PermissionType.DENY)
    authorizer.add_acl(_id(11), denied)
    assert not may_read()
    authorizer.add_acl(_id(12), _acl("pa", host="10.0.0.1"))
    assert may_read()
    authorizer.remove_acl(_id(12))
    assert not may_read()
    authorizer.remove_acl(_id(11))
    assert may_read()


def test_additional_principals_match_acls_but_are_no_super_users() -> None:
    acls = [_acl("pay")._replace(principal="Group:payers")]
    authorizer = StandardAuthorizer.from_acls(acls, super_users=["Group:admins"])
    payer = RequestContext("User:x", "h", additional_principals=["Group:payers"])
    admin = RequestContext("User:x", "h", additional_principals=["Group:admins"])
    assert authorizer.is_allowed(payer, READ)
    assert not authorizer.is_allowed(admin, READ)
    assert not authorizer.is_allowed(RequestContext("User:x", "h"), READ)


def test_one_acl_under_two_ids_stays_until_both_are_gone() -> None:
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    authorizer.load_snapshot({_id(1): _acl("pay"), _id(2): _acl("pay")})
    assert authorizer.acl_count() == 2
    assert authorizer.acls() == (_acl("pay"),)
    authorizer.remove_acl(_id(1))
    assert authorizer.is_allowed(APP, READ)
    authorizer.remove_acl(_id(2))
    assert not authorizer.is_allowed(APP, READ)
    assert authorizer.acl_count() == 0


def test_an_id_that_is_bound_again_lets_go_of_what_it_had() -> None:
    authorizer = StandardAuthorizer.from_acls([_acl("pay")])
    authorizer.add_acl(_id(1), _acl("other"))
    assert authorizer.acls() == (_acl("other"),)
    with pytest.raises(InvalidRequest):
        authorizer.remove_acl(_id(2))


def test_images_are_taken_over_as_they_are_published() -> None:
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    image = _publish(
        authorizer, EMPTY, record_of(_id(1), _acl("pay")), record_of(_id(2), _acl("pay"))
    )
    assert authorizer.is_allowed(APP, READ)
    for number in range(3, 60):
        image = _publish(authorizer, image, record_of(_id(number), _acl(f"t{number}")))
    image = _publish(authorizer, image, RemoveAccessControlEntryRecord(_id(1)))
    assert authorizer.is_allowed(APP, READ)
    image = _publish(authorizer, image, RemoveAccessControlEntryRecord(_id(2)))
    assert not authorizer.is_allowed(APP, READ)
    assert authorizer.acl_count() == len(image.acls) == 57
    snapshot = MetadataDelta(image, is_replacement=True)
    snapshot.replay(record_of(_id(99), _acl("pay")))
    snapshot.finish_snapshot()
    authorizer.publish(snapshot, snapshot.apply(NOTHING), MANIFEST)
    assert authorizer.acls() == (_acl("pay"),)
    assert authorizer.acl_count() == 1


def test_what_is_published_about_other_things_forgets_nothing() -> None:
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    image = _publish(authorizer, EMPTY, record_of(_id(1), _acl("pay")))
    authorizer.is_allowed(APP, READ)
    decision_context = authorizer._decision_context
    _publish(authorizer, image, NoOpRecord())
    assert authorizer._decision_context is decision_context


def test_the_log_says_which_kafka_decides_unless_the_configuration_does() -> None:
    inside = RequestContext("User:app", "10.1.2.3")
    authorizers = {
        said: StandardAuthorizer.configured({"kafka.version": said} if said else {})
        for said in ("", "4.3", "4.4")
    }
    for said, authorizer in authorizers.items():
        authorizer.complete_initial_load()
        image = _publish(authorizer, EMPTY, record_of(_id(1), _acl("pay", host="10.0.0.0/8")))
        answers = [authorizer.is_allowed(inside, READ)]
        for level in (30, 31) if said == "4.3" else (31, 32, 33):
            image = _publish(authorizer, image, FeatureLevelRecord("metadata.version", level))
            answers.append(authorizer.is_allowed(inside, READ))
        by_log = [False, False, True, True]
        assert answers == {"": by_log, "4.3": [False] * 3, "4.4": [True] * 4}[said]


def test_a_block_that_decides_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    block = _acl("pay", host="10.0.0.0/24")
    StandardAuthorizer.from_acls([block], kafka_version="4.4")
    assert caplog.messages == []


def test_a_whole_image_replaces_all_whatever_was_missed() -> None:
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    image = _publish(authorizer, EMPTY, record_of(_id(1), _acl("pay")))
    for whole in (image, EMPTY):
        authorizer.publish(MetadataDelta.of_whole(whole), whole, MANIFEST)
        assert authorizer.is_allowed(APP, READ) is (whole is image)
        assert len(authorizer.acls()) == authorizer.acl_count() == len(whole.acls)


def _remembered(authorizer: StandardAuthorizer) -> list[SessionCache]:
    sessions = authorizer._decision_context._remembered.sessions.values()
    return [each for answers in sessions for each in answers._caches.values()]


def _names(authorizer: StandardAuthorizer) -> list[str]:
    sessions = authorizer._decision_context._remembered.sessions.values()
    return [name for answers in sessions for names in answers.verdicts for name in names]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("authorizer.engine.cache.remembered.MOST_ENTRIES", 50)
    authorizer = StandardAuthorizer.from_acls([_acl("pay")])
    most = 0
    for number in range(500):
        assert authorizer.is_allowed(APP, Action(Operation.READ, topic(f"pay{number}")))
        assert not authorizer.is_allowed(APP, Action(Operation.READ, group("x" * number)))
        names = _names(authorizer)
        most = max(most, len(names))
        assert all(len(name) <= 255 for name in names)
    assert 25 < most <= 50


@pytest.mark.parametrize("often", [0, 8])
@pytest.mark.parametrize("length", [1, 1_000, 16_000])
def test_what_is_remembered_of_strangers_is_bounded_in_bytes(
    length: int, often: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of sessions with principals of any length. A session that asks once is not
    cached."""
    limit = 1 << 20
    monkeypatch.setattr("authorizer.engine.cache.remembered.MOST_BYTES", limit)
    monkeypatch.setattr("authorizer.engine.cache.remembered.ADMISSION_THRESHOLD", often)
    monkeypatch.setattr("authorizer.engine.cache.remembered.HIGHEST_THRESHOLD", often)
    authorizer = StandardAuthorizer.from_acls([_acl("pay")])
    assert authorizer.is_allowed(APP, READ)
    tracemalloc.start()
    most = 0
    for number in range(3_000):
        stranger = RequestContext(f"User:{number}{'x' * length}", "10.0.0.1")
        assert not authorizer.is_allowed(stranger, READ)
        if number % 50 == 0:
            most = max(most, tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    if often:
        assert most < 100_000
    else:
        assert limit / 3 < most < limit * 1.3


def test_ten_million_sessions_take_what_few_take(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = remembered.MOST_ENTRIES // 1_000
    monkeypatch.setattr("authorizer.engine.cache.remembered.MOST_ENTRIES", bound)
    authorizer = StandardAuthorizer.from_acls([_acl("pay")])
    most = 0
    for number in range(10_000):
        stranger = RequestContext(f"User:{number}", "10.0.0.1")
        for _ in range(remembered.ADMISSION_THRESHOLD + 1 if number < 200 else 1):
            authorizer.authorize(stranger, [READ])
        sessions = authorizer._decision_context._remembered.sessions
        most = max(most, len(sessions) + len(_names(authorizer)))
        assert len(authorizer._decision_context.sessions) <= bound
    assert bound / 2 < most <= 2 * bound


def test_names_that_the_same_acls_reach_share_what_is_worked_out_of_them() -> None:
    """A fleet asks about more names than ACLs name: each took as long as a name with ACLs."""
    literals = [_acl(name)._replace(pattern_type=PatternType.LITERAL) for name in ("pay-own", "*")]
    authorizer = StandardAuthorizer.from_acls([_acl("pay"), _acl("pay-a"), *literals])
    for number in range(40):
        names = [f"{each}{number}" for each in ("pay", "pay-", "pay-a", "pay-own", "other-", "*-")]
        for name in (*names, "pay-own"):
            asking = RequestContext(f"User:{name}", f"10.0.0.{number}")
            authorizer.authorize(asking, [Action(Operation.READ, topic(name))])
    reaches = authorizer._decision_context._acls_by_name[ResourceType.TOPIC]
    by_longest_prefix, of_names_that_begin_with_a_star = 3, 40
    distinct = {id(reach) for reach in reaches.values()}
    assert len(distinct) == by_longest_prefix + 1 + of_names_that_begin_with_a_star


def test_what_nested_prefixes_come_to_is_counted_among_what_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("authorizer.engine.cache.remembered.MOST_ENTRIES", 50)
    monkeypatch.setattr("authorizer.engine.cache.remembered.ADMISSION_THRESHOLD", 0)
    nested = [
        _acl("p" * length)._replace(pattern_type=PatternType.PREFIXED) for length in range(1, 21)
    ]
    authorizer = StandardAuthorizer.from_acls(nested)
    for number in range(100):
        session = RequestContext("User:app", f"10.0.0.{number}")
        assert authorizer.is_allowed(session, Action(Operation.READ, topic("p" * 300)))
        held = _remembered(authorizer)
        assert sum(len(each._prefix_masks) - 1 for each in held) <= 50


@pytest.mark.parametrize(("level", "expected"), [("WARNING", 0), ("INFO", 1), ("DEBUG", 2), (5, 4)])
def test_audit_levels_are_kafkas(
    level: str | int, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    authorizer = StandardAuthorizer.from_acls([_acl("pay")])
    quiet = [
        Action(each.operation, each.resource, 1, log_if_allowed=False, log_if_denied=False)
        for each in (READ, WRITE)
    ]
    with caplog.at_level(level, logger=LOGGER):
        authorizer.authorize(APP, [READ, WRITE, *quiet])
    lines = [record for record in caplog.records if record.name == LOGGER]
    assert len(lines) == expected
    assert {record.levelno for record in lines} <= {logging.INFO, logging.DEBUG, 5}
    assert all(record.__dict__["source"] == (APP.principal, APP.host) for record in lines)


def test_a_change_of_level_is_seen_at_once(caplog: pytest.LogCaptureFixture) -> None:
    """The answers use the logger's cached level, so any change of it must show at once."""
    authorizer = StandardAuthorizer.from_acls([])
    logger, parent = logging.getLogger(LOGGER), logging.getLogger("kafka.authorizer")

    def is_logged() -> bool:
        caplog.clear()
        authorizer.authorize(APP, [READ])
        authorizer.authorize_by_resource_type(APP, Operation.READ, ResourceType.GROUP)
        return len([record for record in caplog.records if record.name == LOGGER]) == 1

    before = logger.level, parent.level
    try:
        for quieten, wake in [
            (lambda: logger.setLevel("WARNING"), lambda: logger.setLevel("INFO")),
            (lambda: logger.setLevel("NOTSET"), lambda: parent.setLevel("INFO")),
            (lambda: parent.setLevel("ERROR"), lambda: parent.setLevel("DEBUG")),
            (lambda: logging.disable("INFO"), lambda: logging.disable("NOTSET")),
            (lambda: setattr(logger, "disabled", True), lambda: setattr(logger, "disabled", False)),
        ]:
            quieten()
            assert not is_logged()
            assert not is_logged()
            wake()
            assert is_logged()
            assert is_logged()
    finally:
        logging.disable("NOTSET")
        logger.disabled = False
        logger.setLevel(before[0])
        parent.setLevel(before[1])


def test_one_call_is_answered_from_one_image_while_a_writer_writes() -> None:
    """Two topics are always granted together, by one snapshot or delta, or not at all."""
    both = {_id(1): _acl("payments"), _id(2): _acl("orders")}
    actions = [READ, Action(Operation.READ, topic("orders"))] * 3
    authorizer = StandardAuthorizer()
    authorizer.complete_initial_load()
    done = threading.Event()
    mixed: list[object] = []
    asked = [0] * 4

    def read(number: int) -> None:
        while not done.is_set():
            results = authorizer.authorize(APP, actions)
            asked[number] += 1
            if len(set(results)) != 1:
                mixed.append(results)
            authorizer.acls()
            authorizer.authorize_by_resource_type(APP, Operation.READ, ResourceType.TOPIC)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for reader in readers:
        reader.start()
    image = EMPTY
    try:
        for _ in range(300):
            authorizer.load_snapshot(both)
            authorizer.load_snapshot({})
            image = _publish(authorizer, image, *(record_of(*item) for item in both.items()))
            image = _publish(authorizer, image, *map(RemoveAccessControlEntryRecord, both))
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not mixed
    assert all(asked)


@pytest.mark.parametrize(
    ("operation", "rights", "level", "rule"),
    [
        (Operation.READ, "Allowed", logging.DEBUG, "MatchingAcl("),
        (Operation.WRITE, "Denied", 5, "DefaultDeny"),
    ],
)
def test_a_decision_by_resource_type_is_audited_as_kafkas(
    operation: Operation, rights: str, level: int, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka asks about a resource that it calls hardcode, and logs that."""
    authorizer = StandardAuthorizer.from_acls([_acl("hard")])
    with caplog.at_level(5, logger=LOGGER):
        for _ in range(2):
            result = authorizer.authorize_by_resource_type(APP, operation, ResourceType.TOPIC)
    line, _ = [record for record in caplog.records if record.name == LOGGER]
    assert (result is ALLOWED, line.levelno) == (rights == "Allowed", level)
    assert line.getMessage().startswith(
        f"Principal = User:app is {rights} operation = {operation.name} from host = 10.0.0.1 on "
        "resource = Topic:LITERAL:hardcode for request = Produce with resourceRefCount = 0 "
        f"based on rule {rule}"
    )


def test_changes_go_to_the_writer_of_the_log_and_without_one_to_nobody() -> None:
    asked: list[object] = []

    class Writer:
        def create_acls(self, *arguments: object) -> Any:
            asked.append(arguments)
            return ["created"]

        def delete_acls(self, *arguments: object) -> Any:
            asked.append(arguments)
            return ["deleted"]

    authorizer = StandardAuthorizer.from_acls([])
    acls, filters = [_acl("t")], [ANY_ACL]
    for change in (
        lambda: authorizer.create_acls(ADMIN, acls),
        lambda: authorizer.delete_acls(ADMIN, filters),
    ):
        with pytest.raises(NotController, match=r"^ACLs cannot be changed here: no log is open"):
            change()
    writer: Any = Writer()
    authorizer.set_acl_mutator(writer)
    assert authorizer.create_acls(ADMIN, acls) == ["created"]
    assert authorizer.delete_acls(ADMIN, filters) == ["deleted"]
    assert asked == [(ADMIN, acls), (ADMIN, filters)]


def test_without_a_time_nothing_is_stale_and_with_zero_only_what_is_behind() -> None:
    authorizer = StandardAuthorizer.configured({"stale.deny.after.ms": "0"})
    authorizer.load_snapshot({_id(1): _acl("pay")})
    authorizer.complete_initial_load()
    for for_ms, is_open in [(0, True), (1, False), (0, True), (2, False)]:
        authorizer.note_staleness(for_ms)
        assert (not authorizer.shut_by) == is_open


def test_a_published_image_is_up_to_date_even_with_the_shortest_time() -> None:
    authorizer = StandardAuthorizer.configured({"stale.deny.after.ms": "1"})
    authorizer.complete_initial_load()
    authorizer.note_staleness(1)
    assert authorizer.shut_by
    _publish(authorizer, EMPTY, record_of(_id(1), _acl("pay")))
    assert authorizer.shut_by == ""


def test_the_index_is_not_made_again_for_each_reader() -> None:
    authorizer = StandardAuthorizer()
    for change in (
        lambda: None,
        lambda: authorizer.load_snapshot({_id(1): _acl("pay")}),
        lambda: _publish(authorizer, EMPTY, record_of(_id(2), _acl("pay"))),
        lambda: authorizer.complete_initial_load(),
        lambda: authorizer.add_acl(_id(3), _acl("other")),
    ):
        change()
        assert authorizer.index is authorizer.index


def test_a_new_authorizer_is_shut_and_says_why() -> None:
    authorizer = StandardAuthorizer()
    assert authorizer.shut_by == "the ACLs are not loaded up to the high-water mark yet"
    with pytest.raises(AuthorizerNotReady):
        authorizer.is_allowed(APP, READ)


def test_an_acl_of_no_id_cannot_be_removed() -> None:
    authorizer = StandardAuthorizer.from_acls([])
    with pytest.raises(
        InvalidRequest, match=r"^there is no ACL with the id AAAAAAAAAAAAAAAAAAAACQ$"
    ):
        authorizer.remove_acl(_id(9))


def test_an_image_that_was_published_is_not_changed_by_the_next_acl() -> None:
    authorizer = StandardAuthorizer()
    delta = MetadataDelta(EMPTY)
    delta.replay(record_of(_id(1), _acl("pay")))
    image = delta.apply(NOTHING)
    authorizer.publish(delta, image, MANIFEST)
    authorizer.complete_initial_load()
    authorizer.add_acl(_id(2), _acl("other"))
    assert authorizer.acl_count() == len(authorizer.acls()) == 2
    assert len(image.acls) == 1


def test_allow_everyone_is_of_resources_without_acls() -> None:
    authorizer = StandardAuthorizer.from_acls([_acl("pay")], allow_everyone=True)
    assert authorizer.is_allowed(APP, Action(Operation.WRITE, topic("other")))
    assert not authorizer.is_allowed(APP, WRITE)
