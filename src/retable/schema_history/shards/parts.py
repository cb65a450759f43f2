"""Partitions of tables that are made of several: each of a shard is one of its own."""

from retable.model.sequence import Sequence

_BETWEEN = "|"
SHARD_ID = "shard"
"""The identity of the column that names the shard of a row."""


def join_part(shard: str, part: str | None) -> str:
    """The partition of a shard's rows, as `shop.orders_7|`, or with the partition inside which they compare."""
    return f"{shard}{_BETWEEN}{part or ''}"


def shard_of(part: str | None) -> str | None:
    """The shard of a partition; None where it is one of no shard."""
    return part.rpartition(_BETWEEN)[0] or None if part else None


def source_part(part: str | None) -> str | None:
    """The partition as the source has it."""
    return part if shard_of(part) is None else (part or "").rpartition(_BETWEEN)[2] or None


def follows(part: str | None, sequence: Sequence, before: str | None, than: Sequence) -> bool:
    """Whether two rows of one key compare: those of two partitions in one source epoch do not."""
    return part == before or sequence.epoch != than.epoch
