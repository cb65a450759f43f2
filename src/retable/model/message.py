"""A message as it was read from the queue or the file."""

import msgspec


class RawMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of a queue or a file: its bytes and its address.

    `topic`, `partition` and `offset` are the address. `timestamp_ms` is the broker's timestamp, in epoch milliseconds.
    `value` is None for a tombstone (a message with a key but without a value); an empty value is b"". If the message is
    a line of a file and the line is invalid, `container_problem` says why, and `value` is the whole line.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    container_problem: str | None = None
