"""Read column definitions in CREATE TABLE and ALTER TABLE of SQL Server."""

from dataclasses import dataclass

from sqlglot import TokenType

from retable.ddl.defaults import Default, column_spec
from retable.ddl.sqlserver.constraints import read_key, skip_check, skip_index_options, skip_reference
from retable.ddl.sqlserver.cursor import Cursor
from retable.ddl.sqlserver.defaults import read_default
from retable.model.schema import ColumnSpec

_CONTINUES = {
    "DOUBLE": ("PRECISION",),
    "CHAR": ("VARYING",),
    "CHARACTER": ("VARYING",),
    "BINARY": ("VARYING",),
    "NATIONAL": ("CHARACTER", "CHAR", "TEXT"),
}
_PLAIN_OPTIONS = frozenset({"NULL", "SPARSE", "ROWGUIDCOL", "FILESTREAM", "PERSISTED", "HIDDEN"})


@dataclass(slots=True, kw_only=True)
class ColumnDefinition:
    """The definition of a column in a statement. The functions of this module fill it while they read.

    `source_type` is empty if the definition has no type. `numbered` means IDENTITY, and `generated` means a computed
    column. `key` has the columns of PRIMARY KEY, and is empty without it. `a int PRIMARY KEY` gives `a`. A list after
    it, as in `a int PRIMARY KEY (a, b)`, can name other columns.
    `fills_old_rows` means WITH VALUES: rows from before the statement show the default although the column is nullable.
    """

    name: str
    source_type: str = ""
    not_null: bool = False
    default: Default | None = None
    key: tuple[str, ...] = ()
    numbered: bool = False
    generated: bool = False
    fills_old_rows: bool = False

    def spec(self) -> ColumnSpec:
        return column_spec(self.name, self.source_type, self.not_null, self.default)


def read_column(cursor: Cursor) -> ColumnDefinition:
    """Read the name, the type and the options of a column. Stop before the first word that is not an option."""
    column = ColumnDefinition(name=cursor.name())
    if cursor.take("AS"):
        _skip_expression(cursor)
        column.generated = True
    else:
        column.source_type = read_type(cursor)
    while _read_option(cursor, column):
        pass
    return column


def read_type(cursor: Cursor) -> str:
    """Read a type and its lengths: `decimal(10,2)`, `nvarchar(max)`, `[dbo].[flag]`."""
    words = [_read_base(cursor)]
    while cursor.word in _CONTINUES.get(words[-1].upper(), ()):
        words.append(cursor.unquoted())
    return " ".join(words) + _read_lengths(cursor)


def _read_base(cursor: Cursor) -> str:
    parts: list[str] = []
    while not parts or cursor.take("."):
        token = cursor.next()
        if token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            cursor.rewind(cursor.mark - 1)
            raise cursor.unknown()
        parts.append(token.text)
    return ".".join(parts)


def _read_lengths(cursor: Cursor) -> str:
    if not cursor.take("("):
        return ""
    lengths: list[str] = []
    while not lengths or cursor.take(","):
        words: list[str] = []
        while cursor.word not in (",", ")", "(", ";"):
            words.append(cursor.verbatim(cursor.next()))
        lengths.append(" ".join(words))
    cursor.expect(")")
    return f"({','.join(lengths)})"


def _skip_expression(cursor: Cursor) -> None:
    """Step over the expression of a computed column, which may have no parentheses."""
    if cursor.at_end_of_element:
        raise cursor.unknown()
    while not cursor.at_end_of_element and cursor.word not in ("PERSISTED", "CONSTRAINT", "PRIMARY", "UNIQUE"):
        cursor.skip()


def _read_option(cursor: Cursor, column: ColumnDefinition) -> bool:
    """Read the next option of the column. Return False if no option comes next."""
    if cursor.take("CONSTRAINT"):
        cursor.name()
    match cursor.word:
        case "NOT" if cursor.take("NOT", "NULL"):
            column.not_null = True
        case "NOT" if cursor.take("NOT", "FOR", "REPLICATION"):
            pass
        case "DEFAULT":
            column.default = read_default(cursor, column.source_type)
        case "IDENTITY":
            cursor.next()
            cursor.skip_group()
            column.numbered = column.not_null = True
        case "PRIMARY":
            column.key = read_key(cursor) or (column.name,)
        case "GENERATED":
            _skip_generated(cursor)
        case "WITH" if cursor.take("WITH", "VALUES"):
            column.fills_old_rows = True
        case word if word in _PLAIN_OPTIONS:
            cursor.next()
        case _:
            return _skip_option(cursor)
    return True


def _skip_option(cursor: Cursor) -> bool:
    """Step over an option that does not change values of the column. Return False if no such option comes next."""
    match cursor.word:
        case "COLLATE":
            cursor.next()
            cursor.name()
        case "MASKED" | "ENCRYPTED":
            cursor.next()
            cursor.take("WITH")
            if not cursor.skip_group():
                raise cursor.unknown()
        case "UNIQUE":
            read_key(cursor)
        case "CHECK":
            skip_check(cursor)
        case "FOREIGN" | "REFERENCES":
            cursor.take("FOREIGN", "KEY")
            skip_reference(cursor)
        case "INDEX":
            cursor.next()
            cursor.name()
            skip_index_options(cursor)
        case _:
            return False
    return True


def _skip_generated(cursor: Cursor) -> None:
    """Step over `GENERATED ALWAYS AS ROW START` and similar. Rows contain the values of such a column."""
    cursor.expect("GENERATED", "ALWAYS", "AS")
    if not cursor.take_any({"ROW", "TRANSACTION_ID", "SEQUENCE_NUMBER"}):
        raise cursor.unknown()
    if not cursor.take_any({"START", "END"}):
        raise cursor.unknown()
