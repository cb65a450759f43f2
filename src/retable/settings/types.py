"""Parses values of settings for which TOML has no type, such as ages and intervals. The errors say how to write a
value."""

import os
import re
import sys
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import re2
from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationInfo

from retable.model.budget import QuarantineBudget, parse_budget
from retable.model.event import TableName
from retable.model.partitioning import PartitionField, parse_partition
from retable.model.policies import OnCascade, OnDropPartition, OnDropTable, OnRenameTable, OnTypeChange
from retable.model.schema import GoldType, parse_gold_type
from retable.model.source_types import parse_source_type

SOURCE_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_EVERY = re.compile(r"([1-9]\d{0,3})([mhd])\Z")
_AGE = re.compile(r"([1-9]\d{0,3})([dy])\Z")
_AGES = {"d": timedelta(days=1), "y": timedelta(days=365)}
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def from_folder(path: str | Path, info: ValidationInfo) -> Path:
    """Return an absolute path. A relative path starts at the folder of the settings, which is in `info.context`.

    If there is no context, it starts at the current folder. ValueError if the path is relative, but the settings are
    not in a folder (for example in S3).
    """
    folder = info.context["folder"] if info.context else Path()
    if folder is None and not Path(path).expanduser().is_absolute():
        raise ValueError(
            f"the path {str(path)!r} is relative, but these settings are not in a folder; write an absolute path"
        )
    folder = folder or Path()
    return Path(os.path.abspath(folder / Path(path).expanduser()))


