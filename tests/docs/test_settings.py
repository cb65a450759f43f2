"""Settings that the documentation shows are accepted, and Add a source has every format."""

import re
from pathlib import Path

import pytest

from retable.formats.registry import FORMATS
from retable.settings.load import load_settings

ROOT = Path(__file__).resolve().parents[2]
WHOLE = [
    (str(path.relative_to(ROOT)), text)
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for text in re.findall(r"^```toml\n(\[lake\]\n.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if "[sources." in text
]


@pytest.mark.parametrize(("page", "text"), WHOLE)
def test_a_settings_file_of_the_documentation_is_accepted(page: str, text: str, tmp_path: Path) -> None:
    settings = tmp_path / "retable.toml"
    settings.write_text(text, encoding="utf-8")
    assert load_settings(settings).sources


def test_add_a_source_has_a_settings_file_for_each_format() -> None:
    page = "".join(text for page, text in WHOLE if page == "docs/how-to/sources.md")
    shown = re.findall(r'^format += "(\w+)"', page, re.MULTILINE)
    assert sorted(shown) == sorted(FORMATS)
