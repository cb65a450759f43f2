"""`retable init --from-kafka`: genuine streams in topics of a real broker, recognised, sampled, and then taken in."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from retable.cli.app import app
from retable.formats.registry import FORMATS
from retable.settings.load import load_settings
from retable.settings.sources import KafkaSource
from servers.kafka_broker import PASSWORD, PASSWORD_VARIABLE, USER_VARIABLE, Broker, Record
from servers.test_kafka_genuine import genuine

Retable = Callable[..., Result]
_TOPICS = 8


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retable:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    return lambda *args: CliRunner().invoke(app, args, prog_name="retable")


def fill(kafka: Broker, stream: str, prefix: str) -> int:
    """Produce some topics of a genuine stream, under a prefix; give how many messages they have."""
    messages = list(genuine(stream))
    topics = sorted({each.topic for each in messages})[:_TOPICS]
    for topic in topics:
        mine = [each for each in messages if each.topic == topic]
        kafka.create(f"{prefix}.{topic}", max(each.partition for each in mine) + 1)
        kafka.produce(
            f"{prefix}.{topic}",
            (Record(each.value, each.timestamp_ms, each.partition, each.key, each.headers) for each in mine),
        )
    return sum(each.topic in topics for each in messages)


def source(folder: Path, name: str) -> KafkaSource:
    found = load_settings(folder / "retable.toml").source(name)
    assert isinstance(found, KafkaSource)
    return found


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("canal_mariadb", "canal_json"),
        ("debezium_mariadb", "debezium_json"),
        ("debezium_postgres", "debezium_json"),
        ("dts_avro", "dts_avro"),
    ],
)
def test_a_genuine_stream_is_recognised_and_what_it_cannot_tell_is_listed(
    kafka: Broker, retable: Retable, tmp_path: Path, stream: str, expected: str
) -> None:
    fill(kafka, stream, f"init-{stream}")
    result = retable("init", "--from-kafka", kafka.bootstrap, "--topics", f"init-{stream}.*")
    assert result.exit_code == 0, result.output
    found = source(tmp_path, f"init_{stream}")
    assert (found.format, found.bootstrap, found.topics) == (expected, kafka.bootstrap, (f"init-{stream}.*",))
    assert f"sampled messages are {expected}, of" in result.stderr
    text = (tmp_path / "retable.toml").read_text()
    assert all(sentence[:40] in text for sentence in FORMATS[expected].cannot_tell)
    checked = retable("check", found.name, "--json")
    tables = json.loads(checked.stdout)["tables"]
    assert tables
    assert all(each["taken"] for each in tables)
    # One topic a table: each of them was looked at, however many messages the first ones have.
    assert expected != "debezium_json" or all(each["table"] in text for each in tables if each["events"])


def test_brokers_that_ask_for_a_user_are_told_by_names_of_variables(
    kafka: Broker, retable: Retable, tmp_path: Path
) -> None:
    fill(kafka, "canal_mariadb", "init-sasl")
    access = {
        "security_protocol": "SASL_PLAINTEXT",
        "username_env": USER_VARIABLE,
        "password_env": PASSWORD_VARIABLE,
    }
    options = [part for name, value in access.items() for part in ("--kafka", f"{name}={value}")]
    address = f"127.0.0.1:{kafka.sasl_port}"
    result = retable("init", "--from-kafka", address, "--topics", "init-sasl.*", *options)
    assert result.exit_code == 0, result.output
    assert source(tmp_path, "init_sasl").kafka.model_dump(include=set(access)) == access
    assert PASSWORD not in (tmp_path / "retable.toml").read_text() + result.output


def test_many_partitions_and_topics_of_other_formats_are_no_obstacle(
    kafka: Broker, retable: Retable, tmp_path: Path
) -> None:
    count = fill(kafka, "canal_mariadb", "init-mixed")
    kafka.create("init-mixed.wide", 40)
    kafka.create("init-mixed.empty", 3)
    kafka.produce("init-mixed.wide", (Record(b"hello", partition=at) for at in range(40)))
    result = retable("init", "--from-kafka", kafka.bootstrap, "--topics", "init-mixed.*")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "retable.toml").read_text()
    assert f"{count + 40} positions now" in text.replace(",", "")
    assert "# - 40 sampled messages of the topic init-mixed.wide do not decode." in text


@pytest.mark.parametrize(
    ("messages", "words"),
    [([], "hold no messages yet"), ([b"hello", b"world"], "no format that this version recognises")],
)
def test_topics_without_messages_of_a_known_format_say_so(
    kafka: Broker, retable: Retable, tmp_path: Path, messages: list[bytes], words: str
) -> None:
    topic = kafka.create(f"init-none-{len(messages)}")
    kafka.produce(topic, map(Record, messages))
    result = retable("init", "--from-kafka", kafka.bootstrap, "--topics", topic)
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "retable.toml").exists()


def test_a_topic_that_is_not_there_is_named(kafka: Broker, retable: Retable, tmp_path: Path) -> None:
    kafka.create("init-there")
    missing = retable("init", "--from-kafka", kafka.bootstrap, "--topics", "init-their")
    assert missing.exit_code == 1
    assert "there is no topic 'init-their'" in missing.stderr
    assert "did you mean 'init-there'?" in missing.stderr
    assert not (tmp_path / "retable.toml").exists()
