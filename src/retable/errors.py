"""Every error that Retable raises. The class of an error says what happens next.

    RetableError
    ├─ MessageError    QUARANTINE   one message, or one row, waits in quarantine; other messages and rows continue
    ├─ TableError      HOLD         one table stops at a position; other tables continue
    ├─ ConflictError   RETRY        nothing is wrong with the data; the same command works later
    ├─ SettingsError   STOP         nothing was written; a person must change something
    └─ Unbalanced      BUG          Retable counted wrongly

The docstring of an error says what happened, and `helps` says what a person can do. docs/reference/errors.md is made
from both. `code` is stored in tables, so it never changes.
"""

from typing import ClassVar


class RetableError(Exception):
    """The base of all errors that Retable raises for users.

    `code` names the kind of error, `remedy` says what happens next, and `helps` says what a person can do. `facts` are
    details for code and logs. If an error is pickled between Spark's processes, it keeps its message and its facts.
    """

    code: ClassVar[str] = "ERROR"
    remedy: ClassVar[str] = "STOP"
    helps: ClassVar[str]

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.facts)


def _rebuild(kind: type[RetableError], message: str, facts: dict[str, object]) -> RetableError:
    return kind(message, **facts)


# --- one message or row ------------------------------------------------------------------------------------------
class MessageError(RetableError):
    """A message cannot be decoded, or a row cannot be applied to its table."""

    code = "MESSAGE"
    remedy = "QUARANTINE"
    helps = (
        "`retable quarantine list` shows the message with its reason. Correct the settings or install a version that "
        "reads the message, then `retable quarantine redecode`. Or accept the loss: `retable quarantine accept`."
    )


class Malformed(MessageError):
    """The message is not in the format that the settings name: it is cut off, not UTF-8, or lacks a required field."""

    code = "MALFORMED"
    helps = "Inspect the message with `retable show-message`. If all messages fail, correct `format` in the settings."


class UnknownOperation(MessageError):
    """The message names an operation that its format does not have."""

    code = "OP_UNKNOWN"
    helps = "Ask the producer of the messages what the operation means. A newer version of Retable may read it."


class BadValue(MessageError):
    """A value does not fit its type, for example a text in a column of numbers."""

    code = "BAD_VALUE"
    helps = "Set `types` for the column, then `retable quarantine redecode`."


class TooLarge(MessageError):
    """The message exceeds a limit: of its size, of its nesting depth, of its fields, or of the digits of a number."""

    code = "TOO_LARGE"
    helps = "If the size exceeds the limit, raise `max_message` of the source, then land the window again."


class Blocked(MessageError):
    """The message was decoded, but one of its events must not be applied. The fact `problem` names the reason."""

    code = "BLOCKED"
    helps = "docs/formats.md lists the problems of each format."


# --- one table ---------------------------------------------------------------------------------------------------
class TableError(RetableError):
    """A change cannot be applied to its table. The table is held: it gets no changes from this position on."""

    code = "TABLE"
    remedy = "HOLD"
    helps = "`retable hold list` shows the reason and the command that helps."


class UnsupportedChange(TableError):
    """Retable does not replay this statement or does not understand it, or the settings forbid it."""

    code = "UNSUPPORTED_CHANGE"
    helps = (
        'Write what the statement means: `retable hold release TABLE --as "ALTER …"`. Or leave the statement out: '
        "`retable hold release TABLE --skip`."
    )


class InexactCast(TableError):
    """A column got a new type that cannot hold an existing value exactly. The fact `at` is the change's position."""

    code = "INEXACT_CAST"
    helps = (
        "Write what the source made of the value: `retable hold release TABLE --as …`. Or set "
        '`on.type_change = "string"`, then `retable hold release TABLE --retry`.'
    )


class LateChange(TableError):
    """A schema change arrived late: newer rows of its table were already replayed."""

    code = "LATE_CHANGE"
    helps = "`retable rebuild TABLE` replays all of its rows in their order."


class OrderUndefined(TableError):
    """Two changes of one key are in two Kafka partitions, and their positions do not show which change is later."""

    code = "ORDER_UNDEFINED"
    helps = "Let the producer write each key to one partition, then `retable rebuild TABLE`."


class ZeroDate(TableError):
    """A date is `0000-00-00`, or its month or day is zero. A date column of Iceberg cannot hold such a date."""

    code = "ZERO_DATE"
    helps = (
        'Set `zero_date` of the table to `"null"`, then `retable hold release TABLE --retry`; or to `"string"`, then '
        "`retable rebuild TABLE`."
    )


class NameClash(TableError):
    """Two tables or two columns of the source get the same name in gold."""

    code = "NAME_CLASH"
    helps = 'Rename or exclude one of the two, or set `case = "source"`, then `retable rebuild TABLE`.'


class KeyUnknown(TableError):
    """The messages name different keys for the table, or another key than its statements."""

    code = "KEY_UNKNOWN"
    helps = "Set `keys` for the table, then `retable rebuild TABLE`."


