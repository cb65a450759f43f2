"""Read column definitions in CREATE TABLE and ALTER TABLE of Oracle."""

from dataclasses import dataclass

from retable.ddl.defaults import Default, column_spec
from retable.ddl.oracle.constraints import at_constraint, read_constraint, read_state
from retable.ddl.oracle.cursor import Cursor
from retable.ddl.oracle.defaults import read_default
from retable.ddl.oracle.types.names import read_type
from retable.model.schema import ColumnSpec

_OPTION_WORDS = frozenset(
    {"DEFAULT", "NOT", "NULL", "CONSTRAINT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "ENCRYPT", "DECRYPT"}
    | {"VISIBLE", "INVISIBLE", "SORT", "GENERATED", "AS", "COLLATE", "DROP", "SCOPE", "WITH", "SUBSTITUTABLE"}
    | {"ANNOTATIONS", "RESERVABLE", "ENABLE", "DISABLE", "VIRTUAL", "", ",", ")", ";"}
)
_SEQUENCE_WORDS = frozenset(
    {"START", "INCREMENT", "MINVALUE", "MAXVALUE", "NOMINVALUE", "NOMAXVALUE", "CACHE", "NOCACHE", "CYCLE", "NOCYCLE"}
    | {"ORDER", "NOORDER", "KEEP", "NOKEEP", "SCALE", "NOSCALE", "EXTEND", "NOEXTEND"}
)
_PLAIN_OPTIONS = frozenset({"VISIBLE", "INVISIBLE", "SORT", "VIRTUAL", "DECRYPT", "RESERVABLE"})


@dataclass(slots=True, kw_only=True)
class ColumnDefinition:
    """The definition of a column in a statement. The functions of this module fill it while they read.

    `source_type` is empty if the definition has no type. `numbered` means an identity column, `generated` a virtual
    column, and `primary` a column that alone is the primary key. A `hidden` column is for extended statistics of
    Oracle: no row and no message contains it.
    """

    name: str
    source_type: str = ""
    not_null: bool = False
    default: Default | None = None
    primary: bool = False
    numbered: bool = False
    generated: bool = False
    hidden: bool = False

    @property
    def tells_default(self) -> bool:
        """Return False if the column has a constant default, but it is not known which value rows show for it.

        An example is a text as the default of a DATE column. Return True without a default, and for an expression.
        """
        return self.default is None or self.default.is_known or self.default.is_computed

    def spec(self) -> ColumnSpec:
        return column_spec(self.name, self.source_type, self.not_null, self.default)


def read_column(cursor: Cursor) -> ColumnDefinition:
    """Read the name, the type and the options of a column. Stop before the first word that is not an option.

    A definition without a type is that of a virtual column, or of an existing column that keeps its type.
    """
    column = ColumnDefinition(name=cursor.name())
    if cursor.word not in _OPTION_WORDS or cursor.at_name:
        column.source_type = read_type(cursor)
    while _read_option(cursor, column):
        pass
    return column


def _read_option(cursor: Cursor, column: ColumnDefinition) -> bool:
    """Read the next option of the column. Return False if no option comes next."""
    if at_constraint(cursor):
        constraint = read_constraint(cursor)
        if constraint.columns:
            raise cursor.unknown()
        column.not_null = column.not_null or constraint.is_not_null
        column.primary = column.primary or constraint.is_key
        return True
    match cursor.word:
        case "DEFAULT":
            column.default = read_default(cursor, column.source_type)
        case "GENERATED" | "AS":
            _read_generated(cursor, column)
        case word if word in _PLAIN_OPTIONS:
            cursor.next()
        case "BY":
            cursor.expect("BY", "USER", "FOR", "STATISTICS")
            column.hidden = True
        case "COLLATE":
            cursor.next()
            cursor.name()
        case "ENCRYPT":
            _skip_encryption(cursor)
        case "ANNOTATIONS":
            cursor.next()
            if not cursor.skip_group():
                raise cursor.unknown()
        case "NOT" if cursor.take("NOT", "RESERVABLE"):
            pass
        case "DROP" if cursor.take("DROP", "IDENTITY"):
            pass
        case _:
            return read_state(cursor)
    return True


def _read_generated(cursor: Cursor, column: ColumnDefinition) -> None:
    """Read `GENERATED … AS IDENTITY`, whose values are stored, or `[GENERATED ALWAYS] AS (…)`, whose values are not."""
    if cursor.take("GENERATED") and not cursor.take("ALWAYS"):
        cursor.expect("BY", "DEFAULT")
        if cursor.take("ON", "NULL"):
            _skip_when(cursor)
    cursor.expect("AS")
    if cursor.take("IDENTITY"):
        column.numbered = column.not_null = True
        if not cursor.skip_group():
            _skip_sequence(cursor)
    elif cursor.skip_group():
        column.generated = True
    else:
        raise cursor.unknown()


def _skip_sequence(cursor: Cursor) -> None:
    """Step over the options of an identity, such as `START WITH 1`, that are not in parentheses."""
    while cursor.word in _SEQUENCE_WORDS:
        cursor.next()
        cursor.take_any({"BY", "WITH"})
        if not cursor.take("LIMIT", "VALUE"):
            cursor.number()


def _skip_when(cursor: Cursor) -> None:
    if cursor.take("FOR", "INSERT") and not cursor.take("ONLY"):
        cursor.expect("AND", "UPDATE")


def _skip_encryption(cursor: Cursor) -> None:
    cursor.expect("ENCRYPT")
    if cursor.take("USING"):
        cursor.expect_string()
    if cursor.take("IDENTIFIED", "BY"):
        cursor.next()
    cursor.string()
    if cursor.take("NO"):
        cursor.expect("SALT")
    cursor.take("SALT")
