"""A tiny reader of the simulator's messages: it does what they say, one after the other, on rows in lists.

It knows no sequence but the one it is given, no epochs, no folds; a before image must be a row that is there.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from retable.ddl.registry import gold_type, parse_statement
from retable.formats.image_text import read_image
from retable.formats.reading import Value, ValueRules, default_reader, value_reader
from retable.formats.registry import find_format
from retable.model.event import ChangeEvent
from retable.model.schema import ColumnSpec, GoldType, parse_gold_type
from retable.model.schema_change import (
    AddColumn,
    ChangeColumn,
    ColumnPosition,
    CreateTable,
    CreateTableLike,
    DropColumn,
    DropTable,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
    TruncateTable,
)
from retable.simulate.columns import Value as TrueValue
from retable.simulate.database import Table
from retable.simulate.settings import TableSettings

RULES = ValueRules()
ROW_ID, ROWID = "#alibaba_rds_row_id#", "rowid"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Column:
    name: str
    declared: str | None
    kind: GoldType


@dataclass(slots=True)
class Sheet:
    columns: list[Column] = field(default_factory=list)
    rows: list[dict[str, Value]] = field(default_factory=list)

    def place(self, column: Column, place: ColumnPosition) -> None:
        names = [other.name for other in self.columns]
        at = 0 if place.first else len(names) if place.after is None else names.index(place.after) + 1
        self.columns.insert(at, column)


@dataclass(slots=True)
class Reader:
    """Reads events of one format. `told` is what settings say of loaded tables, `rules` of their values."""

    format: str
    told: TableSettings
    rules: ValueRules = RULES
    sheets: dict[str, Sheet] = field(default_factory=dict)

    def take(self, event: ChangeEvent) -> None:
        if event.kind == "row":
            self._row(event)
        elif event.op == "TRUNCATE" and event.ddl_text is None:
            assert event.table is not None
            self.sheets[event.table].rows.clear()
        elif event.kind == "schema":
            assert event.ddl_text is not None
            for change in parse_statement("mysql", event.ddl_text, event.database, None, event.table):
                self._change(change)

    def content(self) -> dict[str, Counter[Hashable]]:
        return {name: _counted(sheet.rows) for name, sheet in self.sheets.items()}

    # --- rows ----------------------------------------------------------------------------------------------------
    def _row(self, event: ChangeEvent) -> None:
        assert event.table is not None
        sheet = self.sheets.get(event.table)
        if sheet is None:
            assert event.op == "READ" or self._settled(event), f"{event.table} was never created"
            sheet = self.sheets[event.table] = self._loaded(event)
        before = None if event.before is None else self._image(sheet, event, event.before, event.partial_before)
        after = None if event.after is None else self._image(sheet, event, event.after, event.partial_after)
        if event.op == "UPDATE" and event.image == "full" and (event.partial_before or before is None):
            before = self._found(sheet, event, before or after or {})
            after = {**before, **(after or {})}
        if before is not None:
            sheet.rows.remove(before)
        if after is not None:
            sheet.rows.append(after)

    def _found(self, sheet: Sheet, event: ChangeEvent, known: dict[str, Value]) -> dict[str, Value]:
        """The one row that an update names, by its key and, where the message has them, by its old values."""
        names = known if event.partial_before else event.keys or ()
        (row,) = [row for row in sheet.rows if all(row[name] == known[name] for name in names)]
        return row

    def _settled(self, event: ChangeEvent) -> dict[str, str]:
        """The gold types that settings say of the event's table."""
        name = ".".join(part for part in (event.database, event.schema, event.table) if part)
        return self.told[name].types if name in self.told else {}

    def _loaded(self, event: ChangeEvent) -> Sheet:
        told = self._settled(event)
        columns = []
        for name, wire in (event.column_types or dict.fromkeys(told, "")).items():
            declared = wire.partition("#")[0] if self.format == "canal_json" else None
            said = parse_gold_type(told[name]) if name in told else None
            kind = said or (gold_type("mysql", declared) if declared else find_format(self.format).default_type(wire))
            assert kind is not None
            if name != ROW_ID:
                columns.append(Column(name, declared, kind))
        return Sheet(columns)

    def _image(self, sheet: Sheet, event: ChangeEvent, image: str, partial: bool) -> dict[str, Value]:
        """A whole image has every column; in one of Lindorm those that are missing are null."""
        raw_values, types = read_image(image), event.column_types or {}
        rowid = {ROWID: raw_values.pop(ROWID)} if event.keys == (ROWID,) else {}
        names, columns = [name for name in raw_values if name != ROW_ID], [column.name for column in sheet.columns]
        assert set(names) <= set(columns)
        assert names == columns or partial or self.format == "lindorm_debezium"
        return rowid | {
            column.name: value_reader(self.format, types.get(column.name), column.kind, self.rules, column.declared)(
                raw_values.get(column.name)
            )
            for column in sheet.columns
            if column.name in raw_values or not partial
        }

    # --- statements ----------------------------------------------------------------------------------------------
    def _change(self, change: SchemaChange) -> None:
        match change:
            case NoChange() | SetKey():
                pass
            case CreateTable(table, columns):
                assert table.table not in self.sheets
                self.sheets[table.table] = Sheet([_column(spec) for spec in columns])
            case CreateTableLike(table, like):
                copied = [Column(c.name, c.declared, c.kind) for c in self.sheets[like.table].columns]
                self.sheets[table.table] = Sheet(copied)
            case DropTable(table):
                del self.sheets[table.table]
            case TruncateTable(table):
                self.sheets[table.table].rows.clear()
            case RenameTable(table, to):
                assert to.table not in self.sheets
                self.sheets[to.table] = self.sheets.pop(table.table)
            case AddColumn(table, spec, place):
                sheet, column = self.sheets[table.table], _column(spec)
                sheet.place(column, place)
                for row in sheet.rows:
                    row[column.name] = _filled(spec, column)
            case DropColumn(table, name):
                sheet = self.sheets[table.table]
                sheet.columns = [column for column in sheet.columns if column.name != name]
                for row in sheet.rows:
                    del row[name]
            case ChangeColumn(table, name, spec, place):
                self._change_column(self.sheets[table.table], name, spec, place)
            case _:
                raise AssertionError(f"the shop does nothing of this kind: {change}")

    @staticmethod
    def _change_column(sheet: Sheet, name: str, spec: ColumnSpec, place: ColumnPosition | None) -> None:
        column = next(column for column in sheet.columns if column.name == name)
        column.name, old = spec.name, column.kind
        if spec.source_type:
            column.declared, column.kind = spec.source_type, _column(spec).kind
        if place is not None and place != ColumnPosition():
            sheet.columns.remove(column)
            sheet.place(column, place)
        for row in sheet.rows:
            row[column.name] = _converted(row.pop(name), old, column.kind)


