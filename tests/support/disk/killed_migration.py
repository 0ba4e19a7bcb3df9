"""A process that applies wanted ACLs to a folder, in many small batches, until it is killed.

This module must not know when it is killed.
"""

from __future__ import annotations

import sys

from metalog.controller import transaction
from shell.main import main

RECORDS_PER_BATCH = 20

if __name__ == "__main__":
    transaction.RECORDS_PER_BATCH = RECORDS_PER_BATCH  # type: ignore[misc]
    sys.exit(main(["apply", *sys.argv[1:]]))
