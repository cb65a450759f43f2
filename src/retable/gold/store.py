"""What a table's replay needs of whoever holds the rows. Spark is one such; a test may bring another."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.replay.fold import Values


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of gold with the sequence and the partition that it came from."""

    values: Values
    sequence: Sequence
    part: str | None


@dataclass(frozen=True, slots=True)
class Late:
    """Keys, by hash, with an event that gold is ahead of: they need every event not below `since`.

    `keys` are the key columns that the hashes are of; an event whose message names others is needed in any case.
    """

    hashes: frozenset[int]
    keys: tuple[str, ...]
    since: Sequence


Columns = list[tuple[str, GoldType]]
Record = dict[str, object]


class RowStore(Protocol):
    """Rows of silver and gold. `gold` is `namespace.table`; `on` are indices into `columns`."""

    def statements(self, until: str) -> list[Record]:
        """The schema events of the windows up to `until`."""

    def window_rows(self, window: str) -> list[Record]:
        """The row events of one window."""

    def table_rows(self, until: str, names: Iterable[TableName], late: Late | None = None) -> list[Record]:
        """The row events that these names stand for in the windows up to `until`: all, or what late keys need."""

    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[Standing]:
        """Gold's rows whose columns `on` equal one of `keys` (each a value per `on`), null-safe."""

    def delete_all(self, gold: str, branch: str) -> None: ...

    def delete_below(self, gold: str, branch: str, void: Sequence) -> None:
        """Delete the rows of a lower sequence."""

    def delete_keys(self, gold: str, branch: str, columns: Columns, on: list[int], keys: list[Values]) -> None:
        """Delete the rows whose columns `on` equal one of `keys` (each a value per `on`), null-safe."""

    def append(self, gold: str, branch: str, rows: pa.Table, run_id: str, window: str) -> None: ...
