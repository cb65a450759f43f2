"""What a format cannot tell is told twice, to readers of the docs and in settings that are begun: in the same words."""

import re
from pathlib import Path

import pytest

from retable.formats.registry import FORMATS

DOCS = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
SECTION = "### What the format cannot tell\n\n"


def documented(name: str) -> tuple[str, ...]:
    section = DOCS.split(f"\n## {name}\n")[1].split("\n## ")[0]
    if SECTION not in section:
        assert "what the format cannot tell are [as there]" in section
        return documented("streamx_json")
    bullets = re.split(r"^- ", section.split(SECTION)[1].split("\n\n")[0], flags=re.MULTILINE)
    return tuple(" ".join(bullet.split()) for bullet in bullets[1:])


@pytest.mark.parametrize("name", FORMATS)
def test_the_docs_and_the_settings_say_the_same_of_what_a_format_cannot_tell(name: str) -> None:
    assert documented(name) == FORMATS[name].cannot_tell != ()
