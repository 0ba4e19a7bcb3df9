"""A cluster's ACLs and users in memory, for the tests of an application.

    python -m pytest examples/access_double.py

The tests below are examples. The application under test gets ``double.authorizer``, which decides
as a broker does; no Kafka runs.
"""

from authorizer import (
    Acl,
    Action,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourceType,
    StandardAuthorizer,
    topic,
)
from authorizer.analysis import NearMissKind, explain_decision
from metalog import (
    Manifest,
    MetadataDelta,
    MetadataImage,
    Replica,
    ScramMechanism,
    WritableMemoryLog,
)
from metalog_sources import image_at

MECHANISM = ScramMechanism.SCRAM_SHA_512
READ_PAYMENTS = Action(Operation.READ, topic("payments-eu"))
DEMO = "metalog_sources/demo/log-dir"


def acl(principal: str, name: str, *, permission: PermissionType = PermissionType.ALLOW) -> Acl:
    """``principal`` may read the topics whose names begin with ``name``, or may not."""
    pattern = PatternType.PREFIXED
    return Acl(ResourceType.TOPIC, name, pattern, principal, "*", Operation.READ, permission)


class AccessDouble:
    """The double: ``with AccessDouble() as double:``. Each change has an offset, for looking
    back."""

    def __init__(self, *super_users: str) -> None:
        self._super_users = super_users
        self._images: dict[int, MetadataImage] = {}
        self.authorizer = StandardAuthorizer.configured({"super.users": ";".join(super_users)})
        self.replica = Replica(WritableMemoryLog(), publishers=[self.authorizer, self])

    def __enter__(self) -> "AccessDouble":
        self.replica.start()
        self.replica.wait_until_loaded(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.replica.close()

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        self._images[image.provenance.offset] = image

    def add(self, *acls: Acl) -> int:
        """The offset at which the ACLs are in force."""
        for created in self.replica.create_acls(None, acls):
            error = created.result(10)
            assert not error, error.message
        return self.replica.image.provenance.offset

    def add_user(self, name: str, password: str) -> None:
        error = self.replica.set_scram_password(name, password, mechanism=MECHANISM).result(10)
        assert not error, error.message

    def login(self, name: str, password: str) -> RequestContext | None:
        credential = self.replica.image.scram.credential(MECHANISM, name)
        if credential is None or not credential.is_of(MECHANISM, password):
            return None
        return RequestContext(f"User:{name}", "127.0.0.1")

    def at(self, offset: int) -> StandardAuthorizer:
        """An authorizer with the ACLs in force at ``offset``."""
        acls = self._images[offset].acls.by_id.values()
        return StandardAuthorizer.from_acls(acls, super_users=self._super_users)


def test_a_user_reads_what_its_acls_allow() -> None:
    with AccessDouble() as double:
        double.add_user("billing", "billing-secret")
        billing = double.login("billing", "billing-secret")
        assert billing is not None
        assert double.login("billing", "another") is None
        assert not double.authorizer.is_allowed(billing, READ_PAYMENTS)
        before = double.add(acl("User:billing", "payments-"))
        assert double.authorizer.is_allowed(billing, READ_PAYMENTS)
        double.add(acl("User:*", "payments-eu", permission=PermissionType.DENY))
        assert not double.authorizer.is_allowed(billing, READ_PAYMENTS)
        assert double.at(before).is_allowed(billing, READ_PAYMENTS)


def test_a_denial_says_why() -> None:
    authorizer = StandardAuthorizer.from_acls([acl("User:Billing", "payments-")])
    billing = RequestContext("User:billing", "10.0.4.12")
    assert authorizer.decide(billing, READ_PAYMENTS).rule == "DefaultDeny"
    explanation = explain_decision(authorizer, billing, READ_PAYMENTS)
    assert [near.kind for near in explanation.near_misses] == [NearMissKind.PRINCIPAL_CASE]
    assert explanation.remedies[0].add[0].principal == "User:billing"


def test_billing_could_read_once() -> None:
    """An incident of the application as a test, on the log of a real Kafka."""
    billing = RequestContext("User:billing", "10.0.4.12")
    for moment, was_allowed in (("151", True), (None, False)):
        image = image_at(DEMO, moment)
        authorizer = StandardAuthorizer.from_acls(image.acls.by_id.values(), tolerant=True)
        assert authorizer.is_allowed(billing, READ_PAYMENTS) is was_allowed
