"""Makes class data sharing archives (AppCDS) of Kafka's classes for the JVM.

With an archive, Kafka and each of its tools start in half the time. The JVM ignores an archive
that does not fit. This module must not know the code under test.

    python -m tests.support.kafka.classes build/kafka/4.3.1/jars
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.kafka.tools import CLUSTER_ID, KafkaTools, RealKafka


def keep_classes(jars: Path) -> None:
    """Archive the classes that a node uses, which include most that the tools use."""
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
