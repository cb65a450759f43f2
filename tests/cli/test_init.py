"""`retable init` writes settings that work, and says what it cannot know."""

import base64
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import Result

from retable.onboard.hours import find_hours
from retable.settings.load import load_settings

Retable = Callable[..., Result]
GOLDEN = Path(__file__).parents[1] / "golden"


def _message(table: str = "orders", keys: tuple[str, ...] | None = ("id",)) -> str:
    fields = {"data": [{"id": "1"}], "database": "shop", "es": 1772323256000, "id": 1, "isDdl": False, "old": None}
    types = {"mysqlType": {"id": "int"}, "sqlType": {"id": 4}, "pkNames": keys, "sql": "", "table": table}
    return json.dumps({**fields, **types, "ts": 1772323256001, "type": "INSERT"})


def _lacking(field: str) -> str:
    return json.dumps({name: value for name, value in json.loads(_message()).items() if name != field})


def _dumped(value: str, offset: int = 0) -> str:
    return json.dumps({"topic": "canal", "partition": 0, "offset": offset, "timestamp": 1, "value": value})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Canal Dump"
    folder.mkdir()
    return folder


def test_a_dump_of_kafka_is_recognised_and_its_settings_load(retable: Retable, folder: Path, tmp_path: Path) -> None:
    for hour in (5, 6):
        text = "\n".join(_dumped(_message(), offset) for offset in range(3))
        (folder / f"part-2026-03-01T{hour:02d}.jsonl").write_text(text)
    result = retable("init", "--from-files", "Canal Dump")
    assert result.exit_code == 0, result.stderr
    source = load_settings(tmp_path / "retable.toml").source("canal_dump")
    assert (source.path, source.layout, source.format) == (folder, "kafka_dump", "canal_json")
    assert source.hour == r"(?:^|\D)(\d{4}-\d{2}-\d{2}[T_ -]\d{2})"
    assert "6 of 6 sampled messages are canal_json, as kafka_dump: shop.orders" in result.stderr
    assert result.stderr.rstrip().endswith("retable run canal_dump --to 2026-03-01T07:00:00Z")


def test_a_source_has_the_name_that_is_given(retable: Retable, folder: Path, tmp_path: Path) -> None:
    (folder / "x").write_text(_message())
    for name in ("Shop", "1shop", "a-b", "shop\n"):
        assert retable("init", "--from-files", str(folder), "--name", name).exit_code == 1
    assert not (tmp_path / "retable.toml").exists()
    result = retable("init", "--from-files", str(folder), "--name", "erp_2")
    assert "retable run erp_2" in result.stderr
    assert list(load_settings(tmp_path / "retable.toml").sources) == ["erp_2"]


def test_the_messages_of_dataworks_are_told_from_those_of_canal(retable: Retable, folder: Path, tmp_path: Path) -> None:
    message = GOLDEN / "streamx_json" / "0004_vendor_update_after.message.json"
    (folder / "x").write_text(message.read_text().replace("\n", ""))
    result = retable("init", "--from-files", str(folder))
    assert "1 of 1 sampled messages are streamx_json, as lines: pkset_test.pkset_test_no_pk" in result.stderr
    assert load_settings(tmp_path / "retable.toml").source("canal_dump").format == "streamx_json"
    assert "Messages carry instants" in (tmp_path / "retable.toml").read_text()


def _one_line(name: str) -> str:
    return json.dumps(json.loads((GOLDEN / name).read_text()), ensure_ascii=False)


def test_a_record_of_datahub_is_told_from_the_same_one_of_kafka(retable: Retable, folder: Path) -> None:
    (folder / "x").write_text(_one_line("datahub_blob/0003_vendor_update_after.message.json"))
    result = retable("init", "--from-files", str(folder))
    assert "1 of 1 sampled messages are datahub_blob, as lines: yunshi_db.t_shiyu_pk" in result.stderr


