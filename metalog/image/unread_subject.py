"""A placeholder in an image for a subject that the replay did not read.

This module must not know which subjects there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn


class UnreadSubject:
    """Refuses every use, because an empty subject would give wrong answers."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> tuple[type[UnreadSubject], tuple[str]]:
        return type(self), (self._name,)

    def __getattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"the image has no {self._name}: the replay did not read this part")

    def __len__(self) -> int:
        return self.__getattr__("__len__")

    def __iter__(self) -> Iterator[NoReturn]:
        return self.__getattr__("__iter__")

    def __contains__(self, key: object) -> bool:
        return self.__getattr__("__contains__")

    def __getitem__(self, key: object) -> NoReturn:
        self.__getattr__("__getitem__")

    def __repr__(self) -> str:
        return f"<{self._name}: not read>"
