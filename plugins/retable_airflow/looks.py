"""Shares recent reads of the lake between the sensors of a triggerer, because many sensors wait for a few sources."""

from collections import defaultdict
from collections.abc import Sequence
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from retable.errors import NotFound
from retable_airflow.lakes import lake_of

if TYPE_CHECKING:
    from retable.freshness.watermark import SourceLine

KEPT_SECONDS = 10.0
"""For how many seconds sensors share one read of a source: a sixth of the default time between two checks."""


class Looks:
    """A cache of how complete sources are (`SourceLine`), for all threads. An entry is used for `kept` seconds."""

    def __init__(self, kept: float = KEPT_SECONDS) -> None:
        self._kept = kept
        self._sources: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str, str], tuple[float, SourceLine]] = {}
        self._locks: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)

    def lines(self, settings: str, names: Sequence[str]) -> "list[SourceLine] | None":
        """Return how complete each source of these names is. A name is a gold table or a source.

        `settings` is the address of the settings. Return None if a table does not exist yet. NotFound if the settings
        do not have a source.
        """
        sources = set()
        for name in sorted(names, key=_is_table):
            try:
                sources.add(self._source(settings, name))
            except NotFound:
                if not _is_table(name):
                    raise
                return None
        return [self._line(settings, source) for source in sources]

    def _source(self, settings: str, name: str) -> str:
        from retable.freshness.catalog import source_of

        if (known := self._sources.get((settings, name))) is not None:
            return known
        with lake_of(settings) as lake:
            return self._sources.setdefault((settings, name), source_of(lake, name).name)

    def _line(self, settings: str, source: str) -> "SourceLine":
        from retable.freshness.catalog import read_line

        with self._locks[settings, source]:
            at, line = self._seen.get((settings, source), (0.0, None))
            if line is None or monotonic() - at > self._kept:
                with lake_of(settings) as lake:
                    line = read_line(lake, lake.settings.source(source))
                self._seen[settings, source] = (monotonic(), line)
            return line


def _is_table(name: str) -> bool:
    return "." in name
