"""Analyzes ACLs: the reason of a decision, near misses, remedies, and who may do what.

The names below are the public API.
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from authorizer.analysis.explain.decisions import explain_decision as explain_decision
    from authorizer.analysis.explain.explain import Explanation as Explanation
    from authorizer.analysis.explain.kinds import NearMissKind as NearMissKind
    from authorizer.analysis.explain.near_misses import NearMiss as NearMiss
    from authorizer.analysis.remedies.remedies import Remedy as Remedy
    from authorizer.trace import Attribute as Attribute
    from authorizer.trace import Candidate as Candidate
    from authorizer.trace import Question as Question
    from authorizer.trace import Standing as Standing
    from authorizer.trace import Trace as Trace

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "authorizer.analysis.explain.decisions": "explain_decision",
            "authorizer.analysis.explain.explain": "Explanation",
            "authorizer.analysis.explain.kinds": "NearMissKind",
            "authorizer.analysis.explain.near_misses": "NearMiss",
            "authorizer.analysis.remedies.remedies": "Remedy",
            "authorizer.trace": "Attribute Candidate Question Standing Trace",
        },
    )
