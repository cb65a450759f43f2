"""A folder's objects, and whether they are still what was recorded."""

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retable.errors import ConflictError, EnvironmentFault, InvalidSetting, NotFound, PositionsLost
from retable.land.objects.files import check_object, list_objects
from retable.land.objects.grown import has_grown
from retable.land.objects.source import objects_of
from retable.model.window import SourceObject
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def source(folder: Path) -> SourceSettings:
    erp = {"kind": "files", "format": "canal_json", "path": folder, "layout": "lines"}
    lake = {"catalog": "sqlite:////lake/c.db", "warehouse": "/lake"}
    return Settings.model_validate({"lake": lake, "sources": {"erp": erp}}).source("erp")


def put(folder: Path, key: str, content: bytes = b"x\n") -> None:
    (folder / key).parent.mkdir(parents=True, exist_ok=True)
    (folder / key).write_bytes(content)


def recorded(content: bytes, key: str = "a") -> SourceObject:
    return SourceObject(0, key, hashlib.sha256(content).hexdigest(), len(content))


def test_objects_are_listed_by_name_with_folders_and_odd_names(folder, source):
    names = ["b", "2026/03/a b%2F.gz", "new\nline", "größe-😀", "empty"]
    for name in names:
        put(folder, name, b"" if name == "empty" else b"x\n")
    assert [(item.key, item.size) for item in list_objects(source)] == [
        (name, 0 if name == "empty" else 2) for name in sorted(names)
    ]


def test_what_writers_leave_around_their_files_is_not_listed(folder, source):
    for name in ("_temporary/0/part", "part.tmp", "_SUCCESS", "part.crc", ".hidden", ".git/x", "y._COPYING_", "kept"):
        put(folder, name)
    assert [item.key for item in list_objects(source)] == ["kept"]


def test_an_etag_digests_the_content_and_the_time_is_the_files(folder, source):
    put(folder, "a", b"hello")
    os.utime(folder / "a", (1_772_341_200, 1_772_341_200))
    (item,) = list_objects(source)
    assert item.etag() == hashlib.sha256(b"hello").hexdigest()
    assert item.modified == datetime(2026, 3, 1, 5, tzinfo=UTC)
    assert item.changed > item.modified


def test_a_link_out_of_the_folder_is_refused_by_name(folder, source, tmp_path):
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InvalidSetting, match=r"in/link is a link to .*/secret, outside"):
        list_objects(source)


def test_a_linked_folder_out_of_the_folder_is_refused(folder, source, tmp_path):
    (folder / "up").symlink_to(tmp_path)
    with pytest.raises(InvalidSetting, match="outside"):
        list_objects(source)


def test_a_link_to_another_object_of_the_folder_adds_nothing(folder, source):
    put(folder, "a")
    (folder / "latest").symlink_to(folder / "a")
    assert [item.key for item in list_objects(source)] == ["a"]


def test_the_folder_itself_may_be_a_link(folder, source, tmp_path):
    put(folder, "a")
    (tmp_path / "link").symlink_to(folder)
    linked = source.model_copy(update={"path": tmp_path / "link"})
    assert [item.key for item in list_objects(linked)] == ["a"]


def test_a_name_that_is_not_utf8_asks_to_rename_it(folder, source):
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_bytes(b"")
    with pytest.raises(InvalidSetting, match="not UTF-8; rename"):
        list_objects(source)


def test_a_missing_folder_is_not_found(source, folder):
    folder.rmdir()
    with pytest.raises(NotFound, match=r"sources.erp.path: there is no folder"):
        list_objects(source)


def test_an_object_that_vanishes_before_it_is_digested_says_to_try_again(folder, source):
    put(folder, "a")
    (item,) = list_objects(source)
    (folder / "a").unlink()
    with pytest.raises(ConflictError, match="in/a disappeared .* try again"):
        item.etag()


def test_an_object_that_cannot_be_read_says_so(folder, source):
    put(folder, "a")
    (item,) = list_objects(source)
    (folder / "a").unlink()
    (folder / "a").mkdir()
    with pytest.raises(EnvironmentFault, match="in/a cannot be read"):
        item.etag()


def test_a_recorded_object_that_is_the_same_or_has_only_grown_passes(folder):
    put(folder, "a", b"one\n")
    check_object(folder, recorded(b"one\n"))
    put(folder, "a", b"one\ntwo\n")
    check_object(folder, recorded(b"one\n"))


def test_an_object_that_is_gone_does_not_stop_the_window_that_landed_it(folder, source):
    put(folder, "a", b"one\ntwo\n")
    assert has_grown(objects_of(source), recorded(b"one\ntwo\n"), recorded(b"one\n"))
    (folder / "a").unlink()
    assert not has_grown(objects_of(source), recorded(b"one\ntwo\n"), recorded(b"one\n"))


@pytest.mark.parametrize("content", [b"ONE\n", b"one", b""])
def test_a_changed_object_is_lost_and_the_message_says_what_to_do(folder, content):
    put(folder, "a", content)
    with pytest.raises(PositionsLost, match=r"in/a was changed \(4 bytes were recorded, .*put the object back"):
        check_object(folder, recorded(b"one\n"))


def test_an_object_that_is_gone_is_lost(folder):
    with pytest.raises(PositionsLost, match="in/a is gone"):
        check_object(folder, recorded(b"one\n"))


def test_an_object_that_is_gone_when_it_is_opened_is_lost(source):
    with pytest.raises(PositionsLost, match="in/a is gone"), objects_of(source).open(recorded(b"one\n")):
        pass


def test_an_object_that_became_a_link_out_of_the_folder_is_lost(folder, tmp_path):
    (tmp_path / "other").write_bytes(b"one\n")
    (folder / "a").symlink_to(tmp_path / "other")
    with pytest.raises(PositionsLost):
        check_object(folder, recorded(b"one\n"))
