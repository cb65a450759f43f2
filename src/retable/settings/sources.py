"""The section `[sources.<name>]` of the settings: where the messages of a source are, and how to read them."""

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
    """Return the error of one setting of a source, in the form of pydantic. `place` names the setting."""
    error = PydanticCustomError(kind, "{text}", {"text": text})
    return ValidationError.from_exception_data("source", [InitErrorDetails(type=error, loc=(place,), input=value)])


class Retention(BaseModel, frozen=True, extra="forbid"):
    """The setting `retention`: how long rows are kept after the end of their window (docs/how-to/upkeep.md)."""

    bronze: Age = None
    """How long messages are kept, as `90d` or `1y`. Not set: for ever. A window whose messages were dropped cannot be
    decoded again."""
    silver: Age = None
    """How long row changes are kept, as `1y`. Not set: for ever. After that time, only gold has the result of a
    change."""
    quarantine: Age = None
    """How long quarantine keeps messages that a person accepted as lost, as `1y`. Not set: for ever."""


class SourceSettings(BaseModel, frozen=True, extra="forbid"):
    """A source of change messages. These settings are the same for every `kind` of source."""

    name: Name
    """The name of the source: small letters, digits and `_`, a letter first. It is in the brackets."""
    format: str
    """The format of the messages: a name from docs/formats.md."""
    every: Interval = timedelta(hours=1)
    """The length of a window, as `1h`. It cannot change after the first window of the source."""
    start: LogStart = None
    """The time at which to begin: `earliest`, or a time with its zone. Earlier windows are not recorded."""
    time_zone: Zone = "UTC"
    """The time zone of times that messages write without a time zone."""
    timestamp_zone: Zone = ""
    """The time zone in which messages write the values of timestamp columns with a time zone, if the text names no
    zone. Not set: `time_zone`."""
    include: tuple[str, ...] = ("*",)
    """The tables to replay, as globs over `database.[schema.]table`. Upper and lower case differ."""
    exclude: tuple[str, ...] = ()
    """Tables that `include` selects but that are not replayed. Their changes are counted, but not stored."""
    paused: NonEmptyStr | None = None
    """Why the source is paused, as `"it moves to another region"`. While it is set, no new window is recorded;
    recorded windows can still run."""
    source_system: str | None = None
    """The database system of the source, as `mysql`, if the messages do not name it."""
    source_epoch: Annotated[int, Field(strict=True, ge=0)] = 0
    """The first number of every sequence (the source epoch). Raise it when a topic is deleted and created again, or
    when the positions of the source start again."""
    max_message: Annotated[int, Field(strict=True, ge=1024, le=1 << 30)] = 32 * 1024 * 1024
    """The maximum size of a message, or of a line of an object, in bytes. A longer message goes to quarantine."""
    canary: str | None = None
    """The canary: a small table that the source updates every minute, as `ops.retable_canary`. Its rows prove how far
    the source is read. It does not become a gold table."""
    binary_encoding: Literal["utf-8", "base64", "hex"] = "utf-8"
    """How messages write bytes as text, for columns that `types` makes binary."""
    quarantine_budget: Budget = QuarantineBudget()
    """How many messages of a window may be in quarantine while a table still counts as complete: `0`, `10/window` or
    `0.01%`."""
    quarantine_limit: Annotated[int, Field(strict=True, ge=1)] = 100_000
    """The maximum number of messages of a window that may go to quarantine. If there are more, the window is not
    decoded."""
    retention: Retention = Retention()
    """How long bronze, silver and quarantine are kept, as `{ bronze = "90d", silver = "1y" }`. Not set: for ever."""
    applications: Literal["stage", "window"] = "stage"
    """In Airflow: `stage` runs each stage as a separate Spark application. `window` runs all three stages in one Spark
    application, which starts only one JVM."""
    spark_door: CallablePath = "retable_airflow.doors:spark_submit"
    """In Airflow: the callable that makes the operator for a Spark job, as `module:callable`."""
    sla: Span | None = None
    """The time after the end of a window within which the window must be complete, as `20m`. If it is not, an alert is
    sent."""
    sla_grade: Grade = "row"
    """The lowest grade of evidence that counts for `sla`, one of `heartbeat`, `canary`, `row` and `drained`:
    docs/concepts/watermarks.md."""
    owner: NonEmptyStr | None = None
    """The owner that alerts name, as `orders-team`."""
    severity: Literal["info", "warning", "error", "critical"] = "warning"
    """The severity that alerts name."""
    notify: tuple[Notify, ...] = ()
    """The Airflow notifiers that send alerts. Not set: alerts are only in the log of the DAG `watch_tables`."""

    _options: FormatOptions = PrivateAttr(default=NO_OPTIONS)

    @model_validator(mode="wrap")
    @classmethod
    def _take_options(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Read the options of the format. In TOML they are among the other settings of the source."""
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
        """The options of the source's format."""
        return self._options

    @model_validator(mode="before")
    @classmethod
    def _default_zone(cls, data: object) -> object:
        return {"timestamp_zone": data.get("time_zone", "UTC"), **data} if isinstance(data, Mapping) else data

    @property
    def first(self) -> datetime | None:
        """The setting `start` if it is a time; None for `earliest` and `latest`."""
        return self.start if isinstance(self.start, datetime) else None

    def takes(self, table: TableName) -> bool:
        """Return whether `include` and `exclude` select this table. The canary table is never selected."""
        return self.takes_named(str(table))

    def takes_named(self, name: str) -> bool:
        """Return whether `include` and `exclude` select a table. `name` is the text `database.[schema.]table`."""
        return (
            name != self.canary
            and any(fnmatchcase(name, glob) for glob in self.include)
            and not any(fnmatchcase(name, glob) for glob in self.exclude)
        )


class FilesSource(SourceSettings, frozen=True):
    """A source whose messages are in files of a folder, or in objects of a bucket. Each line has one message.

    The settings call a file an object, too.
    """

    kind: Literal["files"]
    """Where the messages are: in files."""
    path: StorageLocation
    """The folder, or `s3://bucket/prefix`. Folders inside it are read too."""
    s3: S3Settings = S3Settings()
    """How to connect to object storage. Not set: `[lake.s3]`."""
    layout: Literal["kafka_dump", "lines"]
    """The content of a line of an object. `kafka_dump`: a Kafka record with its topic, partition and offset. `lines`:
    only the message."""
    hour: HourPattern | None = None
    """A regular expression (RE2) whose first group is the UTC hour in an object's name. Not set: the modification
    time of the object decides its window."""
    max_unpacked: Annotated[int, Field(strict=True, ge=1 << 20)] = 16 << 30
    """The maximum number of bytes to which a compressed object (gzip, zstd) may unpack. At this limit reading stops,
    and an entry in quarantine says so."""
    max_ratio: Annotated[int, Field(strict=True, ge=10)] = 1000
    """The maximum ratio of an object's unpacked size to its compressed size. It applies to objects that unpack to more
    than one GiB."""
    max_lines: Annotated[int, Field(strict=True, ge=1000)] = 50_000_000
    """The maximum number of lines of an object. A compressed object with more than 100,000 lines may also have at most
    ten lines for each compressed byte."""
    start: Start = None
    """The time at which to begin: `earliest`, or a time with its zone. Objects of earlier windows are not read."""


class KafkaAccess(BaseModel, frozen=True, extra="forbid"):
    """How to authenticate to the brokers. Secrets are in environment variables; the settings name these variables."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """The protocol of the connection: with or without TLS (SSL), and with or without a user (SASL)."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """The SASL mechanism with which the user authenticates, if `security_protocol` is a SASL protocol."""
    username_env: VariableName | None = None
    """The environment variable that holds the user's name."""
    password_env: VariableName | None = None
    """The environment variable that holds the user's password."""
    ca_file: File | None = None
    """The file (PEM) of the authorities that sign the brokers' certificates. Not set: the authorities that this machine
    trusts."""
    certificate_file: File | None = None
    """The client's certificate (PEM), if the brokers require a client certificate."""
    key_file: File | None = None
    """The key (PEM) of the client's certificate."""
    key_password_env: VariableName | None = None
    """The environment variable that holds the password of `key_file`, if it has one."""
    group: NonEmptyStr = "retable"
    """The consumer group that Retable names to the brokers. Some brokers accept only groups that were created there
    before. Retable never commits offsets to the group."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        users = [name for name in ("username_env", "password_env") if getattr(self, name) is not None]
        files = [name for name in _FILES if getattr(self, name) is not None]
        if self.security_protocol.startswith("SASL") and len(users) < 2:
            raise ValueError(
                f"security_protocol {self.security_protocol} needs username_env and password_env; set them to the "
                f"names of environment variables"
            )
        if not self.security_protocol.startswith("SASL") and users:
            raise ValueError(
                f"{users[0]} is used only if security_protocol is SASL_PLAINTEXT or SASL_SSL, but it is "
                f"{self.security_protocol}; change security_protocol, or remove {users[0]}"
            )
        if not self.security_protocol.endswith("SSL") and files:
            raise ValueError(
                f"{files[0]} is used only if security_protocol is SSL or SASL_SSL, but it is {self.security_protocol}; "
                f"change security_protocol, or remove {files[0]}"
            )
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file belong together; set both, or neither")
        return self


_FILES = ("ca_file", "certificate_file", "key_file", "key_password_env")


class KafkaSource(SourceSettings, frozen=True):
    """A source whose messages are in topics of Kafka, or of a server with its protocol (docs/how-to/kafka.md)."""

    kind: Literal["kafka"]
    """Where the messages are: in topics of Kafka."""
    bootstrap: BrokerList
    """The brokers for the first connection, as `kafka-1:9092,kafka-2:9092`."""
    topics: Annotated[tuple[NonEmptyStr, ...], Field(min_length=1)]
    """The topics, as globs. Upper and lower case differ. A topic that appears later is read from its beginning."""
    start: LogStart = None
    """The time at which to begin: `earliest`, `latest`, or a time with its zone. Messages of earlier windows are not
    read."""
    delay: Delay = timedelta(minutes=2)
    """How long after the end of a window Retable records its offsets, as `2m`. The messages that prove the end of the
    window should arrive in this time."""
    kafka: KafkaAccess = KafkaAccess()
    """How to authenticate to the brokers, if they require it."""

    def reads(self, topic: str) -> bool:
        """Return whether this source reads a topic: one of the globs in `topics` matches the name."""
        return any(fnmatchcase(topic, glob) for glob in self.topics)


Source = FilesSource | KafkaSource
KINDS: dict[str, type[FilesSource] | type[KafkaSource]] = {"files": FilesSource, "kafka": KafkaSource}
