"""One message, one statement: what Retable makes of it, without Spark and without settings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Retable = Callable[..., Result]

MESSAGE = (
    b'{"data":[{"id":"1","price":"0.10","\xe5\x88\x97":null}],"database":"shop","es":1772323256000,"id":1,"isDdl":false,'
    b'"mysqlType":{"id":"int","price":"decimal(9,2)","\xe5\x88\x97":"text"},"old":null,"pkNames":["id"],"sql":"",'
    b'"sqlType":{"id":4,"price":3,"\xe5\x88\x97":12},"table":"t","ts":1772323256001,"type":"INSERT"}'
)


@pytest.mark.parametrize("origin", ["-", "message.json", None])
def test_a_message_shows_its_events_digit_by_digit(retable: Retable, tmp_path: Path, origin: str | None) -> None:
    (tmp_path / "message.json").write_bytes(MESSAGE)
    result = retable("show-message", "--format", "canal_json", *([origin] if origin else []), input=MESSAGE)
    assert result.exit_code == 0
    (event,) = json.loads(result.stdout)
    assert event["op"] == "INSERT"
    assert event["keys"] == ["id"]
    assert event["after"] == {"id": "1", "price": "0.10", "列": None}
    assert '"price": "0.10"' in result.stdout
    assert "列" in result.stdout
    assert "address" not in event


def test_each_of_several_json_lines_is_shown_and_a_bad_one_named(retable: Retable) -> None:
    lines = MESSAGE + b"\n\n" + MESSAGE[:100] + b"\n" + MESSAGE.replace(b"INSERT", b"DELETE")
    result = retable("show-message", "--format", "canal_json", input=lines)
    assert result.exit_code == 1
    assert [json.loads(line)[0]["op"] for line in result.stdout.splitlines()] == ["INSERT", "DELETE"]
    assert "line 3: MALFORMED: " in result.stderr
    assert "1 of 3 messages do not decode" in result.stderr


def test_a_message_of_several_lines_is_one_message(retable: Retable) -> None:
    spread = json.dumps(json.loads(MESSAGE), indent=2).encode()
    result = retable("show-message", "--format", "canal_json", input=spread)
    assert result.exit_code == 0
    assert json.loads(result.stdout)[0]["after"]["price"] == "0.10"


def test_a_message_of_a_source_is_read_as_its_settings_say(retable: Retable, tmp_path: Path) -> None:
    (tmp_path / "retable.toml").write_text(
        '[lake]\ncatalog = "sqlite:///c.db"\nwarehouse = "lake"\n'
        '[sources.orders]\nkind = "files"\nlayout = "lines"\npath = "in"\nformat = "datahub_tuple"\n'
        'database = "shop"\ntable = "orders"\n[tables."shop.orders"]\nkeys = ["id"]\n'
    )
    meta = {"_sequence_id_": "5", "_operation_type_": "D", "_before_image_": "Y", "_after_image_": "N"}
    result = retable("show-message", "--source", "orders", input=json.dumps({**meta, "id": "1"}).encode())
    assert result.exit_code == 0, result.stderr
    (event,) = json.loads(result.stdout)
    assert (event["database"], event["table"], event["keys"], event["before"]) == (
        "shop",
        "orders",
        ["id"],
        {"id": "1"},
    )


@pytest.mark.parametrize("options", [[], ["--format", "canal_json", "--source", "erp"]])
def test_a_message_is_read_by_a_format_or_by_a_source(retable: Retable, options: list[str]) -> None:
    result = retable("show-message", *options, input=MESSAGE)
    assert result.exit_code == 1
    assert "--format" in result.stderr
    assert "--source" in result.stderr


@pytest.mark.parametrize(
    ("message", "words"), [(MESSAGE[:100], "error: "), (b"", "error: "), (b"\xff", "error: "), (b"[]", "error: ")]
)
def test_a_message_that_does_not_decode_says_why(retable: Retable, message: bytes, words: str) -> None:
    result = retable("show-message", "--format", "canal_json", input=message)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(words)
    assert "in a run, such a message goes to quarantine" in result.stderr


def test_a_message_that_is_not_there_is_named(retable: Retable) -> None:
    result = retable("show-message", "--format", "canal_json", "nope.json")
    assert result.exit_code == 1
    assert "nope.json cannot be read: No such file or directory" in result.stderr


def test_an_unknown_format_gives_the_nearest(retable: Retable) -> None:
    result = retable("show-message", "--format", "canal", input=MESSAGE)
    assert result.exit_code == 1
    assert "did you mean 'canal_json'?" in result.stderr


def test_a_statement_shows_its_schema_changes(retable: Retable) -> None:
    result = retable("show-ddl", "--dialect", "mysql", "ALTER TABLE shop.t ADD COLUMN `列` INT DEFAULT 7 FIRST")
    assert result.exit_code == 0
    (change,) = json.loads(result.stdout)
    assert change["kind"] == "add_column"
    assert change["table"] == {"database": "shop", "schema": None, "table": "t"}
    assert change["column"]["name"] == "列"
    assert change["place"]["first"] is True


def test_a_statement_that_is_not_replayed_says_why(retable: Retable) -> None:
    for text, kind in (("DROP PARTITION p0", "move_partitions"), ("FROBNICATE", "unsupported")):
        result = retable("show-ddl", "--dialect", "mysql", f"ALTER TABLE shop.t {text}")
        assert result.exit_code == 0
        (change,) = json.loads(result.stdout)
        assert (change["kind"], bool(change["reason"])) == (kind, True)


def test_an_unknown_dialect_lists_the_known_ones(retable: Retable) -> None:
    result = retable("show-ddl", "--dialect", "klingon", "DROP TABLE t")
    assert result.exit_code == 1
    assert "mysql" in result.stderr
