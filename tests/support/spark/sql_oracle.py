"""Decides requests as of their own time by joins in Spark SQL, independently of our code.

It reads the tables of a pipeline's folder as they are, and takes quadratic time. Tests use it, and
the benchmark shows with it what the obvious solution costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ALIVE = """
    (a.from_time IS NULL OR a.from_time <= r.time) AND (a.to_time IS NULL OR r.time < a.to_time)"""
_CONFIGURED = """
    (c.from_time IS NULL OR c.from_time <= r.time) AND (c.to_time IS NULL OR r.time < c.to_time)"""
_REACHES = """
    a.resource_type = r.resource_type AND CASE
        WHEN a.pattern_type <> 'LITERAL' THEN startswith(r.resource_name, a.resource_name)
        WHEN a.resource_name = '*'
            THEN r.resource_name = '*' OR NOT startswith(r.resource_name, '*')
        ELSE a.resource_name = r.resource_name END"""


def _number(host: str) -> str:
    """An IPv4 address as a number; null if it does not have four numbers."""
    parts = (f"try_cast(split_part({host}, '.', {place}) AS BIGINT)" for place in (1, 2, 3, 4))
    return "((({} * 256 + {}) * 256 + {}) * 256 + {})".format(*parts)


def _bits(host: str) -> str:
    """An IPv6 address as a text of 128 binary digits."""
    before, after = (
        f"filter(split(split_part({host}, '::', {part}), ':'), each -> each <> '')"
        for part in (1, 2)
    )
    zeros = f"array_repeat('0', 8 - size({before}) - size({after}))"
    groups = f"concat({before}, {zeros}, {after})"
    return f"array_join(transform({groups}, each -> lpad(conv(each, 16, 2), 16, '0')), '')"


_ADDRESS = "split_part(a.host, '/', 1)"
_LENGTH = "try_cast(split_part(a.host, '/', 2) AS INT)"
_IN_BLOCK = f"""
    c.kafka_version = '4.4' AND contains(a.host, '/') AND coalesce(CASE
        WHEN contains(a.host, ':') THEN contains(r.host, ':')
            AND left({_bits(_ADDRESS)}, {_LENGTH}) = left({_bits("r.host")}, {_LENGTH})
        ELSE shiftright({_number(_ADDRESS)}, 32 - {_LENGTH})
            = shiftright({_number("r.host")}, 32 - {_LENGTH}) END, false)"""
"""Whether the block contains the address; only for texts without special cases, such as a zone."""
_MATCHES = f"""
    a.principal IN (r.principal, 'User:*') AND (a.host IN (r.host, '*') OR {_IN_BLOCK}) AND (
        a.operation IN ('ALL', r.operation)
        OR a.permission_type = 'ALLOW' AND (
            r.operation = 'DESCRIBE' AND a.operation IN ('READ', 'WRITE', 'DELETE', 'ALTER')
            OR r.operation = 'DESCRIBE_CONFIGS' AND a.operation = 'ALTER_CONFIGS'))"""
_OPERATIONS = (
    "array('ALL', 'READ', 'WRITE', 'CREATE', 'DELETE', 'ALTER', 'DESCRIBE', 'CLUSTER_ACTION',"
    " 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS', 'IDEMPOTENT_WRITE', 'CREATE_TOKENS',"
    " 'DESCRIBE_TOKENS', 'TWO_PHASE_COMMIT')"
)
_ORDER = f"""
    a.pattern_type = 'LITERAL' AND a.resource_name <> r.resource_name, -length(a.resource_name),
    a.pattern_type, array_position({_OPERATIONS}, a.operation), a.principal, a.host"""
_SQL = f"""
WITH edges AS (
    SELECT from_offset AS at, from_time AS time FROM {{changelog}} WHERE from_offset IS NOT NULL
    UNION ALL
    SELECT to_offset, to_time FROM {{changelog}} WHERE to_offset IS NOT NULL
    UNION ALL
    SELECT min(from_offset), min(from_time) FROM {{history}} WHERE kind = 'KNOWN'
), found AS (
    SELECT r.line,
        count(a.id) AS reached,
        min_by(a.id, struct({_ORDER}, coalesce(a.from_offset, -1)))
            FILTER (WHERE a.permission_type <> 'ALLOW' AND {_MATCHES}) AS denying,
        max_by(a.id, struct({_ORDER}, -coalesce(a.from_offset, -1)))
            FILTER (WHERE a.permission_type = 'ALLOW' AND {_MATCHES}) AS allowing
    FROM {{requests}} r JOIN {{configuration}} c ON {_CONFIGURED}
        LEFT JOIN {{changelog}} a ON {_ALIVE} AND {_REACHES}
    GROUP BY r.line
), moments AS (
    SELECT r.line, max(e.at) AS log_offset
    FROM {{requests}} r LEFT JOIN edges e ON e.time <= r.time
    GROUP BY r.line
), holes AS (
    SELECT r.line, count(h.kind) AS covering
    FROM {{requests}} r LEFT JOIN {{history}} h ON h.kind <> 'KNOWN'
        AND (h.from_time IS NULL OR h.from_time <= r.time)
        AND (h.to_time IS NULL OR r.time < h.to_time)
    GROUP BY r.line
), ruled AS (
    SELECT r.*, m.log_offset, f.denying, f.allowing, h.covering,
        CASE
            WHEN array_contains(c.super_users, r.principal) THEN 'SuperUser'
            WHEN f.denying IS NOT NULL OR f.allowing IS NOT NULL THEN 'MatchingAcl'
            WHEN f.reached = 0 AND c.allow_everyone THEN 'DefaultAllow'
            ELSE 'DefaultDeny'
        END AS rule_then
    FROM {{requests}} r JOIN found f USING (line) JOIN moments m USING (line)
        JOIN holes h USING (line)
        JOIN {{configuration}} c ON {_CONFIGURED}
)
SELECT line, log_offset,
    CASE
        WHEN log_offset IS NULL THEN NULL
        WHEN rule_then IN ('SuperUser', 'DefaultAllow') THEN 'ALLOWED'
        WHEN rule_then = 'MatchingAcl' AND denying IS NULL THEN 'ALLOWED'
        ELSE 'DENIED'
    END AS decided,
    CASE WHEN log_offset IS NOT NULL THEN rule_then END AS decided_rule,
    CASE WHEN log_offset IS NOT NULL AND rule_then = 'MatchingAcl'
        THEN coalesce(denying, allowing) END AS acl_id,
    log_offset IS NOT NULL AND covering = 0 AS known
FROM ruled
"""


def decided_by_joins(
    requests: DataFrame, changelog: DataFrame, history: DataFrame, configuration: DataFrame
) -> DataFrame:
    """The columns that DECISIONS adds to ``requests``, each of which must have a different
    ``line``."""
    return requests.sparkSession.sql(
        _SQL, requests=requests, changelog=changelog, history=history, configuration=configuration
    )