def test_a_tuple_names_no_database_so_the_settings_ask_for_it(retable: Retable, folder: Path, tmp_path: Path) -> None:
    (folder / "x").write_text(_one_line("datahub_tuple/0001_vendor_insert.message.json"))
    assert "datahub_tuple, as lines: unnamed.unnamed" in retable("init", "--from-files", str(folder)).stderr
    source = load_settings(tmp_path / "retable.toml").source("canal_dump")
    assert (source.format, source.options.database, source.options.table) == ("datahub_tuple", "unnamed", "unnamed")
    text = (tmp_path / "retable.toml").read_text()
    assert "# - The database of the records. Records do not name it." in text
    assert '# [tables."unnamed.unnamed"]\n# keys = ["id"]' in text


def test_a_tuple_that_names_its_table_is_asked_for_the_database_alone(
    retable: Retable, folder: Path, tmp_path: Path
) -> None:
    (folder / "x").write_text(_one_line("datahub_tuple/0011_made_table_in_the_record.message.json"))
    assert "unnamed.Items" in retable("init", "--from-files", str(folder)).stderr
    source = load_settings(tmp_path / "retable.toml").source("canal_dump")
    assert (source.options.database, source.options.table) == ("unnamed", None)


@pytest.mark.parametrize(("case", "model"), [("0002_vendor_insert", "sql"), ("0006_vendor_hbase_insert", "hbase")])
def test_lindorms_two_kinds_of_tables_are_told_apart(
    retable: Retable, folder: Path, tmp_path: Path, case: str, model: str
) -> None:
    (folder / "x").write_text(_one_line(f"lindorm_debezium/{case}.message.json"))
    result = retable("init", "--from-files", str(folder))
    assert "1 of 1 sampled messages are lindorm_debezium, as lines: ld-xxxx.default.customers" in result.stderr
    assert load_settings(tmp_path / "retable.toml").source("canal_dump").options.model == model
    text = (tmp_path / "retable.toml").read_text()
    assert ('model = "hbase"' in text) == (model == "hbase")
    assert ("No key came with" in text) == (model == "sql")


@pytest.mark.parametrize(
    ("case", "table"),
    [
        ("0001_vendor_insert", None),
        ("0003_vendor_delete_of_a_table_that_the_settings_name", "unnamed"),
    ],
)
def test_shareplex_names_no_database_and_no_key_so_the_settings_ask_for_them(
    retable: Retable, folder: Path, tmp_path: Path, case: str, table: str | None
) -> None:
    (folder / "x").write_text(_one_line(f"shareplex_json/{case}.message.json"))
    result = retable("init", "--from-files", str(folder))
    assert "1 of 1 sampled messages are shareplex_json, as lines: unnamed." in result.stderr
    source = load_settings(tmp_path / "retable.toml").source("canal_dump")
    assert (source.format, source.options.database, source.options.table) == ("shareplex_json", "unnamed", table)
    text = (tmp_path / "retable.toml").read_text()
    assert "# - The database of the messages. Messages do not name it." in text
    assert "No key came with unnamed." in text


def test_a_stream_of_dts_is_recognised_by_its_bytes(retable: Retable, folder: Path, tmp_path: Path) -> None:
    value = base64.b64encode((GOLDEN / "dts_avro" / "0021_insert.message.bin").read_bytes()).decode()
    line = {"topic": "dts", "partition": 0, "offset": 0, "timestamp": 1, "value_base64": value}
    (folder / "x").write_text(json.dumps(line))
    result = retable("init", "--from-files", str(folder))
    assert "1 of 1 sampled messages are dts_avro, as kafka_dump" in result.stderr
    assert load_settings(tmp_path / "retable.toml").source("canal_dump").format == "dts_avro"


@pytest.mark.parametrize("schemas", [True, False])
def test_debezium_is_asked_for_its_modes_where_no_schema_tells_types(
    retable: Retable, folder: Path, tmp_path: Path, schemas: bool
) -> None:
    name = "0020_mariadb_read_with_schema" if schemas else "0021_mariadb_read"
    key = json.loads((GOLDEN / "debezium_json" / f"{name}.context.json").read_text())["key"]
    value = (GOLDEN / "debezium_json" / f"{name}.message.json").read_text()
    (folder / "x").write_text(json.dumps({**json.loads(_dumped(value)), "key": key}))
    result = retable("init", "--from-files", str(folder))
    assert "1 of 1 sampled messages are debezium_json, as kafka_dump: crm.customers" in result.stderr
    assert load_settings(tmp_path / "retable.toml").source("canal_dump").options.time_mode == "adaptive"
    assert ('decimal_mode = "precise"' in (tmp_path / "retable.toml").read_text()) == (not schemas)


