"""Where a run dies."""

from dataclasses import dataclass

from laws.world import Crash


@dataclass(slots=True)
class Seam:
    """Dies at the `left`th step that it is told of."""

    left: int

    def __call__(self, step: str) -> None:
        self.left -= 1
        if not self.left:
            raise Crash(step)
