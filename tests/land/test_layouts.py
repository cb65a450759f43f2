"""What a line becomes: a message with an address, or a message with a problem."""

import gzip
import json
from pathlib import Path

import pytest

from retable.land.objects.layouts import read_messages
from retable.model.message import RawMessage
from retable.model.window import SourceObject
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

OBJECT = 3 << 40


def read(folder: Path, layout: str, content: bytes, max_message: int = 2000) -> list[RawMessage | None]:
    erp = {"kind": "files", "format": "canal_json", "path": folder, "layout": layout, "max_message": max_message}
    settings = {"lake": {"catalog": "sqlite:////c.db", "warehouse": "/w"}, "sources": {"erp": erp}}
    source: SourceSettings = Settings.model_validate(settings).source("erp")
    (folder / "a.jsonl").write_bytes(content)
    return list(read_messages(source, SourceObject(3, "a.jsonl", "", len(content))))


def dumped(folder: Path, **record: object) -> RawMessage:
    (message,) = read(folder, "kafka_dump", json.dumps(record).encode())
    assert message is not None
    return message


def test_a_dumped_record_keeps_its_address_and_its_text(tmp_path):
    value = '{"a":1.10,  "é":"\\u0000"}'
    message = dumped(
        tmp_path, topic="t", partition=2, offset=2**62, timestamp=1795243759534, key="k", value=value,
        headers=[["h", "v"], ["h", None]], about={"note": 1}, schema=None,
    )  # fmt: skip
    headers = (("h", b"v"), ("h", None))
    assert message == RawMessage("t", 2, 2**62, 1795243759534, b"k", value.encode(), headers)


def test_key_headers_and_timestamp_may_be_absent(tmp_path):
    assert dumped(tmp_path, topic="t", partition=0, offset=0, value="v") == RawMessage("t", 0, 0, None, None, b"v")


def test_bytes_come_as_base64(tmp_path):
    message = dumped(tmp_path, topic="t", partition=0, offset=0, key_base64="AP8=", value_base64="/wA=")
    assert (message.key, message.value) == (b"\x00\xff", b"\xff\x00")


def test_headers_may_be_an_object(tmp_path):
    message = dumped(tmp_path, topic="t", partition=0, offset=0, value="", headers={"a": "é"})
    assert message.headers == (("a", "é".encode()),)


@pytest.mark.parametrize("name", ["value", "value_base64"])
def test_a_null_value_is_a_tombstone_and_not_an_empty_one(tmp_path, name):
    assert dumped(tmp_path, topic="t", partition=0, offset=0, **{name: None}).value is None
    assert dumped(tmp_path, topic="t", partition=0, offset=0, **{name: ""}).value == b""


RECORD = {"topic": "t", "partition": 0, "offset": 0, "value": "v"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}", "topic"),
        (b"[]", "array"),
        (b"null", "null"),
        (b"not json", "malformed"),
        (b'{"topic":"t","partition":0,"offset":0,"value":"v"} x', "trailing"),
        (b'{"topic":"t","partition":0,"offset":0,"value":"v"', "truncated"),
        (b'{"topic":"t","partition":0,"offset":0,"value":"\xff"}', "utf-8"),
        (b'{"topic":"t","partition":0,"offset":0,"value":"\\ud800"}', ""),
        (b"[" * 100_000, ""),
        *(
            (json.dumps(RECORD | change).encode(), said)
            for change, said in [
                ({"topic": ""}, "topic"),
                ({"partition": "0"}, "partition"),
                ({"partition": 2**31}, "partition"),
                ({"partition": -1}, "partition"),
                ({"offset": 1.5}, "offset"),
                ({"offset": 2**63}, "offset"),
                ({"timestamp": "now"}, "timestamp"),
                ({"value": {"a": 1}}, "value"),
                ({"value_base64": "AA=="}, "both value and value_base64"),
                ({"key": "k", "key_base64": "AA=="}, "both key and key_base64"),
                ({"headers": [["a"]]}, "headers"),
            ]
        ),
        (json.dumps({k: v for k, v in RECORD.items() if k != "value"}).encode(), "neither value nor value_base64"),
        (json.dumps({**RECORD, "value": None, "value_base64": "="}).encode(), "both value"),
        (b'{"topic":"t","partition":0,"offset":0,"value_base64":"*"}', "value_base64"),
    ],
)
def test_a_line_that_is_no_record_is_kept_whole_with_its_problem(tmp_path, line, said):
    ok = json.dumps(RECORD).encode()
    first, problem, last = read(tmp_path, "kafka_dump", ok + b"\n" + line + b"\n" + ok, max_message=1 << 20)
    assert first == last == RawMessage("t", 0, 0, None, None, b"v")
    assert problem is not None
    assert (problem.topic, problem.partition, problem.offset, problem.value) == ("erp", -1, OBJECT + 1, line)
    assert (problem.container_problem or "").startswith("a.jsonl, line 2: the line is not a dumped record: ")
    assert said in (problem.container_problem or "")


def test_an_empty_line_of_a_dump_is_none_and_keeps_the_numbers(tmp_path):
    messages = read(tmp_path, "kafka_dump", b"\n  \r\nx\n")
    assert messages[:2] == [None, None]
    assert messages[2] is not None
    assert messages[2].offset == OBJECT + 2


def test_a_byte_order_mark_before_a_dump_is_not_part_of_its_first_line(tmp_path):
    assert read(tmp_path, "kafka_dump", b"\xef\xbb\xbf" + json.dumps(RECORD).encode()) == [
        RawMessage("t", 0, 0, None, None, b"v")
    ]


def test_a_line_is_a_message_and_its_offset_says_object_and_line(tmp_path):
    assert read(tmp_path, "lines", b"\xef\xbb\xbfa\n\nb\xff\r\n") == [
        RawMessage("erp", 0, OBJECT, None, None, b"\xef\xbb\xbfa"),
        RawMessage("erp", 0, OBJECT + 1, None, None, b""),
        RawMessage("erp", 0, OBJECT + 2, None, None, b"b\xff"),
    ]


@pytest.mark.parametrize(("layout", "partition"), [("lines", 0), ("kafka_dump", -1)])
def test_a_line_over_max_message_becomes_a_message_with_a_problem(tmp_path, layout, partition):
    (message,) = read(tmp_path, layout, b"x" * 5000)
    assert message is not None
    assert (message.partition, message.value) == (partition, b"x" * 2000)
    assert "a.jsonl" in (message.container_problem or "")
    assert "5000 bytes" in (message.container_problem or "")


def test_the_rest_of_a_broken_object_becomes_a_message_with_a_problem(tmp_path):
    packed = gzip.compress(b"".join(b"line %d\n" % (n * n) for n in range(1000)))
    *whole, last = read(tmp_path, "lines", packed[:-20])
    assert last is not None
    assert len(whole) > 500
    assert last.offset == OBJECT + len(whole)
    assert "a.jsonl: reading ends after byte" in (last.container_problem or "")
