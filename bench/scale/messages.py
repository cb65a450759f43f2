"""Write changes as messages, in the formats of the benchmark's classes."""

from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from bench.scale.rows import COLUMNS, GONE, Changes, Keys, kind, name, numbers

TABLE = "t"
Spell = Callable[[int, int], str]
"""A function that takes the key and the version of a row and returns the key as the message writes it."""

_AT_ONCE = 10_000
"""So many rows are made at a time. The numbers of a row take 1 kB."""
_NOW_MS = 1_772_323_200_000
_STAMP = f'{{"eventTime":{_NOW_MS},"systemTime":{_NOW_MS + 900},"checkpointTime":{_NOW_MS}}}'
_SQL = {"whole": "BIGINT", "text": "VARCHAR(64)", "decimal": "DECIMAL(12,2)"}
_WIRE = {"whole": "LONG", "text": "STRING", "decimal": "DOUBLE"}


def whole(key: int, _: int) -> str:
    return str(key)


def two_spellings(key: int, version: int) -> str:
    """Return a decimal key. Every second version writes it with one more digit."""
    return f"{key}.5" if version % 2 else f"{key}.50"


def images(
    ids: Keys,
    versions: Keys,
    spell: Spell,
    columns: int = COLUMNS,
    quoted: bool = False,
    fixed: int = COLUMNS,
    spelling: Keys | None = None,
) -> Iterator[str]:
    """Yield the images of rows as JSON objects, and an empty text for a row that does not exist.

    If `quoted` is true, numbers are JSON texts. Columns from number `fixed` on have the same value in every version. If
    `spelling` is given, `spell` gets its numbers instead of the versions.
    """
    said = versions if spelling is None else spelling
    parts = [_template(column, quoted) for column in range(1, columns)]
    text = f'{{"id":{_quoted("%s", quoted)},{",".join(parts)}}}'
    for start in range(0, len(ids), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        rows = versions[some]
        made = [numbers(at, ids[some], rows if at < fixed else 0 * rows).tolist() for at in range(1, columns)]
        spelled = map(spell, ids[some].tolist(), said[some].tolist())
        for version, key, *cells in zip(rows.tolist(), spelled, *made, strict=True):
            if version == GONE:
                yield ""
                continue
            flat: list[object] = [key]
            for column, cell in enumerate(cells, 1):
                flat += (cell // 100, cell % 100) if kind(column) == "decimal" else (cell,)
            yield text % tuple(flat)


def _template(column: int, quoted: bool) -> str:
    match kind(column):
        case "whole":
            return f'"{name(column)}":{_quoted("%d", quoted)}'
        case "decimal":
            return f'"{name(column)}":{_quoted("%d.%02d", quoted)}'
        case _:
            return f'"{name(column)}":"text %d"'


def _quoted(text: str, quoted: bool) -> str:
    return f'"{text}"' if quoted else text


def statement(text: str, position: int, table: str = TABLE) -> str:
    """Return the message of a DDL statement, as DataWorks writes it."""
    source = {"dbType": "MySQL", "dbName": "shop", "tableName": table}
    ddl = {"text": text, "ddlMeta": ""}
    payload = {"before": None, "after": None, "sequenceId": str(position), "timestamp": msgspec.Raw(_STAMP.encode())}
    message = {
        "schema": {"dataColumn": None, "primaryKey": None, "source": source},
        "payload": {**payload, "op": text.split()[0], "ddl": ddl},
        "version": "0.0.1",
    }
    return msgspec.json.encode(message).decode()


def create(key_type: str = "BIGINT", has_key: bool = True, columns: int = COLUMNS, table: str = TABLE) -> str:
    cells = [f"`{name(column)}` {_SQL[kind(column)]}" for column in range(1, columns)]
    key = ", PRIMARY KEY (`id`)" if has_key else ""
    return f"CREATE TABLE `{table}` (`id` {key_type} NOT NULL, {', '.join(cells)}{key})"


def dataworks(
    changes: Changes,
    positions: Keys,
    spell: Spell,
    columns: int = COLUMNS,
    keys: tuple[str, ...] = ("id",),
    wire: str = "LONG",
    table: str = TABLE,
) -> Iterator[str]:
    """Yield changes as DataWorks writes them, each in one message. A delete writes its key as the next version does."""
    types = [{"name": name(at), "type": _WIRE[kind(at)] if at else wire} for at in range(columns)]
    source = {"dbType": "MySQL", "dbName": "shop", "tableName": table}
    schema = msgspec.json.encode({"dataColumn": types, "primaryKey": keys, "source": source}).decode()
    goes = np.where(changes.after == GONE, changes.before + 1, changes.before)
    old = images(changes.ids, changes.before, spell, columns, spelling=goes)
    new = images(changes.moved_to, changes.after, spell, columns)
    for position, before, after in zip(positions.tolist(), old, new, strict=True):
        op = "UPDATE_AFTER" if before and after else "INSERT" if after else "DELETE"
        yield (
            f'{{"schema":{schema},"payload":{{"before":{_data(before)},"after":{_data(after)},'
            f'"sequenceId":"{position}","timestamp":{_STAMP},"op":"{op}","ddl":null}},"version":"0.0.1"}}'
        )


def _data(image: str) -> str:
    return f'{{"dataColumn":{image}}}' if image else "null"


def debezium(changes: Changes, positions: Keys, spell: Spell) -> Iterator[tuple[str, str]]:
    """Yield changes as Debezium writes them without schemas: pairs of message key and message."""
    old, new = images(changes.ids, changes.before, spell), images(changes.moved_to, changes.after, spell)
    for position, key, before, after in zip(positions.tolist(), changes.moved_to.tolist(), old, new, strict=True):
        op = "u" if before and after else "c" if after else "d"
        source = (
            f'{{"version":"3.0.0.Final","connector":"mysql","name":"erp","ts_ms":{_NOW_MS},"snapshot":"false",'
            f'"db":"shop","table":"{TABLE}","server_id":1,"gtid":null,"file":"binlog.000001","pos":{position},"row":0}}'
        )
        yield (
            f'{{"id":{spell(key, 0)}}}',
            f'{{"before":{before or "null"},"after":{after or "null"},"source":{source},"op":"{op}",'
            f'"ts_ms":{_NOW_MS},"transaction":null}}',
        )


def tuples(changes: Changes, positions: Keys, is_load: bool = False) -> Iterator[str]:
    """Yield changes as records of a DataHub Tuple topic. An update is two records. A full load has no positions."""
    old = images(changes.ids, changes.before, whole, quoted=True)
    new = images(changes.moved_to, changes.after, whole, quoted=True)
    for position, before, after in zip(positions.tolist(), old, new, strict=True):
        op = "U" if before and after else "I" if after else "D"
        sequence = -1 if is_load else _NOW_MS * 1_000_000 + position
        said = f'"_sequence_id_":"{sequence}","_operation_type_":"{op}","_source_table_":"{TABLE}"'
        said += f',"_excute_time_":"{-1 if is_load else _NOW_MS}"'
        if before:
            yield f'{{{said},"_before_image_":"Y","_after_image_":"N",{before[1:]}'
        if after:
            yield f'{{{said},"_before_image_":"N","_after_image_":"Y",{after[1:]}'


TUPLE_SCHEMA = {"id": "BIGINT"} | {
    name(at): {"whole": "BIGINT", "text": "STRING", "decimal": "DECIMAL"}[kind(at)] for at in range(1, COLUMNS)
}
CHANGED = 6
"""In updates of SharePlex, only columns with a lower number than this change."""


def shareplex(changes: Changes, positions: Keys) -> Iterator[str]:
    """Yield changes as SharePlex writes them. An update has only the changed columns and the key."""
    old = images(changes.ids, changes.before, whole, quoted=True, fixed=CHANGED)
    new = images(changes.moved_to, changes.after, whole, quoted=True, fixed=CHANGED)
    part = images(changes.moved_to, changes.after, whole, CHANGED, quoted=True)
    rows = zip(positions.tolist(), changes.ids.tolist(), old, new, part, strict=True)
    for position, key, before, after, changed in rows:
        op = "upd" if before and after else "ins" if after else "del"
        time = "2026-03-01T05:00:00"
        meta = (
            f'{{"time":"{time}","userid":84,"op":"{op}","scn":"{position}","rowid":"AAATGpAAIA{key:08x}",'
            f'"trans":"7.0.{position}","seq":1,"size":1,"table":"SHOP.{TABLE}","idx":"1/1","posttime":"{time}"}}'
        )
        if op == "upd":
            yield f'{{"meta":{meta},"data":{changed},"key":{{"id":"{key}"}}}}'
        else:
            yield f'{{"meta":{meta},"data":{after or before}}}'


def canal(changes: Changes) -> Iterator[str]:
    """Yield changes as Canal writes them. Only the order of messages in the partition orders them."""
    types = {"id": "bigint"} | {name(at): _SQL[kind(at)].lower() for at in range(1, COLUMNS)}
    told = msgspec.json.encode(types).decode()
    old = images(changes.ids, changes.before, whole, quoted=True)
    new = images(changes.moved_to, changes.after, whole, quoted=True)
    for before, after in zip(old, new, strict=True):
        op = "UPDATE" if before and after else "INSERT" if after else "DELETE"
        yield (
            f'{{"data":[{after or before}],"database":"shop","es":{_NOW_MS},"id":1,"isDdl":false,"mysqlType":{told},'
            f'"old":{f"[{before}]" if op == "UPDATE" else "null"},"pkNames":["id"],"sql":"","sqlType":null,'
            f'"table":"{TABLE}","ts":{_NOW_MS},"type":"{op}"}}'
        )
