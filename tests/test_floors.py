"""What the house promises and no linter holds: sizes, pins, nothing left to do, no machine's own paths."""

import ast
import re
import tomllib
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(path for room in ("src", "plugins") for path in (ROOT / room).rglob("*.py"))
OUR_TEXTS = sorted(
    path
    for place in ("dags", "docs", "examples", "infra", "jobs", "plugins", "src", "tests", ".ci")
    for path in (ROOT / place).rglob("*")
    if path.suffix in {"", ".md", ".py", ".sh", ".sql", ".toml", ".yaml"} and path.is_file()
) + sorted(path for pattern in ("*.md", "*.toml", "Makefile", ".*.yaml") for path in ROOT.glob(pattern))


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _found(pattern: str) -> list[str]:
    expression = re.compile(pattern)
    return [
        f"{_name(path)}:{number}"
        for path in OUR_TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if expression.search(line)
    ]


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    assert {_name(path): _lines(path) for path in MODULES if _lines(path) > 350} == {}


def test_half_of_the_modules_fit_on_a_few_screens() -> None:
    assert median(map(_lines, MODULES)) <= 120


def test_half_of_the_functions_fit_into_a_glance() -> None:
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert median(functions) <= 10


@pytest.mark.parametrize(("place", "most"), [("dags", 79), ("examples/dags", 79), ("jobs", 30)])
def test_dags_and_jobs_stay_thin(place: str, most: int) -> None:
    files = list((ROOT / place).glob("*.py"))
    assert files
    assert {_name(path): _lines(path) for path in files if _lines(path) > most} == {}


def test_nothing_is_left_to_do_in_the_code() -> None:
    assert _found("TO" + r"DO\b|FIX" + r"ME\b|\bX" + r"XX\b|NotImplemented" + "Error") == []


def test_no_machine_has_left_its_paths() -> None:
    assert _found(r"(?<![\w.:/-])/(?:" + "work|farm|root|home|Users" + r")/\w") == []


def test_both_packages_that_write_pyspark_are_of_one_version() -> None:
    """pyspark-client writes into pyspark's own folder; only equal versions are equal files."""
    assert version("pyspark") == version("pyspark-client")


def test_every_pin_has_its_hash() -> None:
    for pins in (ROOT / "requirements.txt", ROOT / "infra" / "requirements-build.txt"):
        packages = re.split(r"\n(?=\S)", pins.read_text(encoding="utf-8").strip())
        assert packages
        assert [
            package.partition(" ")[0] for package in packages if "==" not in package or "--hash=" not in package
        ] == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *chain(*project["project"]["optional-dependencies"].values())]
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pinned = {name.lower().replace("_", "-") for name in re.findall(r"^([\w.-]+)==", pins, re.MULTILINE)}
    assert {re.split(r"[\[<>=]", package)[0] for package in wanted} - pinned == set()
    build = (ROOT / "infra" / "requirements-build.txt").read_text(encoding="utf-8")
    assert all(re.search(rf"^{name}==", build, re.MULTILINE) for name in project["dependency-groups"]["build"])
