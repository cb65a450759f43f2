"""The broker's jars are what is pinned, or none is kept."""

from pathlib import Path

import pytest
import servers_kafka
from servers_kafka import PINS, ServerError, digests, install_kafka, read_pins


def test_every_jar_of_the_broker_is_pinned() -> None:
    pins = read_pins(PINS.read_text(encoding="utf-8"))
    assert {"kafka_2.13-3.9.1.jar", "kafka-clients-3.9.1.jar", "slf4j-simple-1.7.36.jar"} <= pins.keys()
    assert all(len(digest) == 64 for digest in pins.values())


def test_a_jar_that_is_not_the_pinned_one_is_named_and_none_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copied(work: Path) -> Path:
        (work / "jars").mkdir()
        for name in read_pins(PINS.read_text(encoding="utf-8")):
            (work / "jars" / name).write_bytes(b"another jar")
        return work / "jars"

    monkeypatch.setattr(servers_kafka, "JARS", tmp_path / "servers" / "kafka")
    monkeypatch.setattr(servers_kafka, "copy_jars", copied)
    with pytest.raises(ServerError, match="kafka_2.13-3.9.1.jar"):
        install_kafka()
    assert list((tmp_path / "servers").iterdir()) == []


def test_jars_that_are_there_already_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "a.jar").write_bytes(b"a")
    pins = tmp_path / "pins"
    pins.write_text("".join(f"{digest}  {name}\n" for name, digest in digests(tmp_path / "kafka").items()))
    monkeypatch.setattr(servers_kafka, "JARS", tmp_path / "kafka")
    monkeypatch.setattr(servers_kafka, "PINS", pins)
    monkeypatch.setattr(servers_kafka, "copy_jars", lambda _: pytest.fail("Maven was called"))
    assert install_kafka() == tmp_path / "kafka"
