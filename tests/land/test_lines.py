"""Lines come out whole, bounded, and with a word for what is missing."""

import gzip
import io
import zlib
from collections.abc import Iterable
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from retable.land.objects.lines import Damage, ObjectLimits, ObjectLine, read_content, read_lines

WIDE = ObjectLimits(unpacked=1 << 40, ratio=1 << 20, lines=1 << 40)


def lines(content: bytes, longest: int = 1000, bounds: ObjectLimits = WIDE) -> list[ObjectLine]:
    return list(read_lines(read_content(io.BytesIO(content), len(content), bounds), longest))


def values(content: bytes) -> list[bytes]:
    found = lines(content)
    assert [line.number for line in found] == list(range(len(found)))
    assert not any(line.problem for line in found)
    return [line.value for line in found]


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


PACKERS = [bytes, gzip.compress, zstd]


@pytest.mark.parametrize("pack", PACKERS)
def test_a_last_line_without_an_end_counts_and_an_empty_object_has_none(pack):
    assert values(pack(b"a\nb")) == values(pack(b"a\nb\n")) == [b"a", b"b"]
    assert values(pack(b"")) == []
    assert values(pack(b"\n\n")) == [b"", b""]


def test_a_line_ends_at_lf_or_crlf_and_keeps_every_other_byte():
    assert values(b"a\r\nb\rc\n\r\r\n\xff\x00") == [b"a", b"b\rc", b"\r", b"\xff\x00"]


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_several_members_are_one_content(pack):
    assert values(pack(b"a\nb") + pack(b"c\n") + pack(b"") + pack(b"d")) == [b"a", b"bc", b"d"]


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(0, 500), max_size=5))
def test_where_blocks_are_cut_makes_no_difference(parts, cuts):
    content = b"\n".join(parts)
    places = sorted({0, *(min(cut, len(content)) for cut in cuts), len(content)})
    blocks: Iterable[bytes] = (content[a:b] for a, b in pairwise(places))
    expected = content.split(b"\n")[: -1 if content.endswith(b"\n") or not content else None]
    assert [line.value for line in read_lines(blocks, 1000)] == [part.removesuffix(b"\r") for part in expected]


def test_of_a_longer_line_the_beginning_is_kept_and_its_length_and_place_are_told():
    first, long, last = lines(b"ok\n" + b"x" * 2500 + b"\nok", longest=1000)
    assert (first.problem, last) == (None, ObjectLine(2, b"ok"))
    assert long.value == b"x" * 1000
    assert "has 2500 bytes, but max_message is 1000" in (long.problem or "")
    assert "begins at byte 3 " in (long.problem or "")


def test_a_line_as_long_as_allowed_is_whole():
    assert values(b"x" * 1000 + b"\n" + b"y" * 1000) == [b"x" * 1000, b"y" * 1000]


def test_a_long_line_is_read_in_bounded_memory():
    blocks = (b"x" * 1000 for _ in range(10_000))
    (line,) = read_lines(blocks, 5000)
    assert len(line.value) == 5000
    assert "10000000 bytes" in (line.problem or "")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_truncated_object_gives_what_is_whole_and_then_one_line_that_says_where(pack):
    content = b"".join(b"%d line %d\n" % (n * n, n) for n in range(50_000))
    packed = pack(content)
    *whole, last = lines(packed[: len(packed) * 2 // 3])
    kept = b"".join(line.value + b"\n" for line in whole) + last.value
    assert len(whole) > 10_000
    assert content.startswith(kept)
    assert f"reading ends after byte {len(kept)} of the content: " in (last.problem or "")


@pytest.mark.parametrize("damage", [3, 5, -1])
def test_a_damaged_gzip_says_so(damage):
    packed = bytearray(gzip.compress(b"hello\n" * 1000))
    packed[damage if damage < 0 else len(packed) - 8 - damage] ^= 0xFF
    *_, last = lines(bytes(packed))
    assert "ends after byte" in (last.problem or "")


def test_rubbish_after_a_gzip_says_so_after_the_content():
    *whole, last = lines(gzip.compress(b"a\nb\n") + b"rubbish")
    assert [line.value for line in whole] == [b"a", b"b"]
    assert (last.value, bool(last.problem)) == (b"", True)


def test_what_is_not_packed_is_read_as_it_is_whatever_its_name_says():
    assert values(b"plain\n") == [b"plain"]


def test_what_was_appended_after_recording_is_not_read():
    assert list(read_content(io.BytesIO(b"one\ntwo\n"), 4, WIDE)) == [b"one\n"]


def test_a_small_object_that_unpacks_to_much_is_read_in_blocks():
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    blocks = list(read_content(io.BytesIO(packed), len(packed), WIDE))
    assert not any(isinstance(block, Damage) for block in blocks)
    assert max(map(len, blocks)) <= 1 << 18
    squeezed = zstd(bytes(64 << 20))
    assert max(map(len, read_content(io.BytesIO(squeezed), len(squeezed), WIDE))) <= 8 << 20


BOMBS = {
    "max_unpacked": (b"x" * 999 + b"\n", 2000, ObjectLimits(unpacked=1 << 20, ratio=1 << 20, lines=1 << 40)),
    "max_ratio": (b"x" * 99_999 + b"\n", 12_000, ObjectLimits(unpacked=1 << 40, ratio=100, lines=1 << 40)),
    "max_lines": (b"x" * 99 + b"\n", 20_000, ObjectLimits(unpacked=1 << 40, ratio=1 << 20, lines=10_000)),
    "these are not messages": (b"\n", 2_000_000, WIDE),
}


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("bound", BOMBS)
def test_an_object_that_breaks_a_bound_breaks_off_there_and_names_the_setting(pack, bound):
    line, times, bounds = BOMBS[bound]
    *whole, last = lines(pack(line * times), 100_000, bounds)
    assert bound in (last.problem or "")
    assert len(whole) < times
    assert {found.value for found in whole} <= {line.removesuffix(b"\n")}


def test_what_is_not_packed_has_a_bound_of_lines_alone():
    bounds = ObjectLimits(unpacked=1, ratio=1, lines=200_000)
    assert len(lines(b"\n" * 200_000, bounds=bounds)) == 200_000
    *_, last = lines(b"\n" * 400_000, bounds=bounds)
    assert "max_lines" in (last.problem or "")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_honest_messages_that_pack_best_are_within_the_bounds(pack):
    """Debezium JSON with schemas, 300:1, and an hour of canaries: nothing of them is cut."""
    bounds = ObjectLimits(unpacked=16 << 30, ratio=1000, lines=50_000_000)
    schema = b"{" + b",".join(b'"column_%d":{"type":"int64","optional":false}' % n for n in range(80)) + b"}"
    debezium = [b'{"schema":%b,"payload":{"id":%d,"ts_ms":%d}}' % (schema, n, n * 137) for n in range(20_000)]
    times = ((n // 3600 % 24, n // 60 % 60, n % 60) for n in range(200_000))
    canaries = [b'{"id":"1","ts":"2026-11-25 %02d:%02d:%02d"}' % each for each in times]
    for messages in (debezium, canaries):
        assert [line.value for line in lines(pack(b"\n".join(messages)), 100_000, bounds)] == messages
