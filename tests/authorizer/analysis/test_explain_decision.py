"""``explain_decision`` explains the decision that the authorizer makes."""

from __future__ import annotations

from authorizer import Acl, Action, AuthorizerConfig, RequestContext, StandardAuthorizer
from authorizer.analysis import Question, explain_decision
from authorizer.api import ResourcePattern
from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING, Leader, LogManifest
from metalog.image.metadata import EMPTY
from metalog.image.state.acls import record_of
from metalog.image.state.features import CIDR_HOSTS_SINCE
from metalog.records.messages import FeatureLevelRecord
from tests.support.worlds.small_world import for_many_worlds

NEWEST_4_3 = CIDR_HOSTS_SINCE - 1


def _fed(acls: list[Acl], config: AuthorizerConfig, level: int | None) -> StandardAuthorizer:
    """An authorizer that was fed the image of a log with this metadata.version."""
    delta = MetadataDelta(EMPTY)
    if level is not None:
        delta.replay(FeatureLevelRecord("metadata.version", level))
    for number, acl in enumerate(acls, 1):
        delta.replay(record_of(Uuid(number.to_bytes(16, "big")), acl))
    authorizer = StandardAuthorizer(config)
    authorizer.publish(delta, delta.apply(NOTHING), LogManifest(NOTHING, Leader(1, 1), 1, 1, 1))
    authorizer.complete_initial_load()
    return authorizer


@for_many_worlds
def test_the_explained_decision_is_the_authorizers(
    acls: list[Acl], config: AuthorizerConfig, question: Question
) -> None:
    """Whatever the configuration leaves to the log."""
    context = RequestContext(question.principal, question.host or "192.0.2.1")
    resource = ResourcePattern(question.resource_type, question.resource_name)
    action = Action(question.operation, resource)
    by_log = config._replace(kafka_version=None)
    for given, level in ((config, NEWEST_4_3), (by_log, None), (by_log, CIDR_HOSTS_SINCE)):
        authorizer = _fed(acls, given, level)
        decision = authorizer.decide(context, action)
        assert explain_decision(authorizer, context, action).trace.decision == decision
