"""The mark of text that was not UTF-8 when it was written.

Java, and so Kafka, decodes bytes that are not UTF-8 to U+FFFD. A valid name may also contain that
character; only the record's bytes show the difference. This module must not know records.
"""

from __future__ import annotations

from typing import Final

NOT_UTF8: Final = "has text that is not UTF-8"
