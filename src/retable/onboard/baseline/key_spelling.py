"""Which key values every writer of messages spells as a full copy does, so that one hash finds both."""

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
    """The common spelling of a column's values; None if writers differ, or might.

    A number in gold may come in base64, with leading zeros, or as a count of bits, and a text in gold as a count of
    microseconds: only the source's own type decides. Without it, messages themselves declared whole numbers.
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
    """How a copy writes values of a column of this type; None for text of unknown type."""
    return None if gold is None else _OF_COPIES.get(gold.kind)


def spellings(
    keys: tuple[str, ...],
    types: Mapping[str, GoldType],
    state: GoldState | None,
    imported: Import | None,
    system: str,
) -> tuple[Spelling | None, ...]:
    """The spelling of each key column, as gold or else an import declares it; none for columns with `types`."""
    known: dict[str, Spelling | None] = {}
    if imported is not None:
        for spec in imported.table.columns:
            gold = gold_type(imported.dialect, spec.source_type)
            known[spec.name.lower()] = spelling_of(spec.source_type, gold, imported.dialect)
    if state is not None:
        known |= {column.name.lower(): spelling_of(column.source_type, column.type, system) for column in state.columns}
    return tuple(None if key in types else known.get(key.lower()) for key in keys)
