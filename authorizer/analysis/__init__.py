"""Answers beyond yes and no: reasons, near misses, remedies, and the principals that may.

The names below are what others need from here; each is imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from authorizer.analysis.decisions import explain_decision as explain_decision
    from authorizer.analysis.explain import Explanation as Explanation
    from authorizer.analysis.kinds import NearMissKind as NearMissKind
    from authorizer.analysis.near_misses import NearMiss as NearMiss
    from authorizer.analysis.remedies import Remedy as Remedy
    from authorizer.trace import Attribute as Attribute
    from authorizer.trace import Candidate as Candidate
    from authorizer.trace import Question as Question
    from authorizer.trace import Standing as Standing
    from authorizer.trace import Trace as Trace

__all__ = [
    "Attribute",
    "Candidate",
    "Explanation",
    "NearMiss",
    "NearMissKind",
    "Question",
    "Remedy",
    "Standing",
    "Trace",
    "explain_decision",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "authorizer.analysis.decisions": ("explain_decision",),
            "authorizer.analysis.explain": ("Explanation",),
            "authorizer.analysis.kinds": ("NearMissKind",),
            "authorizer.analysis.near_misses": ("NearMiss",),
            "authorizer.analysis.remedies": ("Remedy",),
            "authorizer.trace": ("Attribute", "Candidate", "Question", "Standing", "Trace"),
        },
    )
