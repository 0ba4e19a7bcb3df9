"""The version that ``metalog --version`` prints; a test compares it with the package's version.

It is a constant, because ``importlib.metadata`` takes longer than the rest of ``--version``.
"""

from typing import Final

VERSION: Final = "0.1.0"
KAFKA_VERSIONS: Final = "4.3.1 and 4.4.0"
VERSION_LINE: Final = f"metalog {VERSION} (tested against Apache Kafka {KAFKA_VERSIONS})"
