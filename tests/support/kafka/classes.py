"""Has Kafka's classes kept as the JVM has them once it has read and checked them.

With them Kafka, and each of its tools, starts in half the time. What it keeps the JVM leaves
alone where it does not fit. This module must not know the code under test.

    python -m tests.support.kafka.classes build/kafka/4.3.1/jars
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.kafka.tools import CLUSTER_ID, KafkaTools, RealKafka


def keep_classes(jars: Path) -> None:
    """Those that a node needs, which are most that the tools need too."""
    tools = KafkaTools(jars)
    with TemporaryDirectory() as folder:
        kafka = RealKafka(tools._replace(keeps_classes=True), Path(folder), {})
        formatting = tools.command(
            "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", kafka.config
        )
        subprocess.run(formatting, stdout=subprocess.DEVNULL, check=True)
        kafka.start()
        kafka.stop()


if __name__ == "__main__":
    keep_classes(Path(sys.argv[1]).resolve())
