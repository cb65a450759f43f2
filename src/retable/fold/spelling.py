"""Whether messages write equal values of a column in one way only, so that their texts in a row image are equal."""

from retable.fold.images import TableReader
from retable.values.mysql_encoding import base_type

_TEXTS = frozenset(
    {
        *("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "nchar", "nvarchar", "character", "bpchar"),
        *("varchar2", "nvarchar2", "clob", "nclob", "ntext", "rowid", "urowid", "string", "uuid", "uniqueidentifier"),
    }
)
"""The first words of source types whose values gold has exactly as messages write them."""


def is_text_as_written(reader: TableReader, at: int) -> bool:
    """Return whether the column number `at` always was a text that gold has exactly as messages write it.

    Gold also keeps other values as text, such as numbers with more than 38 digits, times and labels. Messages may write
    such a value in several ways: 3 and 3.00 are one value of a `DECIMAL(40,2)`. A column without a source type has its
    type from values that no message and no statement describes: such texts stay as they are.
    """
    column = reader.columns[at]
    earlier = (each for epoch in reader.history.epochs for each in epoch.columns if each.id == column.id)
    return column.fill is None and all(
        each.type.kind == "string" and (each.source_type is None or base_type(each.source_type) in _TEXTS)
        for each in (column, *earlier)
    )
