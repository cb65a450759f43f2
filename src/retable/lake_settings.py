"""Where the lake is: `[lake]` of the settings."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from retable.setting_values import SQLITE, CatalogAddress, Folder, GoldNamespace

BUSY_SECONDS = 30
"""How long either reader of a SQLite catalog waits for the other one's lock."""


class LakeSettings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """Where the tables are: `[lake]`."""

    catalog: CatalogAddress
    """The catalog of all tables: a SQLite file, as `sqlite:///var/lake/catalog.db`."""
    warehouse: Folder
    """The folder under which all tables keep their files."""
    gold: GoldNamespace = "gold_{database}"
    """The namespace of a gold table; `__<schema>` follows where the source has schemas."""
    case: Literal["lower", "source"] = "lower"
    """Whether gold spells tables and columns in lower case, which every engine can read, or as the source does."""

    @property
    def catalog_file(self) -> Path:
        return Path(self.catalog.removeprefix(SQLITE))

    @property
    def jdbc_uri(self) -> str:
        """The catalog as Spark reads it."""
        return f"jdbc:sqlite:{self.catalog_file}?journal_mode=WAL&busy_timeout={BUSY_SECONDS * 1000}"

    @property
    def pyiceberg_uri(self) -> str:
        """The catalog as pyiceberg reads it."""
        return f"{self.catalog}?timeout={BUSY_SECONDS}"
