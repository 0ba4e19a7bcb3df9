from __future__ import annotations

import re

from metalog.wire.fetch import FetchPosition, fetch_request
from metalog.wire.frames import framed
from metalog.wire.messages import write_request
from tests.support.kafka.cases import REPOSITORY

PAGE = (REPOSITORY / "docs" / "formats" / "wire.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| `([0-9a-f ]+)` \|", re.MULTILINE)


def test_the_example_is_what_is_sent() -> None:
    request = fetch_request(18, FetchPosition(1024, 2, 2, 1024), cluster_id=None, wait_s=0.5)
    sent = framed(write_request(request, 3, "kraft-metalog"))
    at = 0
    for place, text in ROW.findall(PAGE):
        part = bytes.fromhex(text.replace(" ", ""))
        assert (int(place), part) == (at, sent[at : at + len(part)])
        at += len(part)
    assert at == len(sent)
