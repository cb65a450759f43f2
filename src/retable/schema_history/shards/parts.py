"""Partitions of tables with shards: each partition of a shard is a separate one."""

from retable.model.sequence import Sequence

_BETWEEN = "|"
SHARD_ID = "shard"
"""The identity of the column that names the shard of a row."""


def join_part(shard: str, part: str | None) -> str:
    """Give the partition of a shard's rows, as `shop.orders_7|`, or with the partition inside which they compare."""
    return f"{shard}{_BETWEEN}{part or ''}"


def shard_of(part: str | None) -> str | None:
    """Give the shard of a partition; None if it is not a shard's."""
    return part.rpartition(_BETWEEN)[0] or None if part else None


def source_part(part: str | None) -> str | None:
    """Give the partition as the source has it."""
    return part if shard_of(part) is None else (part or "").rpartition(_BETWEEN)[2] or None


def follows(part: str | None, sequence: Sequence, before: str | None, than: Sequence) -> bool:
    """Say whether two rows of one key compare. Rows of two partitions in one source epoch do not."""
    return part == before or sequence.epoch != than.epoch
