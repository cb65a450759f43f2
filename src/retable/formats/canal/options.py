"""Settings of a source that only `canal_json` reads."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from retable.formats.options import FormatOptions


class CanalDialect(BaseModel, frozen=True, extra="forbid"):
    """Where rows stand in messages of DTS from an offset on: an entry of `canal_dialect`."""

    from_offset: Annotated[int, Field(strict=True, ge=0)]
    """The offset of the first message of the dialect."""
    dialect: Literal["community", "dts_pre_20220320"]
    """`dts_pre_20220320` is what instances of DTS write that nobody restarted since that day."""
    partition: Annotated[int, Field(strict=True, ge=0)] | None = None
    """The partition whose offset this is; none: every partition for which no entry is."""


class CanalOptions(FormatOptions, frozen=True):
    """Options of `canal_json`."""

    canal_dialect: tuple[CanalDialect, ...] = ()
    """Where rows stand in messages of DTS, as `[{from_offset = 0, dialect = "dts_pre_20220320"}]`; not set: as in
    Canal."""

    @model_validator(mode="after")
    def _check_dialects(self) -> Self:
        starts = [(each.partition, each.from_offset) for each in self.canal_dialect]
        if len(set(starts)) != len(starts):
            raise ValueError("two entries of canal_dialect begin at one offset; keep one of them")
        return self
