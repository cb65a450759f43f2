"""The formats, one line each, and the one door from a raw message to change events."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from retable.errors import Blocked, InvalidSetting, Malformed, TooLarge
from retable.formats import canal_json, datahub_blob, datahub_tuple, lindorm_debezium, shareplex_json
from retable.formats.context import DecodeContext
from retable.formats.debezium import json as debezium_json
from retable.formats.dts import avro as dts_avro
from retable.formats.image_text import key_text, read_image
from retable.formats.streamx import json as streamx_json
from retable.model.event import BLOCKING_PROBLEMS, ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.schema_change import SchemaChange
from retable.settings.sources import SourceSettings
from retable.values.declared_form import declared_form
from retable.values.encodings import WireForm, told_form
from retable.values.times import ValueRules


def _nothing(op_raw: str, table: TableName) -> None:
    return None


def _told(form: WireForm, declared: str | None, gold: GoldType, rules: ValueRules) -> WireForm:
    return form if declared is None else told_form(form, declared_form(declared, rules.system))


def _always(value: bytes) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Format:
    """A message format: how it decodes, and how its values stand. `version` changes when its events change.

    `untold` gives, for a wire type, the type of a column that no statement told: a gold type, or a type's text in the
    dialect of the source, or None where the format does not know the wire type. `ordered_partitions` says whether the
    producer writes its partitions in the order of the source, so that what proves one partition fresh proves all.
    `topic_a_table`: each table has a topic of its own, unless a router joins them, and what is no row comes in others.
    `time_zone` says in words what the setting of that name decides, `cannot_tell` what no message tells, sentence by
    sentence as docs/formats.md does. `implied` gives what a statement that came without its text means by its `op_raw`
    alone, where that tells; `declares` is the `op_raw` of statements by which a snapshot declares tables, also those of
    which it captures no row. `told` gives the form of values whose wire type leaves it open, by the column's type in
    its statement, its gold type and the rules.

    `options` are the settings of a source that few formats read, with what each decides in words, and `needs`
    those that it cannot do without. `drafts` are the options that `retable init` tries, the strictest first. `is_own`
    tells the messages of formats apart that read each other's. `untyped` are the options, with their defaults, that say
    how values stand in messages without types. `marks` are names of fields by which messages of JSON that do not decode
    show which format comes nearest.
    """

    name: str
    version: str
    decode: Callable[[RawMessage, DecodeContext], list[ChangeEvent]]
    wire_form: Callable[[str | None], WireForm]
    untold: Callable[[str], GoldType | str | None]
    ordered_partitions: bool
    time_zone: str
    cannot_tell: tuple[str, ...]
    implied: Callable[[str, TableName], SchemaChange | None] = _nothing
    told: Callable[[WireForm, str | None, GoldType, ValueRules], WireForm] = _told
    options: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    drafts: tuple[Mapping[str, str], ...] = ({},)
    is_own: Callable[[bytes], bool] = _always
    untyped: Mapping[str, str] = field(default_factory=dict)
    topic_a_table: bool = False
    declares: str | None = None
    marks: tuple[str, ...] = ()


FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        Format(
            canal_json.NAME,
            canal_json.VERSION,
            canal_json.decode,
            canal_json.wire_form,
            canal_json.untold,
            ordered_partitions=False,
            time_zone=canal_json.TIME_ZONE,
            cannot_tell=canal_json.CANNOT_TELL,
            marks=("data", "database", "es", "isDdl", "mysqlType", "table", "type"),
            options=canal_json.OPTIONS,
        ),
        Format(
            streamx_json.NAME,
            streamx_json.VERSION,
            streamx_json.decode,
            streamx_json.wire_form,
            streamx_json.untold,
            ordered_partitions=True,
            time_zone=streamx_json.TIME_ZONE,
            cannot_tell=streamx_json.CANNOT_TELL,
            marks=("dataColumn", "eventTime", "op", "payload", "primaryKey", "sequenceId"),
            implied=streamx_json.implied,
            is_own=streamx_json.is_own,
        ),
        Format(
            datahub_blob.NAME,
            datahub_blob.VERSION,
            datahub_blob.decode,
            datahub_blob.wire_form,
            datahub_blob.untold,
            ordered_partitions=True,
            time_zone=datahub_blob.TIME_ZONE,
            cannot_tell=datahub_blob.CANNOT_TELL,
            marks=("dataColumn", "eventTime", "op", "payload", "primaryKey", "sequenceId"),
            implied=datahub_blob.implied,
            is_own=datahub_blob.is_own,
        ),
        Format(
            datahub_tuple.NAME,
            datahub_tuple.VERSION,
            datahub_tuple.decode,
            datahub_tuple.wire_form,
            datahub_tuple.untold,
            ordered_partitions=False,
            time_zone=datahub_tuple.TIME_ZONE,
            cannot_tell=datahub_tuple.CANNOT_TELL,
            marks=("_after_image_", "_before_image_", "_execute_time_", "_operation_type_", "_sequence_id_"),
            options=datahub_tuple.OPTIONS,
            needs=("database",),
            drafts=datahub_tuple.DRAFTS,
        ),
        Format(
            lindorm_debezium.NAME,
            lindorm_debezium.VERSION,
            lindorm_debezium.decode,
            lindorm_debezium.wire_form,
            lindorm_debezium.untold,
            ordered_partitions=False,
            time_zone=lindorm_debezium.TIME_ZONE,
            cannot_tell=lindorm_debezium.CANNOT_TELL,
            marks=("after", "before", "namespace", "op", "payload", "source", "ts_ms"),
            options=lindorm_debezium.OPTIONS,
            drafts=lindorm_debezium.DRAFTS,
        ),
        Format(
            debezium_json.NAME,
            debezium_json.VERSION,
            debezium_json.decode,
            debezium_json.wire_form,
            debezium_json.untold,
            ordered_partitions=False,
            time_zone=debezium_json.TIME_ZONE,
            cannot_tell=debezium_json.CANNOT_TELL,
            marks=("after", "before", "connector", "op", "source", "ts_ms"),
            implied=debezium_json.implied,
            told=debezium_json.told,
            options=debezium_json.OPTIONS,
            untyped=debezium_json.UNTYPED,
            topic_a_table=True,
            declares=debezium_json.SNAPSHOT,
        ),
        Format(
            shareplex_json.NAME,
            shareplex_json.VERSION,
            shareplex_json.decode,
            shareplex_json.wire_form,
            shareplex_json.untold,
            ordered_partitions=False,
            time_zone=shareplex_json.TIME_ZONE,
            cannot_tell=shareplex_json.CANNOT_TELL,
            marks=("data", "key", "meta", "op", "posttime", "rowid", "scn"),
            options=shareplex_json.OPTIONS,
            needs=("database",),
            drafts=shareplex_json.DRAFTS,
        ),
        Format(
            dts_avro.NAME,
            dts_avro.VERSION,
            dts_avro.decode,
            dts_avro.wire_form,
            dts_avro.untold,
            ordered_partitions=True,
            time_zone=dts_avro.TIME_ZONE,
            cannot_tell=dts_avro.CANNOT_TELL,
            told=dts_avro.told,
        ),
    )
}


def find_format(name: str) -> Format:
    """Give the format of this name; InvalidSetting names the nearest one."""
    if name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMATS)}"
        raise InvalidSetting(f"no format is called {name!r}; {hint}", format=name)
    return FORMATS[name]


def source_format(source: SourceSettings) -> Format:
    """Give a source's format; InvalidSetting names an option that it lacks, or one that another format reads."""
    found, place = find_format(source.format), f"sources.{source.name}"
    for name in found.needs:
        if getattr(source, name) is None:
            raise InvalidSetting(f"{place}.{name} is missing. {found.options[name]}", setting=f"{place}.{name}")
    for name in sorted(source.model_fields_set - found.options.keys()):
        readers = [known.name for known in FORMATS.values() if name in known.options]
        if readers:
            text = f"{place}.{name} is an option of {' and '.join(readers)}, and this source is {found.name}"
            raise InvalidSetting(text, setting=f"{place}.{name}")
    return found


