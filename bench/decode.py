"""How fast messages become change events: paired with what one would write without Retable, format by format.

Both read the same batches of bronze in one process and by turns, and are charged the processor time that they took, so
what else the machine does at the time cancels out. A figure is the median over the turns: messages a second on one
core, and the ratio of each pair. Messages are the genuine captures and the golden ones of `tests/`, repeated.

    make bench
"""

import argparse
import base64
import gzip
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

import msgspec
import pyarrow as pa
from stock import Reader, canal, debezium, dts, map_in_arrow, shareplex, streamx, tuple_record

from retable.decode.context import DecodeContext
from retable.decode.dts_avro_record import SCHEMA
from retable.decode.outcome import decode_batches
from retable.decode.registry import FORMATS, decode_message
from retable.errors import MessageError
from retable.land.bronze import to_batches
from retable.model.message import RawMessage

TESTS = Path(__file__).parents[1] / "tests"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
CAPTURES = {
    "canal_json": "canal_mariadb.jsonl.gz",
    "debezium_json": "debezium_mariadb.jsonl.gz",
    "dts_avro": "dts_avro.jsonl.gz",
}
STOCK: dict[str, Reader] = {
    "canal_json": canal,
    "streamx_json": streamx,
    "datahub_blob": streamx,
    "datahub_tuple": tuple_record,
    "lindorm_debezium": debezium,
    "debezium_json": debezium,
    "shareplex_json": shareplex,
    "dts_avro": dts(SCHEMA),
}
BAD_SHARE = 100
"""One message of so many is bad."""

Batches = list[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of processor time that each turn took: ours, ours with bad messages, and the stock reader's."""

    messages: int
    size: int
    ours: list[float]
    bad: list[float]
    stock: list[float]

    def rate(self, seconds: list[float]) -> float:
        return self.messages / statistics.median(seconds)

    @property
    def ratio(self) -> float:
        """How many times as long as the stock reader ours takes."""
        return statistics.median(a / b for a, b in zip(self.ours, self.stock, strict=True))

    @property
    def price(self) -> float:
        """How many times as long ours takes when one message of a hundred is bad."""
        return statistics.median(a / b for a, b in zip(self.bad, self.ours, strict=True))


def context_of(name: str) -> DecodeContext:
    keys = ("id",) if name == "datahub_tuple" else ()
    return DecodeContext(name, keys_of=lambda _: keys, database="shop", table="orders")


def messages_of(name: str) -> list[RawMessage]:
    """Give the row changes of a format that both readers can read."""
    found = _captured(CAPTURES[name]) if name in CAPTURES else _golden(name)
    return [message for message in found if _is_row(message, context_of(name)) and _is_stock(message, STOCK[name])]


def _captured(file: str) -> Iterator[RawMessage]:
    with gzip.open(TESTS / "captures" / file, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            texts = [record.get(part) and record[part].encode() for part in ("key", "value")]
            if "value_base64" in record:
                texts[1] = base64.b64decode(record["value_base64"])
            yield RawMessage(record["topic"], record["partition"], record["offset"], record["timestamp"], *texts)


def _golden(name: str) -> Iterator[RawMessage]:
    for path in sorted((TESTS / "golden" / name).glob("*.message.*")):
        try:
            value = msgspec.json.format(path.read_bytes(), indent=-1)
        except msgspec.DecodeError:
            continue
        yield RawMessage("bench", 0, 0, 1_700_000_000_000, None, value)


def _is_row(message: RawMessage, context: DecodeContext) -> bool:
    try:
        return all(event.kind == "row" for event in decode_message(message, context))
    except MessageError:
        return False


def _is_stock(message: RawMessage, read: Reader) -> bool:
    try:
        return bool(list(read(message.value or b"")))
    except (ValueError, KeyError, TypeError, EOFError):
        return False


def batches_of(messages: list[RawMessage], count: int, spoil: bool) -> Batches:
    """Repeat messages up to a count, each at an offset of its own; `spoil` cuts one of a hundred in its middle."""
    repeated = (
        RawMessage(
            message.topic,
            message.partition,
            offset,
            message.timestamp_ms,
            message.key,
            _cut(message.value or b"") if spoil and offset % BAD_SHARE == 0 else message.value,
        )
        for offset, message in enumerate(islice(cycle(messages), count))
    )
    return list(to_batches(repeated, "w", NOW))


def _cut(value: bytes) -> bytes:
    return value[: len(value) // 2]


def took(act: Callable[[], Iterator[pa.RecordBatch]]) -> float:
    began = time.process_time()
    for _ in act():
        pass
    return time.process_time() - began


def measure(name: str, count: int, turns: int) -> Measured:
    """Take turns: ours, ours with bad messages, the stock reader; the first turn of each warms up and is left out."""
    messages = messages_of(name)
    if not messages:
        raise SystemExit(f"{name}: no message that both readers read")
    clean, spoiled = (batches_of(messages, count, spoil) for spoil in (False, True))
    found = Measured(count, sum(len(message.value or b"") for message in messages) // len(messages), [], [], [])
    for _ in range(turns + 1):
        found.ours.append(took(lambda: decode_batches(clean, "w", context_of(name), lambda _: True)))
        found.bad.append(took(lambda: decode_batches(spoiled, "w", context_of(name), lambda _: True)))
        found.stock.append(took(lambda: map_in_arrow(clean, STOCK[name])))
    for turns_of in (found.ours, found.bad, found.stock):
        del turns_of[0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Messages a second on one core, ours against the stock reader.")
    parser.add_argument("--messages", type=int, default=1_000, help="messages a turn")
    parser.add_argument("--turns", type=int, default=31, help="turns of each reader")
    parser.add_argument("formats", nargs="*", default=list(FORMATS), help="formats; all of them where none is named")
    args = parser.parse_args()
    line = "{:18} {:>7} {:>10} {:>10} {:>12} {:>10}\n".format
    sys.stdout.write(line("format", "bytes", "ours/s", "stock/s", "ours:stock", "1 % bad"))
    for name in args.formats:
        found = measure(name, args.messages, args.turns)
        rates = (f"{found.rate(seconds):,.0f}" for seconds in (found.ours, found.stock))
        sys.stdout.write(line(name, found.size, *rates, f"{found.ratio:.2f}", f"{found.price - 1:+.1%}"))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
