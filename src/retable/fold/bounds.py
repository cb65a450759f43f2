"""Decide which rows of a table count: those that are not truncated, do not wait for a hold, and are not left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from retable.model.row_event import RowEvent, row_text
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold
from retable.schema_history.shards.parts import source_part


@dataclass(frozen=True, slots=True)
class Bounds:
    """Decides which rows of a table count, which means that a fold applies them.

    A row does not count if its sequence is below the truncation point `truncated_at` (for a row of a shard, the shard's
    entry in `shard_truncations`), if it waits because of `hold`, or if it is in `skipped` (a person left it out).
    """

    truncated_at: Sequence | None
    hold: Hold | None
    skipped: frozenset[tuple[Sequence, str | None, str | None]] = frozenset()
    shard_truncations: Mapping[str, Sequence] = field(default_factory=dict)

    def verdict(self, event: RowEvent) -> str | None:
        """Return why a row does not count: `held`, `excluded` (skipped) or `voided` (truncated). None if it counts."""
        if self.hold is not None and self._is_held(event, self.hold):
            return "held"
        if self.skipped and self._is_skipped(event):
            return "excluded"
        truncated_at = self.truncated_at if event.shard is None else self.shard_truncations.get(event.shard)
        return "voided" if truncated_at is not None and event.sequence < truncated_at else None

    @staticmethod
    def _is_held(event: RowEvent, hold: Hold) -> bool:
        """Return whether a row waits. A hold of another shard does not stop it if their positions do not compare."""
        if hold.position is None:
            return True
        is_apart = event.shard is not None and hold.part is not None
        if is_apart and source_part(event.part) != source_part(hold.part):
            return False
        return event.sequence >= hold.position

    def _is_skipped(self, event: RowEvent) -> bool:
        """Return whether a person left the row out. Rows of a full load may share a sequence, so texts are compared."""
        return (event.sequence, event.part, row_text(event)) in self.skipped
