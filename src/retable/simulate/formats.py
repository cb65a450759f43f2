"""The formats that a history is written in: what each can tell, and what settings must say where it is silent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from retable.simulate import (
    canal_json,
    datahub_blob,
    datahub_tuple,
    debezium_json,
    dts_avro,
    lindorm_debezium,
    shareplex_json,
    streamx_json,
)
from retable.simulate.designs import DESIGNS, told_by_settings_only
from retable.simulate.history import History
from retable.simulate.play import DDL_KINDS, LOADED, ROW_KINDS
from retable.simulate.settings import loaded_settings, type_settings
from retable.simulate.stream import Stream

TableSettings = dict[str, dict[str, object]]
"""What settings say under `[tables.…]`, by the table's name."""


def _nothing(_: History) -> TableSettings:
    return {}


def _as_it_is(history: History) -> History:
    return history


def _open_types(history: History) -> TableSettings:
    return {table: {"types": types} for table, types in type_settings(history).items()}


def _open_types_and_bytes(history: History) -> TableSettings:
    """Of a null nothing tells DTS's text and bytes apart."""
    found = type_settings(history, lambda kind: told_by_settings_only(kind) or kind.base == "varbinary")
    return {table: {"types": types} for table, types in found.items()}


@dataclass(frozen=True, slots=True)
class Format:
    """One format of the simulator.

    `write` takes the history, and options where the format has some. `kinds` are the actions that it can tell, `loaded`
    the tables that must stand before the log begins. `by_offset`: its order is that of the queue and nothing else.
    `schema` is what it puts between database and table. `source` and `tables` are what settings must say of the source
    and of its tables. `as_source` makes of a history what the format's own database would hold.
    """

    name: str
    write: Callable[..., Stream]
    by_offset: bool = False
    kinds: tuple[str, ...] = (*ROW_KINDS, *DDL_KINDS)
    loaded: tuple[str, ...] = LOADED
    schema: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    tables: Callable[[History], TableSettings] = _nothing
    as_source: Callable[[History], History] = _as_it_is

    @property
    def tells_statements(self) -> bool:
        """Whether statements come, so that columns have the order that they have at the source."""
        return set(DDL_KINDS) <= set(self.kinds)


def _loaded_only(
    name: str,
    write: Callable[..., Stream],
    by_offset: bool = False,
    schema: str | None = None,
    kinds: tuple[str, ...] = ROW_KINDS,
    source: Mapping[str, str] | None = None,
    as_source: Callable[[History], History] = _as_it_is,
) -> Format:
    """A format without statements: every table stands from the beginning, and settings tell its key and its types."""

    def tables(history: History) -> TableSettings:
        return loaded_settings(history, schema)

    return Format(name, write, by_offset, kinds, tuple(DESIGNS), schema, source or {}, tables, as_source)


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format(streamx_json.NAME, streamx_json.write, tables=_open_types),
        Format(canal_json.NAME, canal_json.write, by_offset=True),
        Format(debezium_json.NAME, debezium_json.write),
        _loaded_only(
            shareplex_json.NAME,
            shareplex_json.write,
            schema=shareplex_json.OWNER,
            kinds=(*ROW_KINDS, "truncate"),
            source={"database": "shop", "binary_encoding": "hex"},
            as_source=shareplex_json.as_oracle,
        ),
        Format(datahub_blob.NAME, datahub_blob.write, tables=_open_types),
        _loaded_only(datahub_tuple.NAME, datahub_tuple.write, source={"database": "shop", "binary_encoding": "base64"}),
        _loaded_only(lindorm_debezium.NAME, lindorm_debezium.write, by_offset=True, schema=lindorm_debezium.NAMESPACE),
        Format(dts_avro.NAME, dts_avro.write, by_offset=True, tables=_open_types_and_bytes),
    )
}
"""The formats by name."""
