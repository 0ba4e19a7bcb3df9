"""Values are written as by Java 17 (Double.toString, Optional, times)."""

import pytest

from metalog.ids import METADATA_TOPIC_ID, ZERO_UUID
from shell.browser.tree.kafka import boolean, bracketed, double, optional, uuids, zoned_time


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e7, "1.0E7"),
        (0.001, "0.001"),
        (123456789.125, "1.23456789125E8"),
        (1e-4, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e21, "1.0E21"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1 / 3, "0.3333333333333333"),
        (0.002, "0.002"),
        (4.35, "4.35"),
        (100000.0, "100000.0"),
        (12345678.0, "1.2345678E7"),
        (-2048.5, "-2048.5"),
        (-0.0, "-0.0"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles(value, text):
    assert double(value) == text


@pytest.mark.parametrize(
    ("epoch_ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z[UTC]"),
        (-1, "1969-12-31T23:59:59.999Z[UTC]"),
        (60000, "1970-01-01T00:01:00Z[UTC]"),
        (1700000000123, "2023-11-14T22:13:20.123Z[UTC]"),
        (1700000000120, "2023-11-14T22:13:20.12Z[UTC]"),
        (1700000000100, "2023-11-14T22:13:20.1Z[UTC]"),
        (-62135596800000, "0001-01-01T00:00:00Z[UTC]"),
        (2**62, "4611686018427387904 ms"),
    ],
)
def test_times(epoch_ms, text):
    assert zoned_time(epoch_ms) == text


def test_the_rest():
    assert (optional(None), optional("a")) == ("Optional.empty", "Optional[a]")
    assert (boolean(True), boolean(False)) == ("true", "false")
    assert bracketed([1, 2]) == "[1, 2]"
    assert uuids([METADATA_TOPIC_ID, ZERO_UUID]) == (
        "[AAAAAAAAAAAAAAAAAAAAAQ, AAAAAAAAAAAAAAAAAAAAAA]"
    )
