"""The message formats of the simulator: what each format can express, and which settings its messages need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from retable.simulate.actions.play import DDL_KINDS, LOADED, ROW_KINDS
from retable.simulate.designs import DESIGNS
from retable.simulate.history import History
from retable.simulate.settings import TableSetting, TableSettings, loaded_settings, type_settings
from retable.simulate.streams import (
    canal_json,
    datahub_blob,
    datahub_tuple,
    dts_avro,
    lindorm_debezium,
    shareplex_json,
    streamx_json,
)
from retable.simulate.streams.debezium import json as debezium_json
from retable.simulate.streams.stream import Stream


def _nothing(_: History) -> TableSettings:
    return {}


def _as_it_is(history: History) -> History:
    return history


def _open_types(history: History) -> TableSettings:
    return {table: TableSetting((), types) for table, types in type_settings(history).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One message format of the simulator, and what a test must know about it.

    - `write`: takes the history, and options if the format has options. Returns the messages.
    - `by_offset`: whether only offsets order the messages.
    - `kinds`: the actions that the format can express. `loaded`: the tables that must exist before the log begins.
    - `arriving`: the actions that become several messages with the same position. Only the order in which the messages
      arrive shows their order.
    - `partial`: whether an update has only some columns. The other columns must come from earlier messages of the row.
    - `schema`: the name between database and table; None if messages have no such name.
    - `source`: the settings that the source needs. `tables`: returns the settings that the tables of a history need.
    - `as_source`: returns the history as the source database of this format would have it. For example, Oracle stores
      empty text as null.
    """

    name: str
    write: Callable[..., Stream]
    by_offset: bool = False
    kinds: tuple[str, ...] = (*ROW_KINDS, *DDL_KINDS)
    loaded: tuple[str, ...] = LOADED
    arriving: tuple[str, ...] = ()
    partial: bool = False
    schema: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    tables: Callable[[History], TableSettings] = _nothing
    as_source: Callable[[History], History] = _as_it_is

    @property
    def tells_statements(self) -> bool:
        """Whether messages contain DDL statements, so that Retable knows the column order of the source."""
        return "create_table" in self.kinds


def _loaded_only(
    name: str,
    write: Callable[..., Stream],
    by_offset: bool = False,
    partial: bool = False,
    schema: str | None = None,
    kinds: tuple[str, ...] = ROW_KINDS,
    source: Mapping[str, str] | None = None,
    as_source: Callable[[History], History] = _as_it_is,
) -> Format:
    """Return a format without DDL statements. All tables are loaded tables; settings declare their keys and types."""

    def tables(history: History) -> TableSettings:
        return loaded_settings(history, schema)

    return Format(
        name=name,
        write=write,
        by_offset=by_offset,
        kinds=kinds,
        loaded=tuple(DESIGNS),
        arriving=(),
        partial=partial,
        schema=schema,
        source=source or {},
        tables=tables,
        as_source=as_source,
    )


_WITH_ROW_IDS = tuple(kind for kind in (*ROW_KINDS, *DDL_KINDS) if kind != "drop_primary_key")
"""All kinds except `drop_primary_key`: rows that lose their key get hidden row ids, and no message shows these ids."""

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format(name=streamx_json.NAME, write=streamx_json.write, kinds=_WITH_ROW_IDS, tables=_open_types),
        Format(name=canal_json.NAME, write=canal_json.write, by_offset=True),
        Format(name=debezium_json.NAME, write=debezium_json.write, arriving=("swap_tables",)),
        _loaded_only(
            shareplex_json.NAME,
            shareplex_json.write,
            partial=True,
            schema=shareplex_json.OWNER,
            kinds=(*ROW_KINDS, "truncate"),
            source={"database": "shop", "binary_encoding": "hex"},
            as_source=shareplex_json.as_oracle,
        ),
        Format(name=datahub_blob.NAME, write=datahub_blob.write, kinds=_WITH_ROW_IDS, tables=_open_types),
        _loaded_only(datahub_tuple.NAME, datahub_tuple.write, source={"database": "shop", "binary_encoding": "base64"}),
        _loaded_only(lindorm_debezium.NAME, lindorm_debezium.write, by_offset=True, schema=lindorm_debezium.NAMESPACE),
        # A table with bytes is created in the log: a null does not show whether its column is bytes or text.
        Format(name=dts_avro.NAME, write=dts_avro.write, by_offset=True, loaded=("stock",), tables=_open_types),
    )
}
"""The simulator's formats by name."""