def decode_message(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message whole; MessageError says why it cannot be.

    One event with a blocking problem blocks its whole message: the facts of Blocked name the problem, the table and
    the keys that the message touches.
    """
    found = find_format(context.source_format)
    if message.container_problem is not None:
        raise Malformed(message.container_problem)
    if message.value is not None and len(message.value) > context.max_message:
        raise TooLarge(
            f"the message has {len(message.value)} bytes; the source's `max_message` is {context.max_message}"
        )
    events = found.decode(message, context)
    for event in events:
        for problem in event.problems:
            if problem in BLOCKING_PROBLEMS:
                raise _blocked(problem, event, events)
    return events


def _blocked(problem: str, event: ChangeEvent, events: list[ChangeEvent]) -> Blocked:
    keys = [
        key_text(read_image(image), touched.keys)
        for touched in events
        for image in (touched.before, touched.after)
        if image is not None and touched.keys is not None
    ]
    return Blocked(
        f"{problem}: {_WORDS.get(problem, 'it cannot be applied')}",
        problem=problem,
        place=f"row {event.address.row_index}",
        table=event.table_name,
        keys=tuple(dict.fromkeys(keys)),
    )


_WORDS = {
    "TABLE_UNKNOWN": "neither the message nor the source's settings name its table",
    "KEY_NOT_IN_IMAGE": "a column of the key is not in the row image; check `keys` of the table's settings",
    "DIALECT_MISMATCH": "the row does not stand where its dialect has it; check `canal_dialect` of the source",
    "OLD_DATA_MISALIGNED": "`old` and `data` differ in length, so no old image can be told to its row",
}
