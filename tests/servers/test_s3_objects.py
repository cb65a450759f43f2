"""The objects of a bucket as a source's: listed, read, and found again unchanged, whatever the store does meanwhile."""

import gzip
import pickle
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import zstandard

from retable.errors import ConflictError, EnvironmentFault, NotFound, PositionsLost, Unavailable
from retable.land.objects import buckets
from retable.land.objects.files import list_objects
from retable.land.objects.layouts import read_messages
from retable.land.objects.source import objects_of
from retable.ledger.windows.objects import FoundObject, plan_windows
from retable.model.window import SourceObject
from retable.settings.load import Settings
from retable.settings.sources import FilesSource
from servers.processes import Process
from servers.proxy import Proxy
from servers.stores import REGION, SECRET, client

NOW = datetime.now(UTC)
GET = re.compile(rb"^GET /[^? ]+/erp/")
LIST = re.compile(rb"^GET /[^ ]*list-type=2")


@pytest.fixture
def proxy(store: Process) -> Iterator[Proxy]:
    with Proxy(store.port) as passing:
        yield passing


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "ATTEMPTS", 4)
    monkeypatch.setattr(buckets, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01)


@pytest.fixture
def put(store: Process, bucket: str) -> Callable[[str, bytes], None]:
    def put(key: str, content: bytes) -> None:
        client(store.port).put_object(Bucket=bucket, Key=f"erp/{key}", Body=content)

    return put


@pytest.fixture
def source(proxy: Proxy, bucket: str) -> FilesSource:
    return source_of(bucket, proxy.port)


def source_of(bucket: str, port: int, **more: object) -> FilesSource:
    keys = {"access_key_env": "LAKE_KEY", "secret_key_env": "LAKE_SECRET"}
    lake = {
        "catalog": "sqlite:////c.db",
        "warehouse": "/w",
        "s3": {"endpoint": f"http://127.0.0.1:{port}", "region": REGION, **keys},
    }
    erp = {"kind": "files", "format": "canal_json", "layout": "lines", "path": f"s3://{bucket}/erp", **more}
    source = Settings.model_validate({"lake": lake, "sources": {"erp": erp}}).source("erp")
    assert isinstance(source, FilesSource)
    return source


def recorded(found: FoundObject, number: int = 0) -> SourceObject:
    return SourceObject(number, found.key, found.etag(), found.size)


def lines(source: FilesSource, found: FoundObject) -> list[bytes | None]:
    return [message and message.value for message in read_messages(source, recorded(found))]


def test_objects_are_listed_under_the_prefix_by_name(source, put, bucket, store):
    for key in ("b/2.jsonl", "a.jsonl", "b/1.jsonl"):
        put(key, b"x\n")
    client(store.port).put_object(Bucket=bucket, Key="erp2/not-ours.jsonl", Body=b"x")
    found = list_objects(source)
    assert [(item.key, item.size) for item in found] == [("a.jsonl", 2), ("b/1.jsonl", 2), ("b/2.jsonl", 2)]
    assert all(NOW - timedelta(minutes=5) < item.modified < NOW + timedelta(minutes=30) for item in found)


def test_what_writers_leave_and_consoles_make_is_left_out(source, put):
    for key in ("_temporary/0/part", "_SUCCESS", "a/.hidden", ".staging/x", "b.tmp", "c.crc", "d._COPYING_", "folder/"):
        put(key, b"" if key.endswith("/") else b"x")
    put("kept", b"x")
    assert [item.key for item in list_objects(source)] == ["kept"]


ODD = ["a b", "a+b", "a%2Fb", "ü/日本/🙂", "tab\tname", "q?x=1&y#z", "'\"\\", "~", "=", "a/"]


def test_names_that_are_no_paths_are_read_by_their_exact_key(source, put):
    for key in ODD:
        put(key, f"{key}!".encode())
    found = list_objects(source)
    assert [item.key for item in found] == sorted(ODD)
    assert [lines(source, item) for item in found] == [[f"{key}!".encode()] for key in sorted(ODD)]


@pytest.fixture(scope="module")
def many(store: Process) -> str:
    """A bucket of more objects than a page of a listing has."""
    s3 = client(store.port)
    s3.create_bucket(Bucket="many-objects")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: s3.put_object(Bucket="many-objects", Key=f"erp/{number:05}"), range(1005)))
    return "many-objects"


def test_more_objects_than_a_page_has_are_all_listed(many, proxy):
    found = list_objects(source_of(many, proxy.port))
    assert [item.key for item in found] == [f"{number:05}" for number in range(1005)]
    assert sum(b"list-type=2" in line for line in proxy.seen) == 2