def _span(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    match = _EVERY.match(value) if isinstance(value, str) else None
    if not match:
        raise ValueError(f"{value!r} is not a length of time; write it as 20m, 2h or 1d")
    return int(match[1]) * _UNITS[match[2]]


def _age(value: object) -> object:
    if value is None or isinstance(value, timedelta):
        return value
    match = _AGE.match(value) if isinstance(value, str) else None
    if not match:
        raise ValueError(
            f"{value!r} is not an age; write it as 90d or 1y, or remove the setting to keep everything for ever"
        )
    return int(match[1]) * _AGES[match[2]]


def _callable_path(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value):
        raise ValueError(
            f"{value!r} is not the name of a callable; write module:callable, as retable_airflow.doors:spark_submit"
        )
    return _not_of_python(value)


def _class_path(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", value):
        raise ValueError(
            f"{value!r} does not name a class; write its whole path, as "
            "airflow.providers.slack.notifications.slack_webhook.SlackWebhookNotifier"
        )
    return _not_of_python(value)


def _not_of_python(value: str) -> str:
    """Refuse names in Python's own modules, such as `os.system`: other people may be able to change the settings."""
    module = re.split(r"[.:]", value)[0]
    if module in sys.stdlib_module_names:
        raise ValueError(
            f"{value!r} is in {module}, a module of Python itself, which settings may not name; name a class or "
            f"callable of another module"
        )
    return value


def _interval(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    match = _EVERY.match(value) if isinstance(value, str) else None
    interval = int(match[1]) * _UNITS[match[2]] if match else timedelta()
    if not interval or timedelta(days=1) % interval:
        raise ValueError(f"{value!r} is not an interval; write a length of time that divides a day, as 15m, 1h or 1d")
    return interval


def _start(value: object) -> object:
    if value is None or value == "earliest":
        return None
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        time = None
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise ValueError(
            f'{value!r} is not a valid start; write "earliest", or a time with a zone, as 2026-03-01T05:00:00Z'
        )
    return time.astimezone(UTC)


def _log_start(value: object) -> object:
    if value == "latest":
        return value
    try:
        return _start(value)
    except ValueError:
        raise ValueError(
            f'{value!r} is not a valid start; write "earliest", "latest", or a time with a zone, as '
            f"2026-03-01T05:00:00Z"
        ) from None


def _delay(value: object) -> object:
    delay = timedelta(0) if value in ("0", 0) else _span(value)
    if not isinstance(delay, timedelta) or not timedelta(0) <= delay <= timedelta(hours=1):
        raise ValueError(f"{value!r} is not a valid delay; write a length of time of at most one hour, as 2m, or 0")
    return delay


def _file(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str | Path) or "://" in str(value):
        raise ValueError(f"{value!r} is not a file of this machine; write the path of a file")
    return from_folder(value, info)


def _variable_name(value: str) -> str:
    # The value is not shown, because a person may have written the secret itself here.
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise ValueError(
            "the value is not the name of an environment variable; write a name such as KAFKA_PASSWORD, not the secret "
            "itself"
        )
    return value


def _brokers(value: str) -> str:
    for each in value.split(","):
        if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}", each):
            raise ValueError(
                f"{value!r} is not a list of brokers; write each broker as host:port, with commas between several"
            )
    return value


def _source_name(value: str) -> str:
    if not SOURCE_NAME.match(value):
        raise ValueError(f"{value!r} is not a source name; write small letters, digits and _, with a letter first")
    return value


@lru_cache(64)
def linear_pattern(value: str) -> re2._Regexp:
    r"""Compile a regular expression with RE2, whose matching time is linear in the length of the text.

    re2.error if the expression is invalid. RE2 has no look-around. `(?<!\d)` and `(?!\d)` are translated, because
    earlier versions of `retable init` wrote them.
    """
    value = value.replace(r"(?<!\d)", r"(?:^|\D)").replace(r"(?!\d)", r"(?:\D|$)")
    options = re2.Options()
    options.log_errors = False
    return re2.compile(value, options)


def _hour_pattern(value: str) -> str:
    try:
        groups = linear_pattern(value).groups
    except re2.error as error:
        said = error.args[0].decode(errors="replace")
        raise ValueError(f"{value!r} is not a regular expression of RE2, which has no look-around: {said}") from error
    if not groups:
        raise ValueError(rf"{value!r} has no group; put the hour into ( ), as (\d{{4}}-\d{{2}}-\d{{2}}T\d{{2}})")
    return value


def _gold_namespace(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]*\{database\}[a-z0-9_]*", value):
        raise ValueError(
            f"{value!r} is not a valid namespace; write {{database}}, with small letters, digits and _ around it, as "
            f"gold_{{database}}"
        )
    return value


def _gold_type(value: object) -> object:
    parsed = parse_gold_type(value) or parse_source_type(value) if isinstance(value, str) else value
    if not isinstance(parsed, GoldType):
        raise ValueError(
            f"{value!r} is not a type of a gold column; write a type such as decimal(18,4), long or timestamptz, or a "
            f"type of the source such as time(6), bit(8) or point"
        )
    return parsed


def _partition(value: object) -> object:
    return parse_partition(value) if isinstance(value, str) else value


def _budget(value: object) -> object:
    parsed = parse_budget(value) if isinstance(value, str) else value
    if not isinstance(parsed, QuarantineBudget):
        raise ValueError(
            f'{value!r} is not a valid budget; write "0", a number per window ("10/window"), or a share of a window\'s '
            f'messages ("0.01%")'
        )
    return parsed


GoldNamespace = Annotated[str, AfterValidator(_gold_namespace)]
"""a namespace with `{database}` in it"""


def _named(value: object) -> object:
    levels = value.split(".") if isinstance(value, str) else []
    if len(levels) not in (2, 3) or not all(levels):
        raise ValueError(f"{value!r} is not a table; write it as shop.orders, or shop.dbo.orders")
    return TableName(levels[0], levels[1] if len(levels) == 3 else None, levels[-1])


TargetTable = Annotated[TableName, BeforeValidator(_named)]
"""a table, `database.table` or `database.schema.table`"""
Name = Annotated[str, AfterValidator(_source_name)]
"""small letters, digits and `_`, a letter first"""
HourPattern = Annotated[str, AfterValidator(_hour_pattern)]
"""a regular expression of RE2 with a group"""
Interval = Annotated[timedelta, BeforeValidator(_interval)]
"""a length of time that divides a day: `15m`, `1h`, `1d`"""
Span = Annotated[timedelta, BeforeValidator(_span)]
"""a length of time: `20m`, `2h`, `1d`"""
Age = Annotated[timedelta | None, BeforeValidator(_age)]
"""an age: `90d`, `1y`"""
CallablePath = Annotated[str, AfterValidator(_callable_path)]
"""a Python callable, `module:callable`"""
ClassPath = Annotated[str, AfterValidator(_class_path)]
"""a Python class, `module.Class`"""
Start = Annotated[datetime | None, BeforeValidator(_start)]
"""`earliest`, or a time with its zone"""
LogStart = Annotated[datetime | Literal["latest"] | None, BeforeValidator(_log_start)]
"""`earliest`, `latest`, or a time with its zone"""
Delay = Annotated[timedelta, BeforeValidator(_delay)]
"""a length of time of at most an hour: `0`, `2m`"""
File = Annotated[Path, BeforeValidator(_file)]
"""a file of this machine"""
VariableName = Annotated[str, AfterValidator(_variable_name)]
"""the name of an environment variable"""
BrokerList = Annotated[str, AfterValidator(_brokers)]
"""`host:port`, several with commas between them"""
Budget = Annotated[QuarantineBudget, BeforeValidator(_budget)]
"""`0`, a number of messages for each window (`10/window`), or a share of a window's messages (`0.01%`)"""
ColumnType = Annotated[GoldType, BeforeValidator(_gold_type)]
"""a type of gold or of the source: `decimal(18,4)`, `long`, `time(6)`"""
PartitionSetting = Annotated[PartitionField, BeforeValidator(_partition)]
"""a column or a transform of a column: `region`, `days(created_at)`, `bucket(16, id)`"""


class Notify(BaseModel, frozen=True, extra="allow"):
    """An entry of `notify`: an Airflow notifier that sends alerts.

    All keys except `notifier` are passed to the notifier as arguments.
    """

    notifier: ClassPath
    """The class of an Airflow notifier, as `retable_airflow.notify.WebhookNotifier`. Put its secrets into an Airflow
    connection."""

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of the notifier: all keys of this entry except `notifier`."""
        return dict(self.model_extra or {})


class ChangeRules(BaseModel, frozen=True, extra="forbid"):
    """What Retable does with a gold table after certain changes of its source table, such as DROP TABLE.

    The effects of all statements are in docs/statements.md.
    """

    type_change: OnTypeChange = "side_column"
    """The source changes the type of a column to a type that cannot hold all old values. `side_column`: gold keeps the
    old column and adds a new column. `string`: the column becomes text. `hold`: the table is held (it gets no more
    changes until a person decides)."""
    drop_table: OnDropTable = "empty"
    """The source drops the table. `empty`: the gold table becomes empty. `keep`: the gold table keeps its rows.
    `drop`: Retable drops the gold table from the catalog."""
    rename_table: OnRenameTable = "follow"
    """The source renames the table. `follow`: Retable renames the gold table too. `keep_name`: the gold table keeps its
    name. `hold`: the table is held."""
    drop_partition: OnDropPartition = "hold"
    """The source drops or exchanges partitions without an event for each row. `hold`: the table is held.
    `keep_rows`: gold keeps its rows."""
    cascade: OnCascade = "suspect"
    """A foreign key of MySQL or MariaDB deletes or changes rows, and the log has no event for these rows. `suspect`:
    the table counts as late until a person or later messages show whether its rows are right. `ignore`: nothing
    happens."""
