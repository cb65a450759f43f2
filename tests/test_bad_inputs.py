"""All kinds of bad input are told: each has a test that runs, or says to a user why there is none.

Classes A to C have their cases in tests/formats and tests/land; D to F are listed in bad_inputs.jsonl, one a line:
`outcome` is OK for what is taken, D for what has no effect, Q for quarantine, B for a table that is held, S for a
source that stops, F for work that is refused.
"""

import ast
import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from formats.test_bad_inputs import NOTES
from formats.test_dts_avro_binary import BAD

TESTS = Path(__file__).parent
FORMATS = TESTS / "formats"
OUTCOMES = {"OK", "D", "Q", "B", "S", "F"}
IN_CODE = {
    "B29": "tests/formats/test_bad_inputs.py::test_a_row_of_very_many_columns_is_whole",
    "C21": "tests/formats/test_bad_inputs.py::test_minus_zero_is_the_same_key_as_zero_in_gold",
}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def ids_of(path: Path) -> set[str]:
    return {case["id"].rstrip("bcde") for case in read(path)}


LISTED = read(TESTS / "bad_inputs.jsonl")
ELSEWHERE = [{**case, "test": f"tests/{case['test']}"} for case in read(FORMATS / "bad_inputs_elsewhere.jsonl")]
NOT_HERE = FORMATS / "bad_inputs_not_here.jsonl"
NAMED = [case for case in (*LISTED, *ELSEWHERE) if "test" in case]


def kinds(letters: str) -> list[str]:
    return [f"{letter}{number}" for letter in letters for number in range(1, 61)]


def with_a_test() -> set[str]:
    files = {*FORMATS.glob("bad_inputs_*.jsonl"), TESTS / "land" / "bad_inputs.jsonl"} - {NOT_HERE}
    told = {name.split()[0] for name in (*BAD, *NOTES)} | set(IN_CODE)
    return told.union(*map(ids_of, files), (case["id"] for case in LISTED if "test" in case))


def with_a_reason() -> set[str]:
    return ids_of(NOT_HERE) | {case["id"] for case in LISTED if "why" in case}


def named_in(case: dict[str, Any]) -> list[str]:
    return [case["test"]] if isinstance(case["test"], str) else case["test"]


@cache
def functions(path: Path) -> dict[str, bool]:
    """The tests of a file, each with whether it is left out wherever it is collected."""
    tree = ast.parse(path.read_text("utf-8"))
    everywhere = any("mark.skip" in ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign))
    return {each.name: everywhere or skipped for each, skipped in _tests(tree.body, False)}


def _tests(body: list[ast.stmt], outer: bool) -> Iterator[tuple[ast.FunctionDef, bool]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            skipped = outer or any("mark.skip" in ast.unparse(each) for each in node.decorator_list)
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node, skipped
            elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                yield from _tests(node.body, skipped)


def test_every_kind_of_bad_input_is_tested_or_says_why_it_is_not() -> None:
    assert sorted(set(kinds("ABCDEF")) - with_a_test() - with_a_reason()) == []
    assert sorted(with_a_test() & with_a_reason()) == []


def test_each_is_listed_once_and_in_order() -> None:
    assert [case["id"] for case in LISTED] == kinds("DEF")
    for file in (FORMATS / "bad_inputs_elsewhere.jsonl", NOT_HERE):
        assert [each for each, count in Counter(case["id"] for case in read(file)).items() if count > 1] == []


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case["id"])
def test_what_is_listed_has_a_test_and_its_outcome_or_a_reason(case: dict[str, Any]) -> None:
    assert case["what"]
    assert case.keys() in ({"id", "what", "outcome", "test"}, {"id", "what", "why"})
    assert case.get("outcome", "OK") in OUTCOMES


@pytest.mark.parametrize("case", [*read(NOT_HERE), *(case for case in LISTED if "why" in case)], ids=lambda c: c["id"])
def test_a_reason_is_one_that_a_user_can_read(case: dict[str, Any]) -> None:
    assert len(case["why"]) >= 40


@pytest.mark.parametrize(
    "case", [*NAMED, *({"id": i, "test": test} for i, test in IN_CODE.items())], ids=lambda c: c["id"]
)
def test_a_named_test_is_there_and_runs(case: dict[str, Any]) -> None:
    for named in named_in(case):
        file, _, name = named.partition("::")
        path = TESTS.parent / file
        assert path.name.startswith("test_"), f"{named}: no target of make collects its file"
        assert functions(path).get(name) is False, f"{named} is not there, or is skipped"


def test_targets_of_make_collect_every_file_of_tests() -> None:
    """All but three folders, which have targets of their own; what is marked slow has one too."""
    lines = (TESTS.parent / "Makefile").read_text("utf-8").splitlines()
    runs = [line.partition("/pytest ")[2] for line in lines if line.startswith("\t@$(BIN)/pytest ")]
    fast = next(words for words in runs if '"not slow"' in words)
    slow = next(words for words in runs if "-m slow" in words)
    apart = {word.removeprefix("--ignore=") for word in f"{fast} {slow}".split() if word.startswith("--ignore=")}
    assert all(any(words.split()[-1] == folder for words in runs) for folder in apart), apart
    options = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests"]
