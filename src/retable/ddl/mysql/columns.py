"""Read column definitions in CREATE TABLE and ALTER TABLE of MySQL."""

from dataclasses import dataclass, field

from retable.ddl.mysql.cursor import Cursor
from retable.ddl.mysql.defaults import read_default, skip_expression
from retable.ddl.mysql.references import read_reference
from retable.ddl.mysql.types.gold_type import gold_type, mysql_type_name
from retable.model.schema import ColumnSpec
from retable.model.schema_change import ColumnPosition, ForeignKey

_TYPE_CONTINUES = frozenset({"PRECISION", "VARYING", "CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER", "VARBINARY"})
_TYPE_ATTRIBUTES = frozenset({"UNSIGNED", "SIGNED", "ZEROFILL"})
_LONGEST_NUMBER = 8
_AS_BINARY = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}


@dataclass(slots=True, kw_only=True)
class ColumnDefinition:
    """The definition of a column in a statement. The functions of this module fill it while they read.

    `base` is the name of the type, `arguments` the text in its parentheses, and `attributes` words such as UNSIGNED.
    `has_default` means a constant default, `computed` a default that is an expression. `numbered` means AUTO_INCREMENT,
    and `generated` means that the whole column is computed from other columns. `charset` is in upper case.
    """

    name: str
    base: str = ""
    arguments: str = ""
    attributes: list[str] = field(default_factory=list)
    not_null: bool = False
    has_default: bool = False
    computed: bool = False
    default: str | bytes | None = None
    comment: str | None = None
    primary: bool = False
    numbered: bool = False
    generated: bool = False
    charset: str | None = None
    reference: ForeignKey | None = None

    @property
    def is_text(self) -> bool:
        """Return whether the type is a text type, which the character set `binary` would change to a type of bytes."""
        return self.base.lower() in _AS_BINARY

    @property
    def source_type(self) -> str:
        base = _AS_BINARY.get(self.base.lower(), self.base) if self.charset == "BINARY" else self.base
        return " ".join([base + self.arguments, *self.attributes])

    @property
    def tells_default(self) -> bool:
        """Return whether the column has a constant default that is NULL or that Retable can write as text."""
        return self.has_default and (self.default is None or self._default_text() is not None)

    def spec(self) -> ColumnSpec:
        has_default = self.tells_default
        default = self._default_text() if has_default else None
        return ColumnSpec(self.name, self.source_type, self.not_null, has_default, default, self.comment, self.computed)

    def _default_text(self) -> str | None:
        """Return the default as text. Return None for NULL and for bytes that are not text.

        A bit or hexadecimal literal in a numeric column is returned as a number. In a column of bytes only ASCII text
        is accepted, because no statement contains the encoding of other characters.
        """
        value = self.default
        kind = gold_type(self.source_type, has_lengths=True)
        if isinstance(value, bytes) and kind is not None and kind.kind not in ("string", "binary"):
            return str(int.from_bytes(value)) if len(value) <= _LONGEST_NUMBER else None
        if value is not None and kind is not None and kind.kind == "binary" and not value.isascii():
            return None
        return _decoded(value) if isinstance(value, bytes) else value


def read_column(cursor: Cursor, name: str) -> ColumnDefinition:
    """Read the type and options after the column name `name`. Stop before the first word that is not an option."""
    column = ColumnDefinition(name=name)
    _read_type(cursor, column)
    while _read_option(cursor, column):
        pass
    return column


def read_place(cursor: Cursor) -> ColumnPosition | None:
    if cursor.take("FIRST"):
        return ColumnPosition(first=True)
    return ColumnPosition(after=cursor.name()) if cursor.take("AFTER") else None


def read_charset(cursor: Cursor) -> str | None:
    """Read `CHARACTER SET x`, `CHAR SET x` or `CHARSET x`, also with `=` before `x`.

    Return the name `x` in upper case, or None if no such clause comes next.
    """
    if not (cursor.take("CHARSET") or cursor.take("CHARACTER", "SET") or cursor.take("CHAR", "SET")):
        return None
    cursor.take("=")
    name = cursor.string()
    return (cursor.name() if name is None else name).upper()


