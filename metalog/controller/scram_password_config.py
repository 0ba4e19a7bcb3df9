"""A node's settings for KIP-506's passwords: KIP-506's keys, and one key of this project.

A misspelt key would leave passwords unchecked, so a node with an invalid setting does not start.
This module must not know requests, nor load a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from metalog.errors import ConfigException
from metalog.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramMechanism
from metalog.text.whole_numbers import whole_number

POLICY_CLASS: Final = "sasl.scram.password.policy.class"
ENABLED_MECHANISMS: Final = "sasl.scram.password.change.enabled.mechanisms"
ITERATIONS: Final = {
    mechanism: f"sasl.scram.password.change.{mechanism.short_name}.iterations"
    for mechanism in ScramMechanism
}
SALTED_ENABLE: Final = "sasl.scram.password.salted.enable"
"""Not in KIP-506: whether KIP-554's requests may set passwords. Their passwords are salted, so no
policy can check them."""
KEYS: Final = (POLICY_CLASS, ENABLED_MECHANISMS, *ITERATIONS.values(), SALTED_ENABLE)
_PREFIX: Final = "sasl.scram.password."
_MECHANISMS: Final = {mechanism.short_name: mechanism for mechanism in ScramMechanism}


class ScramPasswordConfig(NamedTuple):
    """The settings of one node.

    ``iterations`` has the enabled mechanisms. ``policy_class`` is a class's full name.
    ``takes_salted``: whether KIP-554's requests may set passwords.
    """

    iterations: Mapping[ScramMechanism, int] = dict.fromkeys(ScramMechanism, MIN_ITERATIONS)
    policy_class: str | None = None
    takes_salted: bool = True

    @classmethod
    def configured(cls, properties: Mapping[str, object]) -> ScramPasswordConfig:
        """Read the keys ``sasl.scram.password.*`` in ``properties`` (key -> value).

        Raises:
            ConfigException: a value is invalid, or a key is unknown.
        """
        for key in properties:
            if key.startswith(_PREFIX) and key not in KEYS:
                raise ConfigException(f"{key} is unknown; known are {', '.join(KEYS)}")
        iterations = {each: _iterations(properties, key) for each, key in ITERATIONS.items()}
        enabled = _enabled(properties)
        return cls(
            {each: number for each, number in iterations.items() if each in enabled},
            _text(properties, POLICY_CLASS) or None,
            _takes_salted(properties),
        )


def _takes_salted(properties: Mapping[str, object]) -> bool:
    text = _text(properties, SALTED_ENABLE).lower() or "true"
    if text not in ("true", "false"):
        raise ConfigException(f"{SALTED_ENABLE}={text}: give true or false")
    return text == "true"


def _enabled(properties: Mapping[str, object]) -> set[ScramMechanism]:
    """All mechanisms if the key is absent; none if the list is empty."""
    if properties.get(ENABLED_MECHANISMS) is None:
        return set(ScramMechanism)
    enabled = set()
    for name in filter(None, map(str.strip, _text(properties, ENABLED_MECHANISMS).split(","))):
        if name not in _MECHANISMS:
            known = " and ".join(_MECHANISMS)
            raise ConfigException(f"{ENABLED_MECHANISMS}: {name} is unknown; known are {known}")
        enabled.add(_MECHANISMS[name])
    return enabled


def _iterations(properties: Mapping[str, object], key: str) -> int:
    text = _text(properties, key) or str(MIN_ITERATIONS)
    iterations = whole_number(text) or 0
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise ConfigException(
            f"{key}={text}: give a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}"
        )
    return iterations


def _text(properties: Mapping[str, object], key: str) -> str:
    value = properties.get(key)
    return "" if value is None else str(value).strip()