def test_one_message_a_line_is_recognised_packed_or_not(retable: Retable, folder: Path, tmp_path: Path) -> None:
    (folder / "a.gz").write_bytes(gzip.compress((_message() + "\n").encode()))
    assert retable("init", "--from-files", str(folder)).exit_code == 0
    source = load_settings(tmp_path / "retable.toml").source("canal_dump")
    assert (source.layout, source.hour) == ("lines", None)


def test_what_the_messages_cannot_tell_is_listed(retable: Retable, folder: Path, tmp_path: Path) -> None:
    (folder / "20260301").write_text("\n".join([_message("orders"), _message("lo\ng", keys=None)]))
    retable("init", "--from-files", str(folder))
    text = (tmp_path / "retable.toml").read_text()
    assert "time_zone" in text
    assert "is read as UTC" in text
    assert 'every  = "1d"' in text
    assert '# [tables."shop.lo?g"]\n' in text
    assert "shop.orders" in text
    load_settings(tmp_path / "retable.toml")


def test_what_no_setting_mends_is_said_of_the_format_that_was_found(
    retable: Retable, folder: Path, tmp_path: Path
) -> None:
    (folder / "x").write_text(_one_line("datahub_tuple/0001_vendor_insert.message.json"))
    retable("init", "--from-files", str(folder))
    text = (tmp_path / "retable.toml").read_text()
    assert "# What no message of datahub_tuple contains" in text
    assert "# - Keys: the settings or an imported schema name them." in text
    assert "# - Statements: after a TRUNCATE or DROP the rows stay in gold" in text


def test_changes_without_the_row_before_them_are_said_to_need_a_key(
    retable: Retable, folder: Path, tmp_path: Path
) -> None:
    row = {"before": None, "after": {"id": 1}, "source": {"db": "d", "table": "t"}, "ts_ms": 1}
    case = json.loads((GOLDEN / "debezium_json" / "0021_mariadb_read.message.json").read_text())
    messages = [{**case, **row, "source": {**case["source"], **row["source"]}, "op": op} for op in "cu"]
    (folder / "x").write_text("\n".join(_dumped(json.dumps(each), at) for at, each in enumerate(messages)))
    result = retable("init", "--from-files", str(folder))
    assert "2 of 2 sampled messages are debezium_json" in result.stderr
    text = (tmp_path / "retable.toml").read_text()
    assert "No key came with d.t: an update or a delete came without the old row" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--from-files FOLDER, or --from-kafka BOOTSTRAP"),
        (["--from-files", ".", "--from-kafka", "127.0.0.1:1"], "--from-files FOLDER, or --from-kafka BOOTSTRAP"),
        (["--from-files", ".", "--topics", "shop.*"], "are only valid with --from-kafka"),
        (["--from-kafka", "127.0.0.1:1"], "name a topic, or a glob, with --topics"),
        (["--from-kafka", "nowhere", "--topics", "t"], "is not a list of brokers write each broker as host:port"),
        (["--from-kafka", "127.0.0.1:1", "--topics", "t", "--kafka", "usernameenv=U"], "did you mean 'username_env'?"),
        (["--from-kafka", "127.0.0.1:1", "--topics", "t", "--kafka", "S3CR3T-xyz"], "--kafka takes NAME=VALUE"),
        (["--from-kafka", "127.0.0.1:1", "--topics", "t", "--kafka", "username_env=U"], "is used only if security"),
        (
            ["--from-kafka", "127.0.0.1:1", "--topics", "t", "--kafka", "password_env=S3CR3T-x"],
            "not the name of an environment variable",
        ),
    ],
)
def test_what_is_asked_for_is_whole_and_no_secret_is_shown(
    retable: Retable, options: list[str], words: str, tmp_path: Path
) -> None:
    result = retable("init", *options)
    assert result.exit_code == 1
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert "S3CR3T" not in result.stderr
    assert not (tmp_path / "retable.toml").exists()


