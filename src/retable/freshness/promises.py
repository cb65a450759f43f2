"""What was promised of single tables, as ops.watermarks keeps it: pure.

A row of a table stands until the table's next one. Where nothing was in its way (`because` is None), the table is as
complete as its source, window after window, and has no further row: what many quiet tables cost does not grow.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from retable.freshness.gate import SourceFacts, standing_of
from retable.freshness.watermark import SourceLine, Watermarks
from retable.ledger.rows import WatermarkRow
from retable.model.evidence import GRADES, Grade


class TablePromises:
    """The promises of the tables of one source. `rows` are all of them; those of the source itself are left out."""

    def __init__(self, rows: Iterable[WatermarkRow]) -> None:
        self._rows: dict[str, list[WatermarkRow]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row.window):
            if row.table is not None:
                self._rows[row.table].append(row)

    def is_free(self, table: str) -> bool:
        """Whether nothing was in the way of a table when it was last promised something."""
        return table in self._rows and self._rows[table][-1].because is None

    def free_until(self, table: str, last: str | None) -> str:
        """The last window with whose promise nothing was in a table's way; "" where there is none.

        `last` is the window that was last promised of the source.
        """
        if self.is_free(table):
            return max(last or "", self._rows[table][-1].window)
        return max((row.window for row in self._rows.get(table, ()) if row.because is None), default="")

    def watermarks(self, table: str) -> dict[Grade, datetime]:
        """How far a table was promised, by its own rows: of one that is free its source may be further."""
        found: dict[Grade, datetime] = {}
        for row in self._rows.get(table, ()):
            if row.watermark is not None:
                found[row.grade] = max(row.watermark, found.get(row.grade, row.watermark))
        return found

    def first_through(self, table: str, through: datetime, grade: Grade, source: Iterable[str]) -> str | None:
        """The first window whose promise of a table reaches a time by evidence of a grade.

        `source` are, in order, the windows whose promise of the source does.
        """
        mine, proven = self._rows.get(table, []), list(source)
        for at, row in enumerate(mine):
            if row.grade == grade and row.watermark is not None and row.watermark >= through:
                return row.window
            if row.because is None:
                first = next((name for name in proven if name >= row.window), None)
                later = (each.window for each in mine[at + 1 :] if each.window > row.window or each.because is not None)
                if first is not None and all(first < window for window in later):
                    return first
        return None

    def next_rows(self, facts: SourceFacts, last: SourceLine, now: datetime) -> list[WatermarkRow]:
        """The rows to record where a source's line goes on from the `last` one that was promised.

        A table that something comes into the way of gets what it had with the last line, and what it has now.
        """
        rows: list[WatermarkRow] = []
        for table, blockers in facts.blockers.items():
            because = next((blocker.cause.reason for blocker in blockers), None)
            was_free = self.is_free(table)
            if because is None and was_free:
                continue
            former: Watermarks = self.watermarks(table)
            if was_free and last.window is not None:
                former = {**former, **last.watermarks}
                rows += _rows(facts.source, table, last, former, None, now)
            reached = {grade: standing_of(facts, table, grade).watermark for grade in GRADES}
            changed = {
                grade: at
                for grade, at in reached.items()
                if at is not None and (because is None or grade not in former or at > former[grade])
            }
            if changed or was_free or because is None:
                rows += _rows(facts.source, table, facts.line, changed, because, now)
        return rows


def _rows(
    source: str,
    table: str,
    line: SourceLine,
    watermarks: Watermarks,
    because: str | None,
    now: datetime,
) -> list[WatermarkRow]:
    """A row for each grade, or one without a watermark where nothing is proven."""
    if line.window is None:
        return []
    kept: Mapping[Grade, datetime | None] = watermarks or {GRADES[-1]: None}
    return [
        WatermarkRow(
            source=source,
            table=table,
            grade=grade,
            window=line.window,
            watermark=watermark,
            epoch=line.epoch,
            evidence={},
            because=because,
            recorded_at=now,
        )
        for grade, watermark in kept.items()
    ]
