"""Which side of a message of DTS is the row after a change: no field tells it, a setting does by offset."""

import json
from pathlib import Path
from typing import Any

import pytest

from formats.events import canal
from retable.decode.context import context_of
from retable.errors import Blocked, InvalidSetting, Malformed, SettingsError, UnknownSetting
from retable.formats.canal import json as canal_json
from retable.formats.canal.options import CanalDialect, CanalOptions
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.settings.load import Settings, load_settings

OLDER, CANAL = "dts_pre_20220320", "community"


def context(*ranges: tuple[int, str] | tuple[int, str, int]) -> DecodeContext:
    dialects = (
        CanalDialect(from_offset=first, dialect=name, partition=partition[0] if partition else None)  # type: ignore[arg-type]  # text from a list
        for first, name, *partition in ranges
    )
    return DecodeContext(source_format="canal_json", options=CanalOptions(canal_dialect=tuple(dialects)))


def update(offset: int, partition: int = 0) -> RawMessage:
    message = canal(offset, type="UPDATE", data=[{"id": "1", "c": "x"}], old=[{"id": "1", "c": "y"}])
    return RawMessage("erp", partition, offset, 1_700_000_000_000, None, message.value)


def decoded(message: RawMessage, told: DecodeContext) -> ChangeEvent:
    (event,) = decode_message(message, told)
    return event


def after(message: RawMessage, told: DecodeContext) -> str | None:
    event = decoded(message, told)
    before, row = read_image(event.before or ""), read_image(event.after or "")
    assert {before["c"], row["c"]} == {"x", "y"}
    return row["c"]


@pytest.mark.parametrize(
    ("ranges", "offset", "row"),
    [
        ((), 7, "x"),
        (((0, CANAL),), 7, "x"),
        (((0, OLDER),), 7, "y"),
        (((0, OLDER), (8, CANAL)), 7, "y"),
        (((0, OLDER), (8, CANAL)), 8, "x"),
        (((8, CANAL), (0, OLDER)), 8, "x"),
        (((8, OLDER),), 7, "x"),
        (((0, CANAL), (5, OLDER), (9, CANAL)), 8, "y"),
    ],
)
def test_a_dialect_holds_from_its_offset_to_the_next_one(ranges: Any, offset: int, row: str) -> None:
    assert after(update(offset), context(*ranges)) == row


@pytest.mark.parametrize(
    ("partition", "offset", "row"), [(0, 7, "y"), (0, 8, "x"), (1, 8, "y"), (1, 99, "y"), (1, 100, "x")]
)
def test_a_partition_that_has_ranges_of_its_own_has_no_others(partition: int, offset: int, row: str) -> None:
    ranges = context((0, OLDER), (8, CANAL), (0, OLDER, 1), (100, CANAL, 1))
    assert after(update(offset, partition), ranges) == row


def test_an_object_that_came_late_has_the_ranges_of_partition_0() -> None:
    ranges = context((0, CANAL), (0, OLDER, 0))
    assert [after(update(7, partition), ranges) for partition in (0, -5, 1)] == ["y", "y", "x"]


def test_in_the_older_dialect_a_null_before_the_change_is_an_old_value_all_the_same() -> None:
    message = canal(type="UPDATE", data=[{"id": "1", "c": None}], old=[{"id": "1", "c": "x"}])
    event = decoded(message, context((0, OLDER)))
    assert (event.before, event.after) == ('{"id":"1","c":null}', '{"id":"1","c":"x"}')


@pytest.mark.parametrize("op", ["INSERT", "INIT"])
@pytest.mark.parametrize("dialect", [OLDER, CANAL])
@pytest.mark.parametrize("field", ["data", "old"])
def test_the_row_of_a_single_image_is_whichever_is_there(op: str, dialect: str, field: str) -> None:
    row: dict[str, Any] = {"data": None, "old": None, field: [{"id": "1", "c": "x"}]}
    assert decoded(canal(type=op, **row), context((0, dialect))).after == '{"id":"1","c":"x"}'


@pytest.mark.parametrize("dialect", [OLDER, CANAL])
@pytest.mark.parametrize("op", ["INSERT", "INIT", "DELETE"])
def test_a_single_image_that_stands_in_both_is_refused(op: str, dialect: str) -> None:
    row = [{"id": "1", "c": "x"}]
    with pytest.raises(Blocked) as blocked:
        decoded(canal(type=op, data=row, old=row), context((0, dialect)))
    assert blocked.value.facts["problem"] == "DIALECT_MISMATCH"


