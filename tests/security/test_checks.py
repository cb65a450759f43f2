"""SECURITY.md shows the checks of checks.toml, and the tests that they name are there."""

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
SECURITY = TESTS.parent / "SECURITY.md"
CHECKS: list[dict[str, Any]] = tomllib.loads((TESTS / "security" / "checks.toml").read_text("utf-8"))["check"]


def table() -> str:
    """The checks as a table of Markdown."""
    lines = ["| | what must hold | held by |", "|---|---|---|"]
    for number, check in enumerate(CHECKS, 1):
        held = ", ".join(f"`tests/{test}`" for test in check.get("tests", ()))
        lines.append(f"| {number} | {check['what']} | {' '.join(filter(None, (held, check.get('why'))))} |")
    return "\n".join(lines)


@cache
def functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)}


def test_security_shows_every_check() -> None:
    assert len(CHECKS) == 28
    assert table() in SECURITY.read_text("utf-8"), f"the table of SECURITY.md is another; it is to be:\n{table()}"


@pytest.mark.parametrize("check", CHECKS, ids=[check["what"] for check in CHECKS])
def test_a_check_names_tests_that_are_there_or_says_why_it_has_none(check: dict[str, Any]) -> None:
    assert check.keys() <= {"what", "tests", "why"}
    assert check.get("tests") or len(check["why"]) > 60
    for test in check.get("tests", ()):
        path, _, name = test.partition("::")
        assert name in functions(TESTS / path), test
