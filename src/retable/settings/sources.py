"""A source and how its messages are read: `[sources.<name>]` of the settings."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal, LiteralString, Self

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from retable.errors import InvalidSetting
from retable.formats.options import NO_OPTIONS, FormatOptions, NonEmptyStr, Zone
from retable.formats.registry import find_format, option_readers
from retable.model.budget import QuarantineBudget
from retable.model.event import TableName
from retable.model.evidence import Grade
from retable.settings.storage import S3Settings, StorageLocation
from retable.settings.types import (
    Age,
    BrokerList,
    Budget,
    CallablePath,
    Delay,
    File,
    HourPattern,
    Interval,
    LogStart,
    Name,
    Notify,
    Span,
    Start,
    VariableName,
)


def _refusal(place: str, kind: LiteralString, text: str, value: object) -> ValidationError:
    """An error at a setting of a source, as pydantic collects them."""
    error = PydanticCustomError(kind, "{text}", {"text": text})
    return ValidationError.from_exception_data("source", [InitErrorDetails(type=error, loc=(place,), input=value)])


class Retention(BaseModel, frozen=True, extra="forbid"):
    """How long rows are kept after the end of their window: `retention` (docs/how-to/upkeep.md)."""

    bronze: Age = None
    """How long messages are kept, as `90d` or `1y`. Not set: for ever. A window without them cannot be decoded
    again."""
    silver: Age = None
    """How long row changes are kept, as `1y`. Not set: for ever. Older changes are then known from gold alone."""
    quarantine: Age = None
    """How long messages are kept that a person accepted as lost, as `1y`. Not set: for ever."""


class SourceSettings(BaseModel, frozen=True, extra="forbid"):
    """A source of change messages. These settings are the same for every `kind` of source."""

    name: Name
    """The name of the source: small letters, digits and `_`, a letter first. It stands in the brackets."""
    format: str
    """The format of the messages: a name of docs/formats.md."""
    every: Interval = timedelta(hours=1)
    """The length of a window, as `1h`. It cannot change after the first window of the source."""
    start: LogStart = None
    """Where to begin: `earliest`, or a time with its zone. Windows before that time are not recorded."""
    time_zone: Zone = "UTC"
    """The zone of times that messages write without a zone."""
    timestamp_zone: Zone = ""
    """The zone in which the format writes timestamps with a zone as text. Not set: `time_zone`."""
    include: tuple[str, ...] = ("*",)
    """The tables to take, as globs over `database.[schema.]table`. Upper and lower case differ."""
    exclude: tuple[str, ...] = ()
    """The tables to leave out of those that `include` takes. Their changes are counted, but not stored."""
    paused: NonEmptyStr | None = None
    """Why the source is paused, as `"it moves to another region"`. While it is set, no new window is recorded;
    recorded windows can still run."""
    source_system: str | None = None
    """The database system of the source, as `mysql`, if the messages do not name it."""
    source_epoch: Annotated[int, Field(strict=True, ge=0)] = 0
    """The first number of every sequence. Raise it when a topic is made again, or when the positions of the source
    start again."""
    max_message: Annotated[int, Field(strict=True, ge=1024, le=1 << 30)] = 32 * 1024 * 1024
    """The longest message, or line of an object, in bytes. A longer one goes to quarantine."""
    canary: str | None = None
    """A small table that the source updates every minute, as `ops.retable_canary`. Its rows prove how far the source
    is read. It does not become a gold table."""
    binary_encoding: Literal["utf-8", "base64", "hex"] = "utf-8"
    """How messages write bytes as text, for columns that `types` makes binary."""
    quarantine_budget: Budget = QuarantineBudget()
    """How many messages of a window may be in quarantine while a table still counts as complete: `0`, `10/window` or
    `0.01%`."""
    quarantine_limit: Annotated[int, Field(strict=True, ge=1)] = 100_000
    """The most messages of a window that go to quarantine. If there are more, the window is not decoded."""
    retention: Retention = Retention()
    """How long bronze, silver and quarantine are kept, as `{ bronze = "90d", silver = "1y" }`. Not set: for ever."""
    applications: Literal["stage", "window"] = "stage"
    """In Airflow: `stage` runs each stage as a Spark application of its own; `window` runs all three in one, which
    starts a single JVM."""
    spark_door: CallablePath = "retable_airflow.doors:spark_submit"
    """In Airflow: the callable that makes the operator which runs a Spark job."""
    sla: Span | None = None
    """How long after the end of a window the window must be complete, as `20m`. If it is not, an alert is sent."""
    sla_grade: Grade = "row"
    """The lowest grade of evidence that counts for `sla`: `heartbeat`, `canary`, `row` or `drained`."""
    owner: NonEmptyStr | None = None
    """Whom alerts name, as `orders-team`."""
    severity: Literal["info", "warning", "error", "critical"] = "warning"
    """The severity that alerts name."""
    notify: tuple[Notify, ...] = ()
    """The Airflow notifiers that send alerts. Not set: alerts are only in the log of the DAG `watch_tables`."""

    _options: FormatOptions = PrivateAttr(default=NO_OPTIONS)

    @model_validator(mode="wrap")
    @classmethod
    def _take_options(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Read the options of the format, which are among the other settings."""
        name = data.get("format") if isinstance(data, Mapping) else None
        if not isinstance(data, Mapping) or not isinstance(name, str):
            return handler(data)
        try:
            known = find_format(name)
        except InvalidSetting as error:
            raise _refusal("format", "value_error", error.message, name) from None
        own = {key: value for key, value in data.items() if key in known.options.model_fields}
        others = data.keys() - own.keys() - cls.model_fields.keys()
        for key in sorted(others & option_readers().keys()) if others else ():
            readers = " and ".join(option_readers()[key])
            text = f"is an option of {readers}, but the format of this source is {name}"
            raise _refusal(key, "option_of_another", text, data[key])
        for key in known.needs:
            if own.get(key) is None:
                raise _refusal(key, "option_missing", f"is missing. {known.words(key)}", None)
        options = known.options.model_validate(own)
        source = handler({key: value for key, value in data.items() if key not in own})
        source._options = options
        return source

    @property
    def options(self) -> FormatOptions:
        """The settings that only the source's format reads."""
        return self._options

    @model_validator(mode="before")
    @classmethod
    def _default_zone(cls, data: object) -> object:
        return {"timestamp_zone": data.get("time_zone", "UTC"), **data} if isinstance(data, Mapping) else data

    @property
    def first(self) -> datetime | None:
        """The time to begin at, if `start` is a time."""
        return self.start if isinstance(self.start, datetime) else None

    def takes(self, table: TableName) -> bool:
        """Say whether `include` and `exclude` select this table; the canary is never a gold table."""
        return self.takes_named(str(table))

    def takes_named(self, name: str) -> bool:
        """Say the same for a table name as text: `database.[schema.]table`."""
        return (
            name != self.canary
            and any(fnmatchcase(name, glob) for glob in self.include)
            and not any(fnmatchcase(name, glob) for glob in self.exclude)
        )


