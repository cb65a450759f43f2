"""A source and how its messages are read: `[sources.<name>]` of the settings."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal, LiteralString, Self

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from retable.errors import InvalidSetting
from retable.formats.options import NO_OPTIONS, FormatOptions, NonEmptyStr, Zone
from retable.formats.registry import OPTION_READERS, find_format
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
    """How long a window stays after its end, where nothing needs it for longer: `retention` (docs/upkeep.md)."""

    bronze: Age = None
    """Messages, as `90d` or `1y`; not set: for ever. A window without them cannot be decoded again."""
    silver: Age = None
    """Row changes, as `1y`; not set: for ever. Behind its oldest whole window gold is all that is known."""
    quarantine: Age = None
    """What was taken as lost in quarantine, as `1y`; not set: for ever."""


class SourceSettings(BaseModel, frozen=True, extra="forbid"):
    """A source of change messages, wherever they are held: what `[sources.<name>]` has for every `kind`."""

    name: Name
    """Small letters, digits and `_`, a letter first; it stands in the brackets."""
    format: str
    """The format of the messages: a name of docs/formats.md."""
    every: Interval = timedelta(hours=1)
    """The length of a window, as `1h`; fixed with the source's first window."""
    start: LogStart = None
    """Where to begin: `earliest`, or a time with its zone; what came before the window of that time is left out."""
    time_zone: Zone = "UTC"
    """The zone of wall-clock values that come without one."""
    timestamp_zone: Zone = ""
    """The zone in which the format writes zoned timestamps as text; `time_zone` where it is not set."""
    include: tuple[str, ...] = ("*",)
    """Tables to take, as globs over `database.[schema.]table`, case-sensitive."""
    exclude: tuple[str, ...] = ()
    """Tables to leave out of what `include` takes; their changes are counted, not stored."""
    paused: NonEmptyStr | None = None
    """Why no new window is recorded for now, as `"it moves to another region"`; what is recorded may still be run."""
    source_system: str | None = None
    """The database behind the source, as `mysql`, where the messages do not say it."""
    source_epoch: Annotated[int, Field(strict=True, ge=0)] = 0
    """Raise it when a topic is made anew or its producer starts anew: it comes first in every sequence."""
    max_message: Annotated[int, Field(strict=True, ge=1024, le=1 << 30)] = 32 * 1024 * 1024
    """The longest message, or line of an object, that is landed whole, in bytes."""
    canary: str | None = None
    """A small table that the source updates every minute, as `ops.retable_canary`: its rows prove how far the source
    is read, and it is not published."""
    binary_encoding: Literal["utf-8", "base64", "hex"] = "utf-8"
    """How text spells bytes in a column that `types` makes binary."""
    quarantine_budget: Budget = QuarantineBudget()
    """How much a table may have in quarantine and still count as complete: `0`, `10/window` or `0.01%` of a window."""
    quarantine_limit: Annotated[int, Field(strict=True, ge=1)] = 100_000
    """The most messages of a window that go to quarantine; with more, the window is not decoded."""
    retention: Retention = Retention()
    """How long bronze, silver and quarantine are kept, as `{ bronze = "90d", silver = "1y" }`; not set: for ever."""
    applications: Literal["stage", "window"] = "stage"
    """In Airflow: one Spark application for each stage, or one for a whole window, which starts a single JVM."""
    spark_door: CallablePath = "retable_airflow.doors:spark_submit"
    """In Airflow: the callable that makes of a Spark job the operator that runs it."""
    sla: Span | None = None
    """How long after a window's end all of it must be complete, as `20m`; else an alert says so."""
    sla_grade: Grade = "row"
    """The lowest kind of evidence that counts for `sla`: `heartbeat`, `canary`, `row` or `drained`."""
    owner: NonEmptyStr | None = None
    """Whom an alert names, as `orders-team`."""
    severity: Literal["info", "warning", "error", "critical"] = "warning"
    """What an alert says of its weight."""
    notify: tuple[Notify, ...] = ()
    """Airflow notifiers that alerts go to; none: they stand in the log of `watch_tables` alone."""

    _options: FormatOptions = PrivateAttr(default=NO_OPTIONS)

    @model_validator(mode="wrap")
    @classmethod
    def _take_options(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Read the options of the format, which stand among the other settings."""
        name = data.get("format") if isinstance(data, Mapping) else None
        if not isinstance(data, Mapping) or not isinstance(name, str):
            return handler(data)
        try:
            known = find_format(name)
        except InvalidSetting as error:
            raise _refusal("format", "value_error", error.message, name) from None
        own = {key: value for key, value in data.items() if key in known.options.model_fields}
        for key in data.keys() & OPTION_READERS.keys() - own.keys():
            readers = " and ".join(OPTION_READERS[key])
            raise _refusal(key, "option_of_another", f"is an option of {readers}, and this source is {name}", data[key])
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
        """The time to begin at, where `start` is one."""
        return self.start if isinstance(self.start, datetime) else None

    def takes(self, table: TableName) -> bool:
        """Say whether `include` and `exclude` let this table in; the canary is never one of gold."""
        return self.takes_named(str(table))

    def takes_named(self, name: str) -> bool:
        """Say the same of a table by its name as it is spelled: `database.[schema.]table`."""
        return (
            name != self.canary
            and any(fnmatchcase(name, glob) for glob in self.include)
            and not any(fnmatchcase(name, glob) for glob in self.exclude)
        )


class FilesSource(SourceSettings, frozen=True):
    """A source whose messages are lines of the objects of a folder that grows."""

    kind: Literal["files"]
    """What holds the messages."""
    path: StorageLocation
    """The folder, or the `s3://bucket/prefix`; folders inside it are read too."""
    s3: S3Settings = S3Settings()
    """How object storage is reached; as in `[lake.s3]` where it is not set."""
    layout: Literal["kafka_dump", "lines"]
    """What a line of an object is: a dumped Kafka record with its address, or the message itself."""
    hour: HourPattern | None = None
    """A regular expression (RE2) whose first group is the UTC hour in an object's name; else its modification time."""
    max_unpacked: Annotated[int, Field(strict=True, ge=1 << 20)] = 16 << 30
    """The most bytes that a packed object (gzip, zstd) may unpack to; what comes behind is quarantined."""
    max_ratio: Annotated[int, Field(strict=True, ge=10)] = 1000
    """So many times its own size a packed object may unpack to, once it is beyond a GiB."""
    max_lines: Annotated[int, Field(strict=True, ge=1000)] = 50_000_000
    """The most lines of an object; a packed one has at most ten for each byte, once it is beyond 100,000."""
    start: Start = None
    """Where to begin: `earliest`, or a time with its zone; objects before the window of that time are left out."""


class KafkaAccess(BaseModel, frozen=True, extra="forbid"):
    """How to be let in by the brokers: `kafka` of a source. What is secret stands in the environment, here its name."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """With or without TLS, with or without a user."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """How a user proves itself, where the protocol is one of SASL."""
    username_env: VariableName | None = None
    """The environment variable that holds the user's name."""
    password_env: VariableName | None = None
    """The environment variable that holds the user's password."""
    ca_file: File | None = None
    """The certificates (PEM) that sign the brokers' own; none: those that this machine trusts."""
    certificate_file: File | None = None
    """The client's certificate (PEM), where the brokers ask for one."""
    key_file: File | None = None
    """The key (PEM) of the client's certificate."""
    key_password_env: VariableName | None = None
    """The environment variable that holds the password of `key_file`, where it has one."""
    group: NonEmptyStr = "retable"
    """The consumer group that brokers are told, where they let in none but one that was made there; nothing is ever
    committed to it."""

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
    """A source whose messages are those of topics of Kafka, or of what speaks its protocol (docs/kafka.md)."""

    kind: Literal["kafka"]
    """What holds the messages."""
    bootstrap: BrokerList
    """Brokers to ask first, as `kafka-1:9092,kafka-2:9092`."""
    topics: Annotated[tuple[NonEmptyStr, ...], Field(min_length=1)]
    """The topics, as shell globs, case-sensitive; one that matches later is read from its earliest position."""
    start: LogStart = None
    """Where to begin: `earliest`, `latest`, or a time with its zone; messages before the window of it are left out."""
    delay: Delay = timedelta(minutes=2)
    """How long after its end a window's positions are fixed, as `2m`: what proves the end shall lie inside."""
    kafka: KafkaAccess = KafkaAccess()
    """How to be let in by the brokers, where they ask."""

    def reads(self, topic: str) -> bool:
        """Say whether a topic is one of this source."""
        return any(fnmatchcase(topic, glob) for glob in self.topics)


Source = FilesSource | KafkaSource
KINDS: dict[str, type[FilesSource] | type[KafkaSource]] = {"files": FilesSource, "kafka": KafkaSource}
