"""Selects the subjects of the image (rows of ``SUBJECTS``) that a replay reads.

A replay ignores records of unselected subjects, and does not decode most of them. In the image, an
``UnreadSubject`` replaces each unselected subject, and refuses every use.

This module must not know who selects, nor what a log is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.state.topics import PARTITION_RECORDS
from metalog.image.subjects import NOT_KEPT, SUBJECTS
from metalog.image.unread_subject import UnreadSubject
from metalog.records.message import Message
from metalog.records.unread import UnreadTypes


class ImageSelection:
    """Selects ``subjects``, and all subjects that concern authorization.

    Args:
        subjects: the names of subjects, as in ``SUBJECTS``.
        partitions: if false, topics have names and ids only.

    A replay begins with the image ``empty`` and skips the record types in ``unread``.
    """

    def __init__(self, subjects: Iterable[str], *, partitions: bool) -> None:
        wanted = {*subjects, *(each.name for each in SUBJECTS if each.concerns_authorization)}
        left_out = [each for each in SUBJECTS if each.name not in wanted]
        types: list[Any] = [
            record for each in left_out for record in each.records if issubclass(record, Message)
        ]
        if not partitions:
            types += PARTITION_RECORDS
        replaced: dict[str, Any] = {each.name: UnreadSubject(each.name) for each in left_out}
        if not partitions and "topics" in wanted:
            unread: Any = UnreadSubject("partitions")
            replaced["topics"] = EMPTY.topics._replace(partitions_at_first=unread)
        self.empty: MetadataImage = EMPTY._replace(**replaced)
        self.unread = UnreadTypes((*types, *NOT_KEPT))


AUTHORIZATION: Final = ImageSelection(("features", "topics"), partitions=False)
"""The subjects for decisions, and the names of topics."""
