"""Files of a lake that a disk lost, cut short or changed."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

Damage = Callable[[Path], None]


def lose(path: Path) -> None:
    path.unlink()


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def flip(path: Path) -> None:
    """Change one byte in a page of every column of a data file, or near the beginning of any other file."""
    content = bytearray(path.read_bytes())
    for place in _pages(path) if path.suffix == ".parquet" else [16]:
        content[place] ^= 0x01
    path.write_bytes(content)


def _pages(path: Path) -> list[int]:
    """Where the last byte of the last page of each column stands."""
    metadata = pq.read_metadata(path)
    group = metadata.row_group(0)
    columns = (group.column(at) for at in range(group.num_columns))
    starts = ((c.dictionary_page_offset or c.data_page_offset, c.total_compressed_size) for c in columns)
    return [start + size - 1 for start, size in starts]


WAYS = {"missing": lose, "truncated": cut_short, "flipped": flip}


def damage_all(files: list[Path], damage: Damage) -> None:
    """Damage files; there is at least one."""
    assert files
    for path in files:
        damage(path)
