"""Which type a column has that no statement told: the settings', else the message's, else text."""

from collections.abc import Callable
from itertools import permutations

import pytest

from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.replay.inputs.plan import Tables
from retable.replay.inputs.rules import SourceRules
from retable.settings.load import Settings
from retable.values.baseline_encoding import baseline_wire

TABLE = TableName("shop", None, "t")
SOURCE = """
[sources.erp]
kind = "files"
format = "{}"
path = "in"
layout = "lines"

[tables."shop.t"]
types = {{ price = "decimal(9,2)" }}
zero_date = "{}"
"""


@pytest.mark.parametrize(
    ("source_format", "wire", "source_type", "gold"),
    [
        ("canal_json", "bigint unsigned", "bigint unsigned", "decimal(20,0)"),
        ("canal_json", "enum('a')#index", "enum('a')#index", "string"),
        ("canal_json", "", "", "string"),
        ("canal_json", None, None, "string"),
        ("canal_json", "LONG", "LONG", "string"),
        ("streamx_json", "LONG", None, "long"),
        ("streamx_json", "DATE", None, "timestamp"),
        ("streamx_json", "BYTES", None, "binary"),
        ("streamx_json", "bigint", None, "string"),
    ],
)
def test_a_format_tells_the_type_of_its_wire_types(
    write_settings: Callable[[str], Settings], source_format: str, wire: str | None, source_type: str | None, gold: str
) -> None:
    settings = write_settings(SOURCE.format(source_format, "hold"))
    found, kind = SourceRules(settings, settings.source("erp"), "mysql").seen(TABLE, "c", wire)
    assert (found, str(kind)) == (source_type, gold)


@pytest.mark.parametrize("wire", ["DOUBLE", "STRING", None])
def test_the_settings_win(write_settings: Callable[[str], Settings], wire: str | None) -> None:
    settings = write_settings(SOURCE.format("streamx_json", "hold"))
    _, kind = SourceRules(settings, settings.source("erp"), "mysql").seen(TABLE, "price", wire)
    assert str(kind) == "decimal(9,2)"


def test_dates_are_text_where_the_settings_ask_for_zero_dates_as_text(
    write_settings: Callable[[str], Settings],
) -> None:
    settings = write_settings(SOURCE.format("streamx_json", "string"))
    _, kind = SourceRules(settings, settings.source("erp"), "mysql").seen(TABLE, "d", "DATE")
    assert str(kind) == "string"


def test_columns_are_the_same_in_whatever_order_rows_are_read(write_settings: Callable[[str], Settings]) -> None:
    settings = write_settings(SOURCE.format("canal_json", "hold"))
    told = [
        {"id": baseline_wire(None), "v": baseline_wire(None), "long": baseline_wire(GoldType("long"))},
        {"long": "int", "v": "varchar(9)", "id": "int"},
        {"id": "bigint", "v": "varchar(20)", "more": "date"},
    ]
    events = [
        RowEvent("INSERT", None, "{}", types, None, Sequence(0, at, 0), None, 0, "t", 0, at, 0, None, None, True)
        for at, types in enumerate(told)
    ]
    tables = Tables.trace([], SourceRules(settings, settings.source("erp"), "mysql"), [], {TABLE: None})
    for order in map(list, permutations(events)):
        ((identity, mine),) = tables.split({TABLE: order}).items()
        found = tables.undeclared({identity: mine}, {})
        columns = [(each.name, each.source_type, str(each.type)) for each in found]
        assert columns == [
            ("id", "bigint", "long"),
            ("v", "varchar(9)", "string"),
            ("long", None, "long"),
            ("more", "date", "date"),
        ]
