"""``/image/clientQuotas``: quotas by entity, ``clientId(a)_user(b)``.

Parentheses and backslashes in a name get a backslash. A default entity has only its type
(``user``). Kafka's shell gives it an empty name, and fails on the empty name. This module must not
know how the tree is printed.
"""

from __future__ import annotations

import re
from typing import Final

from metalog.image.state.client_quotas import ClientQuotasImage, QuotaEntity
from shell.browser.nodes import Directory, Leaf, listing
from shell.browser.tree.kafka import double

_WORDS: Final = {"client-id": "clientId"}
_SPECIAL: Final = re.compile(r"[\\()]")
_ESCAPED: Final = r"\\\g<0>"


def kafka_client_quotas(image: ClientQuotasImage) -> Directory:
    return listing(
        lambda: {_name(entity): quotas for entity, quotas in image.entities.items()},
        lambda quotas: listing(lambda: quotas, lambda value: Leaf(double(value))),
    )


def _name(entity: QuotaEntity) -> str:
    return "_".join(_part(kind, name) for kind, name in entity)


def _part(kind: str, name: str | None) -> str:
    word = _WORDS.get(kind, kind)
    return word if name is None else f"{word}({_SPECIAL.sub(_ESCAPED, name)})"