def test_some_messages_that_do_not_decode_are_counted(retable: Retable, folder: Path) -> None:
    (folder / "x").write_text("\n".join([_message(), _message(), "{"]))
    assert "2 of 3 sampled messages are canal_json" in retable("init", "--from-files", str(folder)).stderr


def test_settings_that_are_there_are_not_overwritten(retable: Retable, folder: Path, tmp_path: Path) -> None:
    (folder / "x").write_text(_message())
    (tmp_path / "retable.toml").write_text("mine")
    result = retable("init", "--from-files", str(folder))
    assert result.exit_code == 1
    assert "retable.toml exists already\n       name another file with --settings" in result.stderr
    assert (tmp_path / "retable.toml").read_text() == "mine"
    assert retable("init", "--from-files", str(folder), "--settings", "other.toml").exit_code == 0
    assert load_settings(tmp_path / "other.toml").source("canal_dump")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "holds no files yet"),
        ("", "hold no messages yet"),
        ("hello\nworld\n", "no format that this version recognises (canal_json, "),
        ("hello\nworld\n", "no format is similar; as canal_json: 0 of 2 messages decode, and 2 fail with: the text "),
        (f"{_lacking('es')}\n{_lacking('es')}\n{_lacking('isDdl')}\n", "canal_json fits best: 0 of 3 messages"),
        (
            f"{_lacking('es')}\n",
            "0 of 1 messages decode, and 1 fail with: the message does not match its format: "
            "Object missing required field `es`",
        ),
        ('{"before":null,"after":{"id":1},"op":"c","ts_ms":1,"source":{}}\n', "debezium_json fits best"),
        ('{"meta":{"op":"frob","scn":"1","rowid":"A"},"data":{"ID":"1"},"key":{}}\n', "shareplex_json fits best"),
        ('{"_sequence_id_":"1","_operation_type_":"X"}\n', "datahub_tuple fits best"),
    ],
)
def test_a_folder_without_messages_of_a_known_format_says_so(
    retable: Retable, folder: Path, tmp_path: Path, content: str | None, words: str
) -> None:
    if content is not None:
        (folder / "x").write_text(content)
    result = retable("init", "--from-files", str(folder))
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "retable.toml").exists()


def test_a_folder_that_is_not_there_is_named(retable: Retable) -> None:
    result = retable("init", "--from-files", "nope")
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr


@pytest.mark.parametrize(
    ("names", "every", "last"),
    [
        (["a-2026-03-01T05.jsonl", "a-2026-03-01T06.jsonl"], "1h", 6),
        (["20260301T0500Z.json"], "1h", 5),
        (["x_2026030105.gz", "x_2026030104.gz"], "1h", 5),
        (["2026/03/01/05/part-0", "2026/03/01/07/part-0"], "1h", 7),
        (["dt=2026-03-01/hour=05/p"], "1h", 5),
        (["year=2026/month=03/day=01/hour=05/p"], "1h", 5),
        (["2026-03-01.jsonl"], "1d", 0),
        (["2026-03-01_05-30.jsonl"], "1h", 5),
    ],
)
def test_the_hour_in_names_is_found(names: list[str], every: str, last: int) -> None:
    hours = find_hours(names)
    assert hours is not None
    assert (hours.every, hours.last) == (every, datetime(2026, 3, 1, last, tzinfo=UTC))


@pytest.mark.parametrize(
    "names",
    [["part-0001", "part-0002"], ["1772323256.json"], ["2026-03-01T05.json", "rest.json"], ["2026-03-01T25"], []],
)
def test_names_that_tell_no_hour_are_not_believed(names: list[str]) -> None:
    hours = find_hours(names)
    assert hours is None or hours.every == "1d"
