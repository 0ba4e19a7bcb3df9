"""The state of a SOURCE at one moment, for programs such as tests and reports.

This module must not know what the image is used for.
"""

from __future__ import annotations

import os
from pathlib import Path

from metalog.errors import AuthorizerNotReady
from metalog.image.metadata import MetadataImage
from metalog.image.selection import AUTHORIZATION
from metalog.ports import ClosableLog
from metalog_sources.certainty import refuse_doubts
from metalog_sources.moment import parse_moment
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source


def image_at(
    source: str | Path,
    moment: str | None = None,
    *,
    command_config: str | Path | None = None,
    is_whole: bool = False,
) -> MetadataImage:
    """The state of a SOURCE at a moment. The source stays unchanged.

    ``StandardAuthorizer.from_acls(image.acls.by_id.values(), tolerant=True)`` decides by the image.

    Args:
        source: as for every reading verb of ``metalog``: a folder, a file, an export,
            ``quorum://``, ``topic://``, ``cluster://``, or ``@NAME`` of a ``metalog.toml``.
        moment: as for ``--at``: an offset (``151``: the state before that record), a time
            (``2026-11-21T18:44:50``, in UTC), ``@MILLIS``, or ``-6h`` (six hours before
            the log's last record). None is the end, the only moment of a store.
        command_config: a file of a client's keys, for a SOURCE of a running cluster.
        is_whole: read all kinds of state (``ImageSubject``). The default is faster and reads only
            topic names and the kinds on which decisions depend. The use of an unread kind raises
            ``AttributeError``.

    Returns:
        The image; ``image.provenance`` has its offset and time.

    Raises:
        InvalidSource: the source cannot be opened, or is a store and ``moment`` is not None.
        InvalidMoment: ``moment`` has none of the forms, or the log has no state at ``moment``.
        AuthorizerNotReady: the log has no metadata record before ``moment``.
        CorruptLog: the log is damaged, or the source has a doubt.
    """
    at = None if moment is None else parse_moment(moment)
    config = None if command_config is None else Path(command_config)
    opened = open_source(str(source), environ=os.environ, command_config=config)
    try:
        replayed = replay_source(opened, at=at, selection=None if is_whole else AUTHORIZATION)
    finally:
        if isinstance(opened.opened, ClosableLog):
            opened.opened.close()
    refuse_doubts(replayed.doubts, salvage=None)
    if not replayed.ready:
        raise AuthorizerNotReady(
            f"{source}: there is no metadata record before offset {replayed.offset}, so an"
            " authorizer cannot answer there"
        )
    return replayed.image
