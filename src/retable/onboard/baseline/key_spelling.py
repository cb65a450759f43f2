"""Decides whether messages write key values with the same characters as a full copy.

Only then do a row of the copy and a message about the row get the same key hash.
"""

from collections.abc import Mapping
from typing import Literal

from retable.ddl.registry import find_dialect, gold_type
from retable.gold.state import GoldState
from retable.model.schema import GoldType
from retable.replay.inputs.imports import Import

Spelling = Literal["digits", "text"]

_DIGITS = frozenset({"tinyint", "smallint", "mediumint", "int", "integer", "bigint"})
_TEXT = frozenset({"char", "varchar", "character varying", "text", "tinytext", "mediumtext", "longtext", "nvarchar"})
_OF_COPIES: Mapping[str, Spelling] = {"int": "digits", "long": "digits", "string": "text"}


def spelling_of(source_type: str | None, gold: GoldType | None, system: str) -> Spelling | None:
    """Return how messages write the values of a column, or None if this is not certain.

    `digits` means a whole number in decimal digits, such as `42`; `text` means the characters of the value, unchanged.
    The column's type in the source decides. The gold type alone is not enough: a number may be written in base64, with
    leading zeros or as bits, and a text may be a time in microseconds. If `source_type` is None, the gold type came
    from the messages themselves, and whole numbers are `digits`. `system` is the database system, as `mysql`.
    """
    if gold is None:
        return None
    if source_type is None:
        return "digits" if gold.kind in ("int", "long") else None
    word = source_type.partition("(")[0].strip().lower().removesuffix(" unsigned")
    if gold.kind in ("int", "long"):
        return "digits" if word in _DIGITS and "zerofill" not in source_type.lower() else None
    if gold.kind == "string":
        return "text" if word in _TEXT or word in find_dialect(system).same_text_types else None
    return None


def spelling_in_copy(gold: GoldType | None) -> Spelling | None:
    """Return how a full copy writes values of this gold type: as `digits` or as `text`.

    The gold types int and long give `digits` (such as `42`), and string gives `text`. Other types, and None, give None.
    """
    return None if gold is None else _OF_COPIES.get(gold.kind)


def spellings(
    keys: tuple[str, ...],
    types: Mapping[str, GoldType],
    state: GoldState | None,
    imported: Import | None,
    system: str,
) -> tuple[Spelling | None, ...]:
    """Return how messages write the values of each key column: as `digits`, as `text`, or None if this is not known.

    The result has one item for each of `keys`, in the same order. The column's type in the source and in gold decide.
    Both types are taken from the gold table's `state`, or from the `imported` schema if `state` lacks the column.
    `types` is the setting `types`. A column in it gets None, because a type from the settings does not show how
    messages write the values. `system` is the database system, such as `mysql`.
    """
    known: dict[str, Spelling | None] = {}
    if imported is not None:
        for spec in imported.table.columns:
            gold = gold_type(imported.dialect, spec.source_type)
            known[spec.name.lower()] = spelling_of(spec.source_type, gold, imported.dialect)
    if state is not None:
        known |= {column.name.lower(): spelling_of(column.source_type, column.type, system) for column in state.columns}
    return tuple(None if key in types else known.get(key.lower()) for key in keys)