class FilesSource(SourceSettings, frozen=True):
    """A source whose messages are lines of objects in a folder or a bucket that grows."""

    kind: Literal["files"]
    """Where the messages are: in files."""
    path: StorageLocation
    """The folder, or `s3://bucket/prefix`. Folders inside it are read too."""
    s3: S3Settings = S3Settings()
    """How object storage is reached. Not set: as `[lake.s3]` says."""
    layout: Literal["kafka_dump", "lines"]
    """What a line of an object is: `kafka_dump`, a record of Kafka with its address; `lines`, the message itself."""
    hour: HourPattern | None = None
    """A regular expression (RE2) whose first group is the UTC hour in an object's name. Not set: the modification
    time counts."""
    max_unpacked: Annotated[int, Field(strict=True, ge=1 << 20)] = 16 << 30
    """The most bytes to which a compressed object (gzip, zstd) may unpack. What follows goes to quarantine."""
    max_ratio: Annotated[int, Field(strict=True, ge=10)] = 1000
    """How many times its own size a compressed object may unpack to. It counts beyond one GiB."""
    max_lines: Annotated[int, Field(strict=True, ge=1000)] = 50_000_000
    """The most lines of an object. A compressed object may also have at most ten lines for each of its bytes, beyond
    100,000."""
    start: Start = None
    """Where to begin: `earliest`, or a time with its zone. Objects of earlier windows are left out."""


class KafkaAccess(BaseModel, frozen=True, extra="forbid"):
    """How to authenticate to the brokers. A secret is in the environment; the setting names the variable."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How to connect: with or without TLS, with or without a user."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """How the user authenticates, with a protocol of SASL."""
    username_env: VariableName | None = None
    """The environment variable that holds the user's name."""
    password_env: VariableName | None = None
    """The environment variable that holds the user's password."""
    ca_file: File | None = None
    """The certificates (PEM) that sign those of the brokers. Not set: the ones that this machine trusts."""
    certificate_file: File | None = None
    """The client's certificate (PEM), if the brokers ask for one."""
    key_file: File | None = None
    """The key (PEM) of the client's certificate."""
    key_password_env: VariableName | None = None
    """The environment variable that holds the password of `key_file`, if it has one."""
    group: NonEmptyStr = "retable"
    """The consumer group that is named to the brokers. Some brokers let in only groups that were made there. Retable
    never commits offsets to it."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        users = [name for name in ("username_env", "password_env") if getattr(self, name) is not None]
        files = [name for name in _FILES if getattr(self, name) is not None]
        if self.security_protocol.startswith("SASL") and len(users) < 2:
            raise ValueError(f"{self.security_protocol} needs username_env and password_env: names of variables")
        if not self.security_protocol.startswith("SASL") and users:
            raise ValueError(f"{users[0]} is read with SASL_PLAINTEXT or SASL_SSL, not with {self.security_protocol}")
        if not self.security_protocol.endswith("SSL") and files:
            raise ValueError(f"{files[0]} is read with SSL or SASL_SSL, not with {self.security_protocol}")
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file belong together; give both, or neither")
        return self


_FILES = ("ca_file", "certificate_file", "key_file", "key_password_env")


class KafkaSource(SourceSettings, frozen=True):
    """A source whose messages are in topics of Kafka, or of a server with its protocol (docs/how-to/kafka.md)."""

    kind: Literal["kafka"]
    """Where the messages are: in topics of Kafka."""
    bootstrap: BrokerList
    """The brokers to ask first, as `kafka-1:9092,kafka-2:9092`."""
    topics: Annotated[tuple[NonEmptyStr, ...], Field(min_length=1)]
    """The topics, as globs. Upper and lower case differ. A topic that appears later is read from its beginning."""
    start: LogStart = None
    """Where to begin: `earliest`, `latest`, or a time with its zone. Messages of earlier windows are left out."""
    delay: Delay = timedelta(minutes=2)
    """How long after its end a window's positions are fixed, as `2m`. The messages that prove the end should arrive
    in this time."""
    kafka: KafkaAccess = KafkaAccess()
    """How to authenticate to the brokers, if they ask for it."""

    def reads(self, topic: str) -> bool:
        """Say whether a topic belongs to this source."""
        return any(fnmatchcase(topic, glob) for glob in self.topics)


Source = FilesSource | KafkaSource
KINDS: dict[str, type[FilesSource] | type[KafkaSource]] = {"files": FilesSource, "kafka": KafkaSource}
