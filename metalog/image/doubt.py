"""The mark of text that was not UTF-8 when it was written.

Java, and so Kafka, decodes bytes that are not UTF-8 to U+FFFD. A name may also hold that
character rightly; only the record's own bytes tell. This module must not know records.
"""

from __future__ import annotations

from typing import Final

NOT_UTF8: Final = "has text that is not UTF-8"
