"""Settings of a source that only `canal_json` reads."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from retable.formats.options import FormatOptions


class CanalDialect(BaseModel, frozen=True, extra="forbid"):
    """An entry of `canal_dialect`: the layout of DTS's messages from an offset on."""

    from_offset: Annotated[int, Field(strict=True, ge=0)]
    """The offset of the first message of this layout."""
    dialect: Literal["community", "dts_pre_20220320"]
    """`community`: the layout of Canal. `dts_pre_20220320`: the layout of DTS instances that were not restarted since
    2022-03-20."""
    partition: Annotated[int, Field(strict=True, ge=0)] | None = None
    """The partition of the offset. Not set: all partitions that no other entry names."""


class CanalOptions(FormatOptions, frozen=True):
    """Settings that only `canal_json` reads."""

    canal_dialect: tuple[CanalDialect, ...] = ()
    """The layout of messages from DTS, as `[{from_offset = 0, dialect = "dts_pre_20220320"}]`. Not set: the layout
    of Canal."""

    @model_validator(mode="after")
    def _check_dialects(self) -> Self:
        starts = [(each.partition, each.from_offset) for each in self.canal_dialect]
        if len(set(starts)) != len(starts):
            raise ValueError("two entries of canal_dialect begin at the same offset of a partition; keep one")
        return self
