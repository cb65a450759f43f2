"""The effects of a schema change on gold that a person may choose (docs/statements.md)."""

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
    """The choices for one table; `columns` is the setting `schema`, `approve` names what needs a person's approval."""

    type_change: OnTypeChange = "side_column"
    drop_table: OnDropTable = "empty"
    rename_table: OnRenameTable = "follow"
    drop_partition: OnDropPartition = "hold"
    columns: OnColumns = "follow"
    approve: tuple[Destructive, ...] = ()
