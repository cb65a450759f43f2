"""Spark's jars are the pinned ones, or none."""

import hashlib
from pathlib import Path

import pytest

from retable import jars
from retable.errors import EnvironmentFault
from retable.jars import check_jars, find_jars, get_jars, jar_name

JAR = "org.apache.iceberg:iceberg-spark-runtime:1.0"
GOOD = hashlib.sha256(b"good").hexdigest()


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pins"
    path.write_text(f"{GOOD}  {JAR}\n", encoding="ascii")
    monkeypatch.setattr(jars, "PINS", path)


def _folder(path: Path, content: bytes) -> Path:
    path.mkdir()
    (path / jar_name(JAR)).write_bytes(content)
    return path


def test_a_jar_that_is_what_its_pin_says_is_used(tmp_path: Path, pins: None) -> None:
    folder = _folder(tmp_path / "jars", b"good")
    check_jars(folder, {JAR: GOOD})
    assert find_jars(folder, ["iceberg-spark-runtime"]) == [folder / jar_name(JAR)]


def test_a_jar_that_differs_from_its_pin_is_refused(tmp_path: Path, pins: None) -> None:
    folder = _folder(tmp_path / "jars", b"bad")
    with pytest.raises(EnvironmentFault, match="but Retable expects"):
        check_jars(folder, {JAR: GOOD})
    with pytest.raises(EnvironmentFault, match="do not trust the source"):
        find_jars(folder, ["iceberg-spark-runtime"])


def test_a_missing_jar_names_the_command_that_gets_it(tmp_path: Path, pins: None) -> None:
    with pytest.raises(EnvironmentFault, match="does not have Spark's jars iceberg-spark-runtime: .*retable get-jars"):
        find_jars(tmp_path, ["iceberg-spark-runtime"])


@pytest.mark.parametrize(("content", "kept"), [(b"good", b"good"), (b"bad", b"former")])
def test_new_jars_replace_the_former_ones_if_all_are_the_pinned_ones(
    tmp_path: Path, pins: None, monkeypatch: pytest.MonkeyPatch, content: bytes, kept: bytes
) -> None:
    folder = _folder(tmp_path / "jars", b"former")
    write = f"open(f'{{w}}/jars/{jar_name(JAR)}', 'wb').write({content!r})"
    resolve = f"import os, sys; w = sys.argv[1]; assert sys.argv[2:] == [{JAR!r}]; os.mkdir(f'{{w}}/jars'); {write}"
    monkeypatch.setattr(jars, "_RESOLVE", resolve)
    if content == b"good":
        assert get_jars(folder) == 1
    else:
        with pytest.raises(EnvironmentFault, match="no jar was kept"):
            get_jars(folder)
    assert (folder / jar_name(JAR)).read_bytes() == kept
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["jars"]


def test_what_the_resolver_says_is_shown_if_it_fails(
    tmp_path: Path, pins: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_RESOLVE", "import sys; sys.exit('no such host')")
    with pytest.raises(EnvironmentFault, match="needs the network.*\\n.*no such host"):
        get_jars(tmp_path / "jars")


def test_a_folder_that_cannot_be_written_names_the_variable_for_another(tmp_path: Path, pins: None) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EnvironmentFault, match="cannot be written to .*; set RETABLE_JARS"):
        get_jars(tmp_path / "file" / "jars")
