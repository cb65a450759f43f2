"""Read the constraints of an Oracle column or table, and their states, such as ENABLE or DISABLE."""

from dataclasses import dataclass

from retable.ddl.oracle.cursor import Cursor

_STATE_WORDS = frozenset(
    {"DEFERRABLE", "ENABLE", "DISABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY", "PRECHECK", "NOPRECHECK"}
    | {"ONLINE", "REVERSE", "LOGGING", "NOLOGGING", "LOCAL", "GLOBAL", "NOCOMPRESS", "NOPARALLEL", "UNUSABLE"}
)
_STATE_WORDS_WITH_ONE = frozenset({"TABLESPACE", "PCTFREE", "INITRANS", "MAXTRANS", "PCTUSED", "INITIALLY"})
_AFTER_INDEX = (
    _STATE_WORDS | _STATE_WORDS_WITH_ONE | {"STORAGE", "COMPUTE", "COMPRESS", "USING", "EXCEPTIONS", "CASCADE"}
)
_CONSTRAINTS = frozenset({"PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "NULL", "FOREIGN"})


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a column or a table. `what` is its kind in words, such as `primary key`.

    `columns` are set only for a primary key that names its columns. `is_key` is False for a disabled primary key.
    """

    what: str
    columns: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def is_not_null(self) -> bool:
        return self.what == "not null" and self.enabled

    @property
    def is_key(self) -> bool:
        return self.what == "primary key" and self.enabled


def at_constraint(cursor: Cursor) -> bool:
    """Return whether a constraint comes next, with or without a name."""
    return cursor.word in _CONSTRAINTS or cursor.sees("CONSTRAINT") or cursor.sees("NOT", "NULL")


def read_constraint(cursor: Cursor) -> Constraint:
    """Read a constraint of a column or of the table, with its state, such as DISABLE."""
    if cursor.take("CONSTRAINT"):
        cursor.name()
    what, columns = _read_rule(cursor)
    enabled = True
    while not cursor.ended:
        enabled = enabled and not cursor.sees("DISABLE")
        if not read_state(cursor):
            break
    return Constraint(what, columns, enabled)


def read_state(cursor: Cursor) -> bool:
    """Step over one option of a constraint, such as DISABLE or USING INDEX. Return whether an option came next."""
    match cursor.word:
        case "LOCAL":
            cursor.next()
            _skip_index_partitions(cursor)
        case "GLOBAL":
            cursor.next()
            _skip_global_partitions(cursor)
        case word if word in _STATE_WORDS:
            cursor.next()
        case word if word in _STATE_WORDS_WITH_ONE:
            cursor.next()
            cursor.next()
        case "NOT" if cursor.take("NOT", "DEFERRABLE"):
            pass
        case "COMPUTE":
            cursor.expect("COMPUTE", "STATISTICS")
        case "COMPRESS":
            cursor.next()
            cursor.take("ADVANCED")
            if not cursor.take_any({"LOW", "HIGH"}):
                cursor.number()
        case "STORAGE":
            cursor.next()
            if not cursor.skip_group():
                raise cursor.unknown()
        case "EXCEPTIONS":
            cursor.expect("EXCEPTIONS", "INTO")
            cursor.names()
        case "USING":
            cursor.expect("USING", "INDEX")
            if not (cursor.skip_group() or cursor.word in _AFTER_INDEX or cursor.at_end_of_element):
                cursor.names()
        case _:
            return False
    return True


def _skip_global_partitions(cursor: Cursor) -> None:
    if cursor.take("PARTITION", "BY"):
        cursor.next()
        if not cursor.skip_group():
            raise cursor.unknown()
        _skip_index_partitions(cursor)


def _skip_index_partitions(cursor: Cursor) -> None:
    """Step over the partitions of an index: a list, or their number and tablespaces."""
    if cursor.take("PARTITIONS"):
        cursor.number()
    if cursor.take("STORE", "IN") and not cursor.sees("("):
        raise cursor.unknown()
    cursor.skip_group()


def take_cascade(cursor: Cursor) -> bool:
    """Step over CASCADE CONSTRAINTS or CASCADE CONSTRAINT if it comes next. Return whether it came next."""
    return cursor.take("CASCADE", "CONSTRAINTS") or cursor.take("CASCADE", "CONSTRAINT")


def read_column_list(cursor: Cursor) -> tuple[str, ...]:
    """Read `(a, b)` and return the columns."""
    cursor.expect("(")
    columns = [cursor.name()]
    while cursor.take(","):
        columns.append(cursor.name())
    cursor.expect(")")
    return tuple(columns)


def _read_rule(cursor: Cursor) -> tuple[str, tuple[str, ...]]:
    match cursor.word:
        case "NOT":
            cursor.expect("NOT", "NULL")
            return "not null", ()
        case "NULL":
            cursor.next()
            return "null", ()
        case "PRIMARY":
            cursor.expect("PRIMARY", "KEY")
            return "primary key", read_column_list(cursor) if cursor.sees("(") else ()
        case "UNIQUE":
            cursor.next()
            cursor.skip_group()
            return "unique", ()
        case "CHECK":
            cursor.next()
            if not cursor.skip_group():
                raise cursor.unknown()
            return "check", ()
        case "FOREIGN":
            cursor.expect("FOREIGN", "KEY")
            read_column_list(cursor)
            _skip_reference(cursor)
            return "foreign key", ()
        case "REFERENCES":
            _skip_reference(cursor)
            return "foreign key", ()
    raise cursor.unknown()


def _skip_reference(cursor: Cursor) -> None:
    cursor.expect("REFERENCES")
    cursor.names()
    cursor.skip_group()
    if cursor.take("ON", "DELETE") and not cursor.take("CASCADE"):
        cursor.expect("SET", "NULL")
