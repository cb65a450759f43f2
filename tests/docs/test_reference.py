"""The reference pages are what the code makes of them, and the tables by hand name every code that there is."""

import ast
import re
from collections.abc import Iterator
from typing import get_args

import pytest

from reference.errors import kinds_below, said
from reference.markdown import MADE
from reference.pages import ROOT, pages
from reference.settings import EXAMPLE, read_example, sections
from retable.errors import RetableError, TableError
from retable.freshness.gate import CauseCode
from retable.settings.lake import LakeSettings
from retable.settings.load import load_settings

DOCS, PAGES = ROOT / "docs", pages()


@pytest.mark.parametrize("path", PAGES)
def test_a_made_page_is_what_the_code_makes_of_it(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == PAGES[path], "run `make docs`"


def test_every_page_that_says_so_is_made() -> None:
    marked = {path for path in DOCS.rglob("*.md") if path.read_text(encoding="utf-8").startswith(MADE)}
    assert marked == {ROOT / path for path in PAGES if path.endswith(".md")}


def test_the_example_has_every_setting_and_is_accepted() -> None:
    text = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    assert len(load_settings(ROOT / EXAMPLE).sources) == 6
    assert len(list(sections())) > 12
    commented = re.findall(r"^# (\w+) = ", text, re.MULTILINE)
    assert commented == ["catalog_token_env", "catalog_credential_env"]
    for name in commented:
        lake = {"catalog": "rest+https://catalog.example/api/catalog", "warehouse": "s3://acme-lake/retable"}
        assert LakeSettings.model_validate({**lake, name: read_example(text)["lake"][name]})


def test_every_error_says_what_happened_and_what_helps() -> None:
    kinds = list(kinds_below(RetableError))
    assert len(kinds) > 30
    for kind in kinds:
        happened, helps = said(kind)
        assert happened.endswith("."), kind
        assert helps.endswith("."), kind


def test_the_page_of_causes_has_every_cause() -> None:
    assert _codes("causes.md") == sorted(get_args(CauseCode))


def test_the_page_of_holds_has_every_code_of_a_hold() -> None:
    raised = {kind.code for kind in kinds_below(TableError)}
    assert _codes("holds.md") == sorted(raised | set(_stopped()))


def _codes(page: str) -> list[str]:
    """The codes in the first column of a page's table, in their order."""
    return re.findall(r"^\| `([A-Z_]+)` \|", (DOCS / "reference" / page).read_text(encoding="utf-8"), re.MULTILINE)


def _stopped() -> Iterator[str]:
    """The codes with which src stops a table: as text, by the name of a constant, or as the code of a class."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "src").rglob("*.py"))]
    texts = dict(pair for tree in trees for pair in _constants(tree))
    for tree in trees:
        for call in ast.walk(tree):
            said: list[ast.expr] = []
            if isinstance(call, ast.Call) and _name(call.func) in ("Hold", "stop", "hold_at", "NotKeyed"):
                said = call.args
            elif isinstance(call, ast.Assign) and isinstance(call.targets[0], ast.Tuple):
                named = zip(call.targets[0].elts, getattr(call.value, "elts", []), strict=False)
                said = [value for name, value in named if _name(name) == "code"]
            for argument in said:
                code = argument.value if isinstance(argument, ast.Constant) else texts.get(_name(argument))
                if isinstance(code, str) and re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code) and len(code) > 3:
                    yield code


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str):
            yield from ((each.id, line.value.value) for each in line.targets if isinstance(each, ast.Name))


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
