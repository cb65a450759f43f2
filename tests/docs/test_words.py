"""Retired words do not come back: in the documentation, in docstrings and comments, in help and errors."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RETIRED = [
    re.compile(re.split(r" {2,}", line)[0], re.IGNORECASE)
    for line in (Path(__file__).parent / "retired_words.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
PAGES = [
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
]
MODULES = [
    path
    for room in ("src", "plugins", "jobs", "dags", "examples", "infra", "bench")
    for path in sorted((ROOT / room).rglob("*.py"))
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_no_retired_word(path: Path) -> None:
    assert _found(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_of_a_module_have_no_retired_one(path: Path) -> None:
    assert _found(_words_of(path.read_text(encoding="utf-8"))) == []


def test_a_retired_word_is_found_in_docstrings_comments_and_texts() -> None:
    code = '"""Fold anew."""\n# anew\nsay(f"{1} anew", "a", "anew")\nanew = 1\n'
    assert _found(_words_of(code)) == [(1, "anew"), (3, "anew"), (2, "anew")]


def _words_of(code: str) -> Iterator[tuple[int, str]]:
    """Give the texts of a module with their lines: string literals that are more than a name, then comments."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip("\n"):
            yield node.lineno, " ".join(node.value.split())
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _found(lines: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(number, found[0]) for number, line in lines for word in RETIRED if (found := word.search(line))]