class PartitionUnfit(TableError):
    """The setting `partition` names a column that the table does not have, or a column that a change removes."""

    code = "PARTITION_UNFIT"
    helps = "Correct the setting `partition` of the table, then `retable hold release TABLE --retry`."


class RowMissing(TableError):
    """A change has only some columns of a row, and gold does not have this row."""

    code = "ROW_MISSING"
    helps = "Find the lost message, or start the table from a copy: `retable baseline` or `retable resync`."


class BehindHorizon(TableError):
    """A change needs rows of silver that retention has dropped."""

    code = "BEHIND_HORIZON"
    helps = (
        "Leave the change out: `retable hold release TABLE --skip`. Or start the table from a copy: `retable baseline`."
    )


# --- try again ---------------------------------------------------------------------------------------------------
class ConflictError(RetableError):
    """Another process wrote first, or a server did not answer. Nothing is wrong with the data."""

    code = "CONFLICT"
    remedy = "RETRY"
    helps = "Run the same command again."


class Fenced(ConflictError):
    """Another run committed to the gold table first. This run wrote nothing to it."""

    code = "FENCED"
    helps = "Run the window again."


class Compacted(Fenced):
    """Upkeep compacted the table's files at the same time. The run repeats its own write automatically."""

    code = "COMPACTED"
    helps = "Run the window again if the error remains."


class Leased(ConflictError):
    """Another run works on this table, and only that run may write to it.

    The message names that run and the time at which its lease (right to write) ends.
    """

    code = "LEASED"
    helps = "Wait for that run, then run the command again."


class Unavailable(ConflictError):
    """The catalog, the brokers or the storage do not answer."""

    code = "UNAVAILABLE"
    helps = "Check that the server runs and can be reached, then run the command again."


class SparkDied(ConflictError):
    """Spark's JVM process ended, or it ran out of memory."""

    code = "SPARK_DIED"
    helps = "Run the command again. If it happens again, give Spark more memory: docs/internals/performance.md."


class Late(ConflictError):
    """`retable fresh` found no proof yet that the table has all changes up to the requested time."""

    code = "LATE"
    helps = "`retable why TABLE` names the cause and the next step."


# --- a person must change something ------------------------------------------------------------------------------
class SettingsError(RetableError):
    """The command cannot run with these settings, arguments or environment. Nothing was written."""

    code = "SETTINGS"
    helps = "Change what the message names, then run the command again."


class UnknownSetting(SettingsError):
    """A name in the settings is not a setting. The message names the most similar setting."""

    code = "UNKNOWN_SETTING"
    helps = "Correct the name: docs/reference/settings.md."


class InvalidSetting(SettingsError):
    """A setting, or an argument of a command, has an invalid value."""

    code = "INVALID_SETTING"
    helps = "Correct the value as the message says."


class NotFound(SettingsError):
    """A file, a source, a table or a window does not exist."""

    code = "NOT_FOUND"
    helps = "Check the name. The message shows the existing names."


class PositionsLost(SettingsError):
    """The source no longer has messages that a recorded window covers, and Retable has not copied them to bronze."""

    code = "POSITIONS_LOST"
    helps = 'docs/operations.md has the steps, under "Positions are lost".'


class NotReady(SettingsError):
    """An earlier stage (land, decode or replay) has not run for this window, so this command has no input."""

    code = "NOT_READY"
    helps = "Run the command that the message names."


class NotKept(SettingsError):
    """Retention has dropped the messages or rows of this window. They were replayed, but cannot be read again."""

    code = "NOT_KEPT"
    helps = "Begin at the window that the error names."


class QuarantineFull(SettingsError):
    """In one window, more messages fail to decode than `quarantine_limit` allows. Silver was not changed."""

    code = "QUARANTINE_FULL"
    helps = "Correct the cause, which is often the setting `format`, or raise `quarantine_limit`."


class CatalogMismatch(SettingsError):
    """The catalog and the files in the warehouse do not match: one of the two is lost, is an old copy, or was moved."""

    code = "CATALOG_MISMATCH"
    helps = "Often `retable recover` repairs it: docs/operations.md."


class EnvironmentFault(SettingsError):
    """The machine lacks something: Java, a jar, a Python package, an environment variable, or space on a disk."""

    code = "ENVIRONMENT"
    helps = "Install or set what the message names."


class DamagedFile(SettingsError):
    """A data file of the lake is missing, is cut off, or was changed. The fact `path` names it."""

    code = "DAMAGED_FILE"
    helps = 'docs/operations.md has the steps for each kind of file, under "A file is damaged".'


class Unbalanced(RetableError):
    """The counts of a stage do not add up: a row or message was lost or counted twice. This is a bug of Retable."""

    code = "UNBALANCED"
    remedy = "BUG"
    helps = "Report the bug with the counts in the message."
