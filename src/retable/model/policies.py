"""The settings that decide what a schema change does to gold (docs/statements.md)."""

from dataclasses import dataclass
from typing import Literal

OnTypeChange = Literal["side_column", "string", "hold"]
OnDropTable = Literal["empty", "keep", "drop"]
OnRenameTable = Literal["follow", "keep_name", "hold"]
OnDropPartition = Literal["hold", "keep_rows"]
OnFarDate = Literal["reject", "null", "string"]
OnCascade = Literal["suspect", "ignore"]
OnColumns = Literal["follow", "additive", "frozen"]
Destructive = Literal["drop_table", "truncate", "drop_column"]


@dataclass(frozen=True, slots=True)
class Policies:
    """What each kind of schema change does to one gold table: the settings `on.*`, `schema` and `approve`.

    `columns` is the setting `schema` (whether gold follows changes of columns). `approve` has the kinds of change that
    wait until a person approves them.
    """

    type_change: OnTypeChange = "side_column"
    drop_table: OnDropTable = "empty"
    rename_table: OnRenameTable = "follow"
    drop_partition: OnDropPartition = "hold"
    columns: OnColumns = "follow"
    approve: tuple[Destructive, ...] = ()
