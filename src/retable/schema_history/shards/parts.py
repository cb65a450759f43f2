"""Names of partitions for tables with shards (source tables): the shard is part of the name of its partition."""

from retable.model.sequence import Sequence

_BETWEEN = "|"
SHARD_ID = "shard"
"""The identity of the gold column that contains the shard (source table) of each row."""


def join_part(shard: str, part: str | None) -> str:
    """Return the partition name of a shard's rows: the shard, `|`, and the source partition, as `shop.orders_7|0`.

    `part` is the source partition. If it is None, the name ends with `|`.
    """
    return f"{shard}{_BETWEEN}{part or ''}"


def shard_of(part: str | None) -> str | None:
    """Return the shard in a partition name (`join_part`), or None if the name contains no shard."""
    return part.rpartition(_BETWEEN)[0] or None if part else None


def source_part(part: str | None) -> str | None:
    """Return the source partition in a partition name with or without a shard, or None if the name has none."""
    return part if shard_of(part) is None else (part or "").rpartition(_BETWEEN)[2] or None


def follows(part: str | None, sequence: Sequence, before: str | None, than: Sequence) -> bool:
    """Return whether it can be known which of two rows is later in the source.

    The first row has the partition `part` and the sequence `sequence`. The second row has the partition `before` and
    the sequence `than`. The order is known if both rows are in the same partition, because sequences are ordered there.
    It is also known if their source epochs are different, because a row of a higher source epoch is always later.
    """
    return part == before or sequence.epoch != than.epoch


def is_of_late_object(part: str | None) -> bool:
    """Return whether a partition has the lines of one object that came late, or was changed: its number is negative."""
    return (part or "").rpartition("/")[2].startswith("-")


def unknown_order(one: str | None, other: str | None) -> str:
    """Return a text which says that two partitions have changes of one key in an order that is not known."""
    text = f"the partitions {one} and {other} both have changes of one key, so it is not known which change is later"
    late = next((part for part in (one, other) if is_of_late_object(part)), None)
    if late is None:
        return text
    return (
        f"{text}; {late} is an object that came late or was changed: a new source, with another name, reads all of "
        f"the objects in their order"
    )
