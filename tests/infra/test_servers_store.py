"""The store that tests kill is what is pinned, or it is not kept."""

from pathlib import Path

import pytest
import servers_store
from servers_kafka import ServerError
from servers_store import install_store


def test_a_jar_that_is_not_the_pinned_one_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(work: Path) -> Path:
        (work / "store.jar").write_bytes(b"another jar")
        return work / "store.jar"

    monkeypatch.setattr(servers_store, "STORE", tmp_path / "store" / "store.jar")
    monkeypatch.setattr(servers_store, "copy_store", copied)
    with pytest.raises(ServerError, match="do not trust"):
        install_store()
    assert list((tmp_path / "store").iterdir()) == []


def test_one_that_is_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store.jar").write_bytes(b"a jar")
    monkeypatch.setattr(servers_store, "STORE", tmp_path / "store.jar")
    monkeypatch.setattr(servers_store, "copy_store", lambda _: pytest.fail("Maven was called"))
    assert install_store() == tmp_path / "store.jar"
