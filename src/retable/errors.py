"""Every error that Retable raises; the class is the remedy.

    RetableError
    ├─ MessageError        QUARANTINE  one message cannot be decoded, or one row cannot be applied
    │  ├─ Malformed            not the declared format: truncated, not UTF-8, a required field missing
    │  ├─ UnknownOperation     an operation that the format does not list
    │  ├─ BadValue             a value that is not what its type says
    │  ├─ TooLarge             over the cap on size, depth or digits
    │  └─ Blocked              decoded, but a blocking problem of docs/formats.md stands on it
    ├─ TableError          HOLD        one table stops at a position; the others go on
    │  ├─ UnsupportedChange    a schema change that Retable does not replay
    │  ├─ InexactCast          a value that the new type of its column does not hold as it was
    │  ├─ LateChange           a schema change older than one already applied
    │  ├─ OrderUndefined       two changes whose order nothing tells
    │  ├─ ZeroDate             a zero or partial date, which no date can hold
    │  ├─ NameClash            two source names that become one gold name
    │  ├─ KeyUnknown           a row without its whole key
    │  ├─ PartitionUnfit       files that cannot be parted as the settings say
    │  ├─ RowMissing           a change of some columns of a row that is not there
    │  └─ BehindHorizon        a change that needs what retention has dropped from silver
    ├─ ConflictError       RETRY       somebody else committed first, or the catalog is busy
    │  ├─ Fenced               gold moved under this run: another run is the writer now
    │  │  └─ Compacted             only its files moved: what was decided stands, and is written again
    │  ├─ Leased               another run is at this table
    │  ├─ Unavailable          the catalog or the storage does not answer
    │  ├─ SparkDied            Spark's process is gone, or ran out of memory
    │  └─ Late                 a table is not complete through the time that was asked for
    ├─ SettingsError       STOP        nothing was written; a person must change something
    │  ├─ UnknownSetting       a name that no setting has, with the nearest one
    │  ├─ InvalidSetting       a value that a setting cannot take
    │  ├─ NotFound             a file, source, table or window that is not there
    │  ├─ PositionsLost        a recorded range that the source no longer has
    │  ├─ NotReady             an earlier stage has not run for this window
    │  ├─ QuarantineFull       more messages of a window cannot be decoded than quarantine takes
    │  ├─ NotKept              messages or rows that retention has dropped
    │  ├─ CatalogMismatch      the catalog and the warehouse do not belong together, or one is older than the other
    │  ├─ EnvironmentFault     Java, a jar or the disk: what is missing and how to get it
    │  └─ DamagedFile          a data file of the lake that is missing, cut short or changed
    └─ Unbalanced          BUG         the ledger's equations do not hold: a bug of ours

A message says what, where, and what to do next. `code` is stored in tables, so it never changes.
"""

from typing import ClassVar


class RetableError(Exception):
    """Something that a user must know. `facts` survive pickling between Spark's processes."""

    code: ClassVar[str] = "ERROR"
    remedy: ClassVar[str] = "STOP"

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.facts)


def _rebuild(kind: type[RetableError], message: str, facts: dict[str, object]) -> RetableError:
    return kind(message, **facts)


class MessageError(RetableError):
    """One message or row: it goes to quarantine with this code and reason, the others go on."""

    code = "MESSAGE"
    remedy = "QUARANTINE"


class Malformed(MessageError):
    code = "MALFORMED"


class UnknownOperation(MessageError):
    code = "OP_UNKNOWN"


class BadValue(MessageError):
    code = "BAD_VALUE"


class TooLarge(MessageError):
    code = "TOO_LARGE"


class Blocked(MessageError):
    """The message is decoded, but one of its events has a blocking problem; facts name it."""

    code = "BLOCKED"


class TableError(RetableError):
    """One table stops at a position with this code and reason, the others go on."""

    code = "TABLE"
    remedy = "HOLD"


class UnsupportedChange(TableError):
    code = "UNSUPPORTED_CHANGE"


class InexactCast(TableError):
    """A value that the new type of its column does not hold as it was; the fact `at` is where the type changed."""

    code = "INEXACT_CAST"


class LateChange(TableError):
    code = "LATE_CHANGE"


class OrderUndefined(TableError):
    code = "ORDER_UNDEFINED"


class ZeroDate(TableError):
    code = "ZERO_DATE"


class NameClash(TableError):
    code = "NAME_CLASH"


class KeyUnknown(TableError):
    code = "KEY_UNKNOWN"


class PartitionUnfit(TableError):
    """The files of a table cannot be parted as the settings say, or one of its columns cannot go as it parts them."""

    code = "PARTITION_UNFIT"


class RowMissing(TableError):
    """A change tells only some columns of a row that is not there."""

    code = "ROW_MISSING"


class BehindHorizon(TableError):
    """A change that nothing but rows could decide which retention has dropped from silver."""

    code = "BEHIND_HORIZON"


class ConflictError(RetableError):
    """Nothing is wrong: try again."""

    code = "CONFLICT"
    remedy = "RETRY"


class Fenced(ConflictError):
    code = "FENCED"


class Compacted(Fenced):
    """Upkeep wrote the same rows into other files meanwhile: the decision stands, and only its write is repeated."""

    code = "COMPACTED"


class Leased(ConflictError):
    code = "LEASED"


class Unavailable(ConflictError):
    code = "UNAVAILABLE"


class SparkDied(ConflictError):
    code = "SPARK_DIED"


class Late(ConflictError):
    code = "LATE"


class SettingsError(RetableError):
    """A person must change something; nothing was written."""

    code = "SETTINGS"


class UnknownSetting(SettingsError):
    code = "UNKNOWN_SETTING"


class InvalidSetting(SettingsError):
    code = "INVALID_SETTING"


class NotFound(SettingsError):
    code = "NOT_FOUND"


class PositionsLost(SettingsError):
    code = "POSITIONS_LOST"


class NotReady(SettingsError):
    code = "NOT_READY"


class NotKept(SettingsError):
    """What retention has dropped: it was landed, decoded and replayed, and cannot be read again."""

    code = "NOT_KEPT"


class QuarantineFull(SettingsError):
    """So many messages of a window cannot be decoded that it is held whole: silver stays as it was."""

    code = "QUARANTINE_FULL"


class CatalogMismatch(SettingsError):
    """The catalog is lost, restored from an old copy, or another lake's; or the warehouse was copied or moved."""

    code = "CATALOG_MISMATCH"


class EnvironmentFault(SettingsError):
    code = "ENVIRONMENT"


class DamagedFile(SettingsError):
    """A data file of the lake that is missing, cut short or not what was written; the fact `path` names it."""

    code = "DAMAGED_FILE"


class Unbalanced(RetableError):
    """Nothing that a person did: Retable itself counted wrongly."""

    code = "UNBALANCED"
    remedy = "BUG"
