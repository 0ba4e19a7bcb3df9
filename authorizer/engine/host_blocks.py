"""An index of the CIDR blocks in ACLs' hosts, which finds the blocks that contain an address.

Kafka compares an address with the block of each ACL. This index needs only one look-up for each
prefix length in use. A decision then compares the ACL's host with the texts
of these blocks. This module must not know ACLs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from metalog.hosts.host_block import ClientAddress, HostBlock, host_block
from metalog.image.table import Table

Texts = Table[str, int]
"""For each spelling of a block: the number of ACLs with this spelling."""
NO_TEXTS: Final[Texts] = Table()


class HostBlocks:
    """An immutable set of blocks. ``_lengths`` counts them by ``bits`` and ``length``."""

    __slots__ = ("_lengths", "_texts")

    def __init__(
        self, texts: Table[HostBlock, Texts], lengths: Mapping[tuple[int, int], int]
    ) -> None:
        self._texts = texts
        self._lengths = lengths

    @staticmethod
    def of(hosts: Iterable[str]) -> HostBlocks:
        """The blocks among ``hosts``, which has one entry for each ACL."""
        texts: dict[HostBlock, dict[str, int]] = {}
        for host, acls in Counter(hosts).items():
            block = host_block(host)
            if block is not None:
                texts.setdefault(block, {})[host] = acls
        lengths = Counter([(block.bits, block.length) for block in texts])
        return HostBlocks(Table((block, Table(each)) for block, each in texts.items()), lengths)

    def __iter__(self) -> Iterator[HostBlock]:
        return iter(self._texts)

    def containing(self, address: ClientAddress) -> list[str]:
        """The texts of all blocks that contain ``address``."""
        return self.around(HostBlock(address.bits, address.bits, address.value))

    def around(self, block: HostBlock) -> list[str]:
        """The texts of all blocks in the set that equal or contain ``block``."""
        found: list[str] = []
        for each in self._around(block):
            found += self._texts[each]
        return found

    def narrowest(self, address: ClientAddress) -> HostBlock | None:
        around = self._around(HostBlock(address.bits, address.bits, address.value))
        return max(around, default=None)

    def next_around(self, block: HostBlock) -> HostBlock | None:
        """The smallest block that is larger than ``block`` and contains it."""
        return max((each for each in self._around(block) if each != block), default=None)

    def _around(self, block: HostBlock) -> Iterator[HostBlock]:
        bits, own_length, network = block
        for family, length in self._lengths:
            if family == bits and length <= own_length:
                each = HostBlock(bits, length, network >> (own_length - length))
                if each in self._texts:
                    yield each

    def changed(self, host: str, *, is_added: bool) -> HostBlocks:
        """The blocks after one ACL with ``host`` was added or removed."""
        block = host_block(host)
        if block is None:
            return self
        before = self._texts.get(block, NO_TEXTS)
        acls = before.get(host, 0) + (1 if is_added else -1)
        after = before.changed({host: acls or None})
        lengths = self._lengths
        if not before or not after:
            key = (block.bits, block.length)
            blocks = lengths.get(key, 0) + (1 if after else -1)
            others = {each: count for each, count in lengths.items() if each != key}
            lengths = {**others, key: blocks} if blocks else others
        return HostBlocks(self._texts.changed({block: after or None}), lengths)

    def counted(self) -> dict[HostBlock, dict[str, int]]:
        return {block: dict(texts) for block, texts in self._texts.items()}