@pytest.mark.parametrize(("dialect", "field"), [(OLDER, "old"), (CANAL, "data")])
def test_a_delete_shows_whether_the_dialect_is_the_one_that_is_set(dialect: str, field: str) -> None:
    row = [{"id": "1", "c": "x"}]
    empty: dict[str, Any] = {"data": None, "old": None}
    event = decoded(canal(type="DELETE", **{**empty, field: row}), context((0, dialect)))
    assert (event.before, event.after) == ('{"id":"1","c":"x"}', None)
    with pytest.raises(Blocked, match="check `canal_dialect`") as blocked:
        decoded(canal(type="DELETE", **{**empty, {"old": "data", "data": "old"}[field]: row}), context((0, dialect)))
    assert (blocked.value.facts["problem"], blocked.value.facts["table"]) == (
        "DIALECT_MISMATCH",
        TableName("shop", None, "t"),
    )
    assert blocked.value.facts["keys"] == ('["1"]',)


def test_a_vendors_delete_without_its_key_is_partial_and_blocked() -> None:
    types = {"mysqlType": {"id": "bigint", "shipping_type": "varchar"}, "sqlType": {"id": -5, "shipping_type": 12}}
    message = canal(type="DELETE", data=None, old=[{"shipping_type": "aaa"}], **types)
    (event,) = canal_json.decode(message, context((0, OLDER)))
    assert (event.before, event.partial_before) == ('{"shipping_type":"aaa"}', True)
    assert event.problems == ("KEY_NOT_IN_IMAGE",)


@pytest.mark.parametrize(
    ("rows", "place", "words"),
    [
        ({"data": [{"id": "1"}], "old": None}, "old", "UPDATE has no row"),
        ({"data": [{"id": "1"}], "old": [{}]}, "old[0]", "a row has no columns"),
        ({"data": None, "old": [{"id": "1"}]}, "data", "UPDATE does not contain the row before the change"),
        ({"data": [{"id": "1", "z": "1"}], "old": [{"id": "1"}]}, "data[0]", "names the column 'z', which `old`"),
    ],
)
def test_what_is_wrong_is_told_by_the_fields_of_the_dialect(rows: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(Malformed, match=words) as refused:
        decoded(canal(type="UPDATE", **rows), context((0, OLDER)))
    assert refused.value.facts["place"] == place


def test_rows_before_and_after_that_differ_in_number_are_blocked_in_either_dialect() -> None:
    for dialect in (OLDER, CANAL):
        with pytest.raises(Blocked, match="OLD_DATA_MISALIGNED"):
            decode_message(canal(type="UPDATE", data=[{"id": "1"}], old=[{"id": "1"}] * 2), context((0, dialect)))


def settings(folder: Path, dialect: str, source_format: str = "canal_json") -> Settings:
    lake = '[lake]\ncatalog = "sqlite:///catalog.db"\nwarehouse = "lake"\n'
    source = f'[sources.erp]\nkind = "files"\nformat = "{source_format}"\npath = "in"\nlayout = "lines"\n'
    (folder / "retable.toml").write_text(lake + source + dialect)
    return load_settings(folder / "retable.toml")


def test_the_setting_reaches_the_decoder_and_makes_older_windows_stale(tmp_path: Path) -> None:
    told = settings(tmp_path, f'canal_dialect = [{{from_offset = 0, dialect = "{OLDER}"}}]')
    assert after(update(7), context_of(told.source("erp"))) == "y"
    table = TableName("shop", None, "t")
    assert told.fingerprint("erp", table) != settings(tmp_path, "").fingerprint("erp", table)


@pytest.mark.parametrize(
    ("dialect", "error", "words"),
    [
        ([{"from_offset": 0, "dialect": "canal"}], InvalidSetting, "canal_dialect.0.dialect"),
        ([{"from_offset": -1, "dialect": CANAL}], InvalidSetting, "greater than or equal to 0"),
        ([{"dialect": CANAL}], InvalidSetting, "canal_dialect.0.from_offset is missing"),
        ([{"from_offset": 0, "dialekt": CANAL}], SettingsError, "canal_dialect.0"),
        ([{"from_offset": 0, "dialect": CANAL, "offset": 1}], UnknownSetting, "did you mean 'from_offset'"),
        (
            [{"from_offset": 0, "dialect": CANAL}, {"from_offset": 0, "dialect": OLDER}],
            InvalidSetting,
            "begin at the same offset of a partition",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_told(
    tmp_path: Path, dialect: list[dict[str, Any]], error: type[SettingsError], words: str
) -> None:
    entries = [", ".join(f"{name} = {json.dumps(value)}" for name, value in each.items()) for each in dialect]
    with pytest.raises(error, match=words):
        settings(tmp_path, f"canal_dialect = [{', '.join(f'{{{entry}}}' for entry in entries)}]")


def test_no_other_format_has_this_setting(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="canal_dialect is an option of canal_json, but the format of this"):
        settings(tmp_path, f'canal_dialect = [{{from_offset = 0, dialect = "{OLDER}"}}]', "streamx_json")
