"""Helpers that tests share, one folder per subject: `from tests.support.kafka.cases import
REPOSITORY`.

Nothing here is a test, and no module of ours imports it. This package must not know a test.
"""
