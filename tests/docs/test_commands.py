"""Every command of the documentation is one that the command line takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from retable.cli.commands import COMMANDS, load_command

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]

STANDS_FOR = {
    "T": "2026-03-01T05:00:00Z",
    "W": "20260301T0500Z",
    "N": "3",
    "K/N": "1/16",
    "STATE": "now",
    "GRADE": "row",
}
"""Words of the pages that stand for a value which has a form."""

_LINE = re.compile(r"^\s*(?:\.?venv/bin/)?(retable [^\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"`(?:\.venv/bin/)?(retable [a-z-][^`\n]*)`")


def commands() -> list[tuple[str, str, bool]]:
    """Every command of the pages with its page, and whether it is whole: a line of a block, no words in a sentence."""
    return sorted({(str(path.relative_to(ROOT)), *found) for path in PAGES for found in _commands_of(path)})


def _commands_of(path: Path) -> Iterator[tuple[str, bool]]:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```\w*\n(.*?)^```|((?:^ {4}.*\n)+)", text, re.MULTILINE | re.DOTALL)
    for block in ("".join(found) for found in blocks):
        for line in _LINE.findall(block):
            yield re.split(r"\s{2,}|\s#\s", line)[0].strip(), "made by" not in text.splitlines()[0].lower()
    yield from ((line, False) for line in _INLINE.findall(text))


def test_the_pages_have_commands() -> None:
    assert sum(is_whole for _, _, is_whole in commands()) > 50
    assert len(commands()) > 150


@pytest.mark.parametrize(("page", "line", "is_whole"), commands())
def test_a_command_of_the_documentation_is_taken(page: str, line: str, is_whole: bool) -> None:
    words = [STANDS_FOR.get(word, word) for word in shlex.split(line)[1:] if word not in ("…", "...")]
    check(words, is_whole)


def check(words: list[str], is_whole: bool) -> None:
    """Check that the command is there, and each of its options; a whole one is parsed, with all of its values."""
    ahead = {"--settings": 2, "--debug": 1, "--version": 1, "--help": 1}
    while words and words[0] in ahead:
        words = words[ahead[words[0]] :]
    if not words:
        return
    name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
    assert name in COMMANDS, f"there is no command {name!r}"
    command, rest = load_command(name), words[len(name.split()) :]
    inner = getattr(command, "commands", None)
    if inner is not None:
        if not rest:
            return
        assert rest[0] in inner, f"there is no command {name} {rest[0]!r}"
        command, rest = inner[rest[0]], rest[1:]
    options = {option for each in command.params for option in [*each.opts, *each.secondary_opts]}
    given = [word.partition("=")[0] for word in rest if word.startswith("--")]
    assert [word for word in given if word not in options | {"--help"}] == []
    if is_whole:
        command.make_context(name, rest)