def _converted(value: Value, old: GoldType, new: GoldType) -> Value:
    """The value of a row that stood when its column took another type."""
    match value, old.kind, new.kind:
        case int(), _, "string":
            return str(value)
        case int(), "date", "timestamp":
            return value * 86_400_000_000
    return value


def truth_of(table: Table) -> Counter[Hashable]:
    """The rows of a true table in the reader's values."""
    names = [column.name for column in table.columns]
    return _counted([dict(zip(names, map(gold_value, row), strict=True)) for row in table.rows.values()])


def _counted(rows: list[dict[str, Value]]) -> Counter[Hashable]:
    """Rows as a multiset; numbers count by value, whatever Python type holds them."""
    return Counter(frozenset(cell for cell in row.items() if cell[0] != ROWID) for row in rows)


def _column(spec: ColumnSpec) -> Column:
    kind = gold_type("mysql", spec.source_type)
    assert kind is not None, spec.source_type
    return Column(spec.name, spec.source_type, kind)


def _filled(spec: ColumnSpec, column: Column) -> Value:
    """What MySQL puts into rows that are older than a column."""
    if spec.has_default or not spec.not_null:
        return default_reader(spec.source_type, column.kind, RULES)(spec.default)
    if spec.source_type.startswith("enum"):
        return spec.source_type.split("'")[1]
    match column.kind.kind:
        case "int" | "long":
            return 0
        case "double":
            return 0.0
        case "decimal":
            return Decimal((0, (0,), -column.kind.scale))
        case "string":
            return ""
        case "binary":
            return b""
    raise AssertionError(f"nothing fills a {column.kind}")


def gold_value(value: TrueValue) -> Value:
    """A true value as gold holds it: days and microseconds since 1970."""
    match value:
        case datetime():
            return (value.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH.date()).days
    return value
