"""One table of a timeline while it is being traced."""

from collections import Counter
from dataclasses import dataclass, field, replace

from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.replay.history import AppliedChange, Column, Epoch, Hold, NameSpan, TableHistory


@dataclass(frozen=True, slots=True)
class ImplicitColumn:
    """A column that images bring though no statement told of it; it stands from the start of its first epoch."""

    identity: str
    epoch_start: Sequence | None
    name: str
    source_type: str | None
    type: GoldType


@dataclass(slots=True)
class TracedTable:
    """A history while it is being traced.

    `left` counts how often a column name was dropped or renamed away; `renamed` gives the identity of a column that no
    image has brought yet by the name that a statement gave it.
    """

    identity: str
    spans: list[NameSpan]
    epochs: list[Epoch]
    implicit: dict[Sequence | None, list[ImplicitColumn]]
    voids: list[tuple[Sequence, bool]] = field(default_factory=list)
    hold: Hold | None = None
    changes: list[AppliedChange] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    renamed: dict[str, str] = field(default_factory=dict)
    key_sets: list[Sequence] = field(default_factory=list)
    saved: tuple[Sequence, list[Epoch], list[tuple[Sequence, bool]], list[AppliedChange]] | None = None

    @property
    def dropped(self) -> bool:
        return bool(self.voids) and self.voids[-1][1]

    def save(self, position: Sequence) -> None:
        """Remember the table as it is before a statement, which is taken wholly or not at all."""
        if self.saved is None or self.saved[0] != position:
            self.saved = (position, list(self.epochs), list(self.voids), list(self.changes))

    def undo(self, position: Sequence) -> None:
        if self.saved is not None and self.saved[0] == position:
            _, self.epochs, self.voids, self.changes = self.saved
            self.key_sets = [at for at in self.key_sets if at != position]

    def begin(self, epoch: Epoch) -> None:
        """Start an epoch, or change the one that the same statement began."""
        if self.epochs and self.epochs[-1].start == epoch.start:
            self.epochs[-1] = epoch
        else:
            self.epochs.append(epoch)

    def complete(self) -> None:
        """Put the columns that images are known to bring in the last epoch behind the told ones."""
        epoch = self.epochs[-1]
        for seen in self.implicit.get(epoch.start, []):
            if epoch.column(seen.name) is None:
                column = Column(self.identify(seen.name), seen.name, seen.source_type, seen.type)
                epoch = replace(epoch, columns=(*epoch.columns, column))
        self.epochs[-1] = epoch

    def identify(self, name: str) -> str:
        """The identity of a column that no statement told of, by the name that it has now."""
        wanted = name.lower()
        return self.renamed.get(wanted) or f"i:{wanted}:{self.left[wanted]}"

    def leave(self, name: str, to: str | None) -> None:
        """Note that a column name is free again; `to` is what the column is called now."""
        identity = self.identify(name)
        self.left[name.lower()] += 1
        self.renamed.pop(name.lower(), None)
        if to is not None and self.epochs[-1].column(name) is None:
            self.renamed[to.lower()] = identity

    def freeze(self) -> TableHistory:
        return TableHistory(
            self.identity,
            tuple(self.spans),
            tuple(self.epochs),
            tuple(self.voids),
            self.hold,
            tuple(self.changes),
            tuple(self.key_sets),
        )
