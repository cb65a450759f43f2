"""A small simulated shop on a lake of any kind: its messages, its settings, its windows, and its truth."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import demo_shop
from retable.ledger.lake.catalog import Lake, open_lake
from retable.settings.load import Settings, load_settings
from servers.stores import REGION, client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = datetime(2026, 3, 1, 5, tzinfo=UTC)
NOW = FIRST + timedelta(hours=demo_shop.HOURS, minutes=10)
STAGES = ("land", "decode", "replay")

_LAKE = """
[lake]
catalog = "{catalog}"
warehouse = "{warehouse}"
{proofs}
[lake.s3]
endpoint = "http://127.0.0.1:{store}"
region = "{region}"
{keys}"""
_KEYS = """\
access_key_env = "LAKE_KEY"
secret_key_env = "LAKE_SECRET"
"""
_SOURCE = """
[sources.shop]
kind = "files"
format = "streamx_json"
path = "{path}"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'

[tables."webshop.customers"]
types = {{ id = "decimal(20,0)", born = "date", balance = "decimal(30,10)", active = "int" }}

[tables."webshop.stock"]
types = {{ seen = "timestamptz" }}
"""


@dataclass(frozen=True)
class Place:
    """Where a lake is: its catalog and warehouse as settings write them, and the port of the store of S3."""

    catalog: str
    warehouse: str
    store: int
    proofs: str = ""


def lake_text(place: Place) -> str:
    """The settings of a lake at a place; Glue has keys by AWS's ways."""
    keys = "" if place.catalog.startswith("glue") else _KEYS
    return _LAKE.format(**asdict(place), region=REGION, keys=keys)


def settings_text(place: Place, source: str) -> str:
    """The settings of a lake at a place, and of the shop whose objects are at `source`."""
    return lake_text(place) + _SOURCE.format(path=source)


@dataclass(frozen=True)
class LakeShop:
    """The shop's messages as objects of a source, and a lake that has none of them yet."""

    folder: Path
    settings: Settings

    @cached_property
    def lake(self) -> Lake:
        return open_lake(self.settings)

    @property
    def file(self) -> Path:
        return self.folder / "retable.toml"

    def windows(self) -> list[str]:
        from recorded import record_windows
        from retable.land.objects.files import list_objects

        source = self.settings.source("shop")
        end = FIRST + timedelta(hours=demo_shop.HOURS)
        return [window.name for window in record_windows(self.lake, source, lambda: list_objects(source), end, NOW)]

    def run(self, spark: "SparkSession", window: str, run: str = "run") -> None:
        """Land, decode and replay one window."""
        for stage in STAGES:
            self.run_stage(spark, stage, window, run)

    def run_stage(self, spark: "SparkSession", stage: str, window: str, run: str) -> None:
        from retable.decode.spark import decode
        from retable.land.spark import land_window
        from retable.replay.spark import replay

        act = {"land": land_window, "decode": decode, "replay": replay}[stage]
        act(spark, self.lake, self.settings.source("shop"), window, f"{run}-{stage}", NOW)

    def differences(self) -> dict[str, list[str]]:
        """What of gold is not as it is in the shop, read by pyiceberg."""
        return demo_shop.differences(self.lake, demo_shop.play(FIRST).truth())


def shop_at(folder: Path, place: Place, bucket: str | None = None) -> LakeShop:
    """Write the shop's messages and the settings: into a folder, or into a bucket of the place's store."""
    landing = folder / "landing"
    landing.mkdir()
    demo_shop.write_landing(landing, FIRST)
    source = str(landing)
    if bucket is not None:
        source = f"s3://{bucket}/landing"
        for file in landing.iterdir():
            client(place.store).upload_file(str(file), bucket, f"landing/{file.name}")
    path = folder / "retable.toml"
    path.write_text(settings_text(place, source), encoding="utf-8")
    return LakeShop(folder, load_settings(path))
