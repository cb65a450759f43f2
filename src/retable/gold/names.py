"""Make the names of gold's namespaces, tables and columns from the names in the source.

Letters and digits of any script, `_`, `$` and `-` stay. Any other character becomes `_`. A name that is changed in this
way gets a suffix: `__` and 8 hex digits of the SHA-256 of the source's spelling. So `a.b` and `a b` get different
names. Names are in lower case by default, because several engines accept only lower case. No name is part of a file
path.
"""

import hashlib
from typing import Literal

from retable.model.event import TableName
from retable.settings.lake import LakeSettings

Case = Literal["lower", "source"]

_MOST_BYTES = 255
_SUFFIX_BYTES = len("__") + 8
# The prefix of Retable's own columns. Readers of gold do not get these columns.
_RETABLE = "_retable_"
_SYSTEM_NAMESPACES = frozenset({"bronze", "silver", "statements", "quarantine", "ops"})
# Columns that Iceberg's readers add; a table column with such a name would be hidden or refused.
_ICEBERG = frozenset(
    {
        "_change_ordinal",
        "_change_type",
        "_commit_snapshot_id",
        "_deleted",
        "_file",
        "_last_updated_sequence_number",
        "_partition",
        "_pos",
        "_row_id",
        "_spec_id",
    }
)


# The row ids that Alibaba's pipelines add to a table without a key.
_ROW_IDS = frozenset({"#alibaba_rds_row_id#", "__#alibaba_rds_row_id#__"})
_ROW_ID = "_rds_row_id"


def gold_namespace(lake: LakeSettings, table: TableName) -> str:
    """Return the namespace of a source table: the setting `gold`, plus `__<schema>` if the table has a schema."""
    source = lake.gold.format(database=table.database)
    name = lake.gold.format(database=gold_column(table.database, lake.case))
    if table.schema is not None:
        source, name = f"{source}.{table.schema}", f"{name}__{gold_column(table.schema, lake.case)}"
    return _marked(name, source) if name.lower() in _SYSTEM_NAMESPACES else _bounded(name, source)


def gold_table(lake: LakeSettings, table: TableName) -> str:
    """Return the gold name of a source table, such as `gold_shop.orders`. It is the argument TABLE of commands."""
    return f"{gold_namespace(lake, table)}.{gold_column(table.table, lake.case)}"


def gold_column(spelling: str, case: Case = "lower") -> str:
    """Return the gold name of a source column (`spelling`). Databases, schemas and tables are named by the same rule.

    If `case` is "lower", the name is in lower case, so `Id` and `ID` both become `id`. A name that must be changed in
    another way, such as `a b`, gets a suffix that is a hash of the source's spelling: `A b` and `a b` stay different.
    """
    if spelling in _ROW_IDS:
        return _ROW_ID
    folded = spelling.lower() if case == "lower" else spelling
    name = "".join(char if char.isalpha() or char.isdecimal() or char in "_$-" else "_" for char in folded)
    if name.lower().startswith(_RETABLE):
        return _marked(name.removeprefix("_"), spelling)
    if name != folded or not name or name.lower() in _ICEBERG:
        return _marked(name, spelling)
    return _bounded(name, spelling)


def _bounded(name: str, spelling: str) -> str:
    return name if len(name.encode()) <= _MOST_BYTES else _marked(name, spelling)


def _marked(name: str, spelling: str) -> str:
    """Add the suffix to a name. Shorten the name if the result would be too long."""
    kept = name.encode()[: _MOST_BYTES - _SUFFIX_BYTES].decode(errors="ignore")
    digest = hashlib.sha256(spelling.encode(errors="surrogatepass")).hexdigest()
    return f"{kept}__{digest[:8]}"
