"""Reads the ACLs and users of any SOURCE as a document.

This module must not know formats.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from metalog.controller.acl import why_not
from metalog.errors import InvalidSource
from metalog.text.plurals import counted
from metalog_sources.store import document_of
from shell.context import opened_text, replayed_source, state_document
from shell.output.output import Output
from shell.tasks.acl_words import sentence

if TYPE_CHECKING:
    from metalog.image.metadata import MetadataImage
    from metalog_sources.formats.document import Document
    from metalog_sources.source import Source

_MOST_NAMED = 5


class SourceDocument(NamedTuple):
    """A store's document has the store's notes and ``owns`` lists; a store has no image."""

    source: Source
    document: Document
    image: MetadataImage | None


def read_document(
    text: str,
    arguments: Namespace,
    output: Output,
    *,
    is_whole: bool = False,
    rests_on_users: bool = False,
) -> SourceDocument:
    """The ACLs and users of the SOURCE ``text``. Print warnings about the content.

    ``rests_on_users``: the caller uses the SCRAM users, too. A log can contain ACLs that Kafka
    would refuse to create. Without ``is_whole``, the document does not contain these ACLs.
    """
    source = opened_text(text, arguments, output)
    if source.store is not None and arguments.at is None and not arguments.committed:
        store = source.store
        document = state_document(store.state(), arguments, output, rests_on_users=rests_on_users)
        return SourceDocument(source, document, None)
    image = replayed_source(arguments, output, source, is_whole=is_whole).image
    document = document_of(image)
    if is_whole:
        return SourceDocument(source, document, image)
    refused = [acl for acl in document.acls if why_not(acl)]
    for acl in refused[:_MOST_NAMED]:
        output.warn(f"left out, because Kafka would refuse to create it: {sentence(acl)}")
    if len(refused) > _MOST_NAMED:
        output.warn(
            f"left out for the same reason: {counted(len(refused) - _MOST_NAMED, 'more ACL')}"
        )
    entries = tuple(entry for entry in document.entries if not why_not(entry.acl))
    if refused and not entries:
        raise InvalidSource(f"{text}: Kafka would refuse to create each of its ACLs; none is left")
    return SourceDocument(source, document._replace(entries=entries), image)
