"""A message as it was landed."""

import msgspec


class RawMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of a queue or a file: its bytes and its address.

    `topic`, `partition` and `offset` are its address; `timestamp_ms` is the broker's timestamp, in epoch milliseconds.
    `value` is None for a tombstone, which differs from b"". `container_problem` says what was wrong with the line of a
    dump that held the message; then `value` is that whole line.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    container_problem: str | None = None