def test_an_upload_in_parts_that_is_not_complete_is_not_there(source, put, bucket, store):
    s3 = client(store.port)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="erp/parts")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="erp/parts", UploadId=upload, PartNumber=1, Body=b"one\n")
    assert list_objects(source) == []
    done = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(Bucket=bucket, Key="erp/parts", UploadId=upload, MultipartUpload=done)
    (found,) = list_objects(source)
    assert lines(source, found) == [b"one"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_objects_are_unpacked_by_what_they_begin_with(source, put, pack):
    put("a", pack(b"one\ntwo\n"))
    (found,) = list_objects(source)
    assert lines(source, found) == [b"one", b"two"]


def test_an_object_that_is_replaced_is_another_one(source, put):
    put("a", b"one\n")
    (first,) = list_objects(source)
    windows = plan_windows(source, [], [first], NOW + timedelta(hours=2), NOW)
    assert [item.key for window in windows for item in window.objects] == ["a"]
    put("a", b"uno\n")
    (second,) = list_objects(source)
    more = plan_windows(source, windows, [second], NOW + timedelta(hours=4), NOW)
    assert [item for window in more for item in window.objects] == [recorded(second, ~1)]


def test_an_object_that_has_grown_keeps_its_number_if_its_etag_tells(source, put):
    put("a", b"one\n")
    (first,) = list_objects(source)
    windows = plan_windows(source, [], [first], NOW + timedelta(hours=2), NOW)
    put("a", b"one\ntwo\n")
    (grown,) = list_objects(source)
    more = plan_windows(source, windows, [grown], NOW + timedelta(hours=4), NOW)
    assert [item for window in more for item in window.objects] == [recorded(grown)]
    assert not grown.has_grown(recorded(grown))
    put("a", b"uno\ntwo\n")
    (changed,) = list_objects(source)
    assert not changed.has_grown(recorded(first))
    assert not grown.has_grown(replace(recorded(first), etag=f"{first.etag()}-2"))


def test_an_object_that_is_replaced_while_its_versions_are_compared_says_to_try_again(source, put):
    put("a", b"one\ntwo\n")
    (found,) = list_objects(source)
    put("a", b"uno\n")
    with pytest.raises(ConflictError, match="erp/a was replaced or removed .* try again"):
        found.has_grown(SourceObject(0, "a", "0" * 32, 4))


@pytest.mark.parametrize(("content", "said"), [(b"uno\n", "is another object now"), (None, "is gone")])
def test_an_object_that_was_recorded_and_is_not_there_as_it_was_is_lost(source, put, bucket, store, content, said):
    put("a", b"one\n")
    (found,) = list_objects(source)
    if content is None:
        client(store.port).delete_object(Bucket=bucket, Key="erp/a")
    else:
        put("a", content)
    with pytest.raises(PositionsLost, match=f"s3://{bucket}/erp/a {said}"):
        objects_of(source).check([recorded(found)])
    with pytest.raises(PositionsLost, match=said):
        lines(source, found)


def test_an_object_that_is_replaced_while_it_is_read_is_lost(source, put, monkeypatch):
    put("a", b"first\n" * 200_000)
    (found,) = list_objects(source)
    with objects_of(source).open(recorded(found)) as content:
        assert content.read(5) == b"first"
        put("a", b"other\n" * 200_000)
        content._body.close()  # type: ignore[attr-defined]  # a connection that breaks
        content._body = None  # type: ignore[attr-defined]
        with pytest.raises(PositionsLost, match="is another object now"):
            content.read(100)


BIG = b"".join(b"%07d\n" % number for number in range(400_000))


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"status": 503}, {"reset": True}, {"cut": 1_000_000}, {"cut": 200}, {"lose": True}],
    ids=lambda fault: "-".join(map(str, *fault.items())),
)
def test_a_read_that_breaks_is_taken_up_where_it_broke(source, put, proxy, fault):
    put("a", BIG)
    (found,) = list_objects(source)
    with proxy.doing(match=GET, times=3, **fault) as done:
        assert b"".join(b"%s\n" % line for line in lines(source, found)) == BIG
    assert done.done == 3


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"reset": True}, {"cut": 300}], ids=str)
def test_a_listing_that_breaks_is_asked_for_again(many, proxy, fault):
    with proxy.doing(match=LIST, times=3, **fault) as done:
        assert len(list_objects(source_of(many, proxy.port))) == 1005
    assert done.done == 3


def test_a_store_that_stays_unwell_is_no_silence(source, put, proxy):
    put("a", BIG)
    (found,) = list_objects(source)
    with proxy.doing(match=GET, times=10**6, lose=True), pytest.raises(Unavailable):
        lines(source, found)
    with proxy.doing(match=LIST, times=10**6, status=503), pytest.raises(Unavailable, match="does not work now: .*503"):
        list_objects(source)


def test_a_store_that_is_away_says_to_try_again(bucket):
    with pytest.raises(Unavailable, match="does not answer: .* run the command again when the store is up"):
        list_objects(source_of(bucket, 1))


def test_a_bucket_that_is_not_there_says_so(proxy):
    with pytest.raises(NotFound, match="s3://no-such-bucket/erp: there is no such bucket; make it, or correct"):
        list_objects(source_of("no-such-bucket", proxy.port))


def test_a_store_that_refuses_says_what_the_keys_need(source, proxy):
    with proxy.doing(match=LIST, status=403), pytest.raises(EnvironmentFault, match="does not allow that \\(403\\)"):
        list_objects(source)


def test_workers_have_the_keys_and_nothing_shows_them(source, put, monkeypatch):
    put("a", b"one\n")
    (found,) = list_objects(source)
    objects = objects_of(source)
    assert SECRET not in repr(objects)
    monkeypatch.delenv("LAKE_SECRET")
    there = pickle.loads(pickle.dumps(objects))
    assert [message.value for message in read_messages(source, recorded(found), there)] == [b"one"]
    with pytest.raises(EnvironmentFault, match="LAKE_SECRET"):
        objects_of(source)
