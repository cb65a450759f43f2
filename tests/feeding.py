"""Makes a source's windows, their ledger and their evidence without Spark, through the project's own writers."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from recorded import record_windows
from retable.ledger.incidents import Incident, change_incidents
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.tables import QUARANTINE, SILVER
from retable.ledger.rows import EvidenceRow, LedgerRow, Stage
from retable.ledger.windows.contents import silver_files
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.model.window import Window

DAY = datetime(2026, 3, 1, tzinfo=UTC)
STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
SOURCE = """
[sources.dump]
kind = "files"
format = "{format}"
path = "dump"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'
start = "2026-03-01T05:00:00Z"
"""
EACH = SOURCE.format(format="canal_json")
"""A source of which each partition needs its own evidence."""
ORDERED = SOURCE.format(format="streamx_json")
"""A source whose producer writes its partitions in order."""


def at(text: str) -> datetime:
    """A time of the first of March 2026, as 05:30 or 05:30:15."""
    hour, minute, second = [*map(int, text.split(":")), 0][:3]
    return DAY + timedelta(hours=hour, minutes=minute, seconds=second)


@dataclass(frozen=True, slots=True)
class Feed:
    """The source `dump` of a lake; hours are windows of 2026-03-01, and 5 is the first."""

    lake: Lake
    source: str = "dump"

    def windows(self, until: int, recorded: datetime | None = None) -> list[Window]:
        """Record the windows of the hours before `until`, when the last of them ended or at another moment."""
        source = self.lake.settings.source(self.source)
        source.path.mkdir(exist_ok=True)
        end = DAY + timedelta(hours=until)
        return record_windows(self.lake, source, list, end, recorded or end)

    def done(self, hour: int, *stages: Stage, landed: int = 1) -> None:
        """Say in the ledger that these stages of a window are done; without any, that all are."""
        counts = {"landed": landed, "rows": landed, "applied": landed}
        rest = {
            "counts": counts,
            "lowest": {},
            "highest": {},
            "snapshot_id": None,
            "identity": None,
            "run_id": "run",
            "seconds": 1.0,
            "bytes": 0,
            "recorded_at": DAY + timedelta(hours=hour + 1),
        }
        append_rows(
            self.lake,
            [
                LedgerRow(source=self.source, window=name(hour), stage=each, table=None, **rest)
                for each in stages or STAGES
            ],
        )

    def decoded_anew(self, hour: int) -> None:
        """Write a window of silver as decode does, with one event more."""
        row = {"window": name(hour), "kind": "row"}
        content = pa.Table.from_pylist([row], schema=SILVER.columns)
        silver = self.lake.ensure(f"silver.{self.source}")
        silver.append(content, snapshot_properties={"retable.window": name(hour)})

    def told(self, hour: int, text: str, *positions: Sequence, table: TableName) -> None:
        """Write a statement to a window of silver, once for each of its positions."""
        about = {"database": table.database, "schema": table.schema, "table": table.table, "ddl_text": text}
        rows = [
            {
                **about,
                "window": name(hour),
                "kind": "schema",
                "part": "t/0",
                "sequence": {"epoch": each.epoch, "hi": Decimal(each.hi), "lo": each.lo},
            }
            for each in positions
        ]
        self.lake.ensure(f"silver.{self.source}").append(pa.Table.from_pylist(rows, schema=SILVER.columns))

    def replayed_again(self, hour: int, when: datetime) -> None:
        """Say in the ledger that what silver holds for a window now was replayed."""
        content = silver_files(self.lake, self.source, {name(hour)})[name(hour)]
        rest = {
            "counts": {"rows": 1, "applied": 1},
            "lowest": {},
            "highest": {},
            "snapshot_id": None,
            "identity": content,
            "run_id": "again",
            "seconds": 1.0,
            "bytes": 0,
            "recorded_at": when,
        }
        append_rows(self.lake, [LedgerRow(source=self.source, window=name(hour), stage="replay", table=None, **rest)])

    def held(self, hour: int, gold: str, rows: int = 1) -> None:
        """Say in the ledger that a table's rows of a window were held."""
        rest = {
            "counts": {"rows": rows, "held": rows},
            "lowest": {},
            "highest": {},
            "snapshot_id": None,
            "identity": None,
            "run_id": "run",
            "seconds": 1.0,
            "bytes": 0,
            "recorded_at": DAY + timedelta(hours=hour + 1),
        }
        append_rows(self.lake, [LedgerRow(source=self.source, window=name(hour), stage="replay", table=gold, **rest)])

    def proves(
        self,
        hour: int,
        partition: int = 0,
        *,
        row: str | None = None,
        canary: str | None = None,
        heartbeat: str | None = None,
        ahead: int = 0,
    ) -> None:
        """Record what a window proves of a partition; stamps are times of the day."""
        stamps = {"heartbeat": heartbeat, "canary": canary, "row": row}
        evidence = EvidenceRow(
            source=self.source,
            window=name(hour),
            topic="shop.t",
            partition=partition,
            epoch=0,
            ahead=ahead,
            recorded_at=at("23:00"),
            **{grade: text and at(text) for grade, text in stamps.items()},
        )
        append_rows(self.lake, [evidence])

    def quarantined(self, hour: int, count: int = 1, table: TableName | None = None) -> None:
        """Put messages of a table, or of none that they name, into quarantine."""
        row = {
            "stage": "decode",
            "window": name(hour),
            "topic": "shop.t",
            "partition": 0,
            "offset": 0,
            "code": "MALFORMED",
            "database": table and table.database,
            "schema": table and table.schema,
            "table": table and table.table,
        }
        rows = pa.Table.from_pylist([row] * count, schema=QUARANTINE.columns)
        self.lake.ensure(f"quarantine.{self.source}").append(rows)

    def event(self, hour: int, sequence: Sequence, time: str, part: str | None = "shop.t/0") -> None:
        """Put an event into silver, as far as its place and its time go."""
        row = {
            "window": name(hour),
            "kind": "row",
            "sequence": sequence._asdict(),
            "part": part,
            "event_time_ms": int(at(time).timestamp() * 1000),
        }
        self.lake.ensure(f"silver.{self.source}").append(pa.Table.from_pylist([row], schema=SILVER.columns))


def name(hour: int) -> str:
    """The name of an hour's window."""
    return f"{DAY + timedelta(hours=hour):%Y%m%dT%H%MZ}"


def read_incidents(lake: Lake) -> list[Incident]:
    """Every incident as it is now, oldest first."""
    found: list[Incident] = []
    change_incidents(lake, lambda incidents: found.extend(incidents) or [])
    return found
