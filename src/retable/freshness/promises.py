"""The watermark records of single tables, as ops.watermarks keeps them. No I/O.

A record of a table is valid until the table's next one. If nothing blocked it (`because` is None), the table is as
complete as its source in each later window and gets no further record. So many quiet tables add no rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from retable.freshness.gate import SourceFacts, standing_of
from retable.freshness.watermark import SourceLine, Watermarks
from retable.ledger.rows import WatermarkRow
from retable.model.evidence import GRADES, Grade


class TablePromises:
    """The watermark records of the tables of one source. `rows` are all records; those of the source are ignored."""

    def __init__(self, rows: Iterable[WatermarkRow]) -> None:
        self._rows: dict[str, list[WatermarkRow]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row.window):
            if row.table is not None:
                self._rows[row.table].append(row)

    def is_free(self, table: str) -> bool:
        """Say whether nothing blocked the table in its last watermark record."""
        return table in self._rows and self._rows[table][-1].because is None

    def free_until(self, table: str, last: str | None) -> str:
        """Give the last window through which nothing blocked a table; "" if there is none.

        `last` is the window of the source's last watermark record.
        """
        if self.is_free(table):
            return max(last or "", self._rows[table][-1].window)
        return max((row.window for row in self._rows.get(table, ()) if row.because is None), default="")

    def watermarks(self, table: str) -> dict[Grade, datetime]:
        """Give the watermarks of a table's own records. If nothing blocks the table, its source may be further."""
        found: dict[Grade, datetime] = {}
        for row in self._rows.get(table, ()):
            if row.watermark is not None:
                found[row.grade] = max(row.watermark, found.get(row.grade, row.watermark))
        return found

    def first_through(self, table: str, through: datetime, grade: Grade, source: Iterable[str]) -> str | None:
        """Give the first window in which a table's watermark reaches a time by evidence of a grade.

        `source` are, in order, the windows in which the watermark of the source reaches it.
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
        """Give the records to write when a source's line continues from the `last` recorded one.

        A newly blocked table gets one record for the last line, and one for now.
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
    """A record for each grade, or one without a watermark if nothing is proven."""
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