def _read_type(cursor: Cursor, column: ColumnDefinition) -> None:
    words = [cursor.unquoted()]
    while cursor.word in _TYPE_CONTINUES and not (cursor.sees("CHARACTER", "SET") or cursor.sees("CHAR", "SET")):
        words.append(cursor.unquoted())
    written = " ".join(words)
    column.base = mysql_type_name(written)
    column.arguments = _read_arguments(cursor)
    while cursor.word in _TYPE_ATTRIBUTES:
        attribute = cursor.unquoted()
        column.attributes += [] if attribute.upper() == "SIGNED" else [attribute]
    column.not_null = column.numbered = written.upper() == "SERIAL"


def _read_arguments(cursor: Cursor) -> str:
    if not cursor.take("("):
        return ""
    arguments: list[str] = []
    while not arguments or cursor.take(","):
        text = cursor.verbatim(cursor.next())
        arguments.append(_single_quoted(text) if text.startswith('"') else text)
    cursor.expect(")")
    return f"({','.join(arguments)})"


def _single_quoted(label: str) -> str:
    """Return a label of an ENUM or SET with single quotes, as MySQL shows it."""
    inner = label[1:-1].replace('""', '"').replace("'", "''")
    return f"'{inner}'"


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _read_option(cursor: Cursor, column: ColumnDefinition) -> bool:
    """Read the next option of the column. Return False if no option comes next."""
    match cursor.word:
        case "NOT" if cursor.take("NOT", "SECONDARY"):
            pass
        case "NOT":
            cursor.expect("NOT", "NULL")
            column.not_null = True
        case "DEFAULT":
            column.has_default, column.default = read_default(cursor)
            column.computed = not column.has_default
        case "AUTO_INCREMENT":
            cursor.next()
            column.numbered = True
            _skip_numbering(cursor)
        case "SERIAL":
            cursor.expect("SERIAL", "DEFAULT", "VALUE")
            column.not_null = column.numbered = True
        case "PRIMARY" | "KEY":
            cursor.take("PRIMARY")
            cursor.expect("KEY")
            column.primary = True
        case "COMMENT":
            cursor.next()
            column.comment = cursor.expect_string()
        case "CHARSET" | "CHARACTER" | "CHAR":
            column.charset = read_charset(cursor)
            return column.charset is not None
        case "BYTE":
            cursor.next()
            column.charset = "BINARY"
        case "GENERATED" | "AS":
            _read_generated(cursor, column)
        case "REFERENCES":
            column.reference = read_reference(cursor, (column.name,))
        case _:
            return _skip_option(cursor)
    return True


def _skip_numbering(cursor: Cursor) -> None:
    """Step over PolarDB-X's row numbering: `BY GROUP UNIT COUNT 1 INDEX 0`, `BY SIMPLE WITH CACHE`."""
    if cursor.take("BY"):
        if not cursor.take_any({"GROUP", "SIMPLE", "TIME", "NEW"}):
            raise cursor.unknown()
        cursor.take("WITH", "CACHE")
    if cursor.take("UNIT", "COUNT"):
        cursor.number()
        cursor.expect("INDEX")
        cursor.number()


def _read_generated(cursor: Cursor, column: ColumnDefinition) -> None:
    if cursor.take("GENERATED"):
        cursor.expect("ALWAYS")
    cursor.expect("AS")
    if not cursor.skip_group():
        raise cursor.unknown()
    column.generated = True


def _skip_option(cursor: Cursor) -> bool:
    """Step over an option that does not change values of the column. Return False if no such option comes next."""
    match cursor.word:
        case "NULL" | "ASCII" | "UNICODE" | "BINARY" | "VISIBLE" | "INVISIBLE" | "VIRTUAL" | "STORED" | "PERSISTENT":
            cursor.next()
        case "UNIQUE":
            cursor.next()
            cursor.take("KEY")
        case "COLLATE" | "COLUMN_FORMAT" | "STORAGE" | "SRID" | "REF_SYSTEM_ID":
            cursor.next()
            cursor.take("=")
            cursor.next()
        case "ENGINE_ATTRIBUTE" | "SECONDARY_ENGINE_ATTRIBUTE":
            cursor.next()
            cursor.take("=")
            cursor.expect_string()
        case "COMPRESSED":
            cursor.next()
            if cursor.take("="):
                cursor.next()
        case "ON":
            cursor.expect("ON", "UPDATE")
            skip_expression(cursor)
        case "CONSTRAINT":
            cursor.next()
            if not cursor.sees("CHECK"):
                cursor.name()
        case "CHECK":
            cursor.next()
            if not cursor.skip_group():
                raise cursor.unknown()
            cursor.take("NOT", "ENFORCED")
            cursor.take("ENFORCED")
        case _:
            return False
    return True
