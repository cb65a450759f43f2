"""The house is as CONTRIBUTING describes it: rooms, stages, and formats and dialects that only their own rooms name."""

import ast
import importlib
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from retable.ddl.registry import DIALECTS
from retable.formats.registry import FORMATS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "retable"
MODULES = sorted(path for room in (SOURCE, ROOT / "plugins") for path in room.rglob("*.py"))

STAGES = ("land", "decode", "replay", "upkeep")

NAMES_A_DATABASE = {
    "settings/catalogs.py": "kinds of catalogs",
    "settings/lake.py": "the driver of a kind of catalog",
    "onboard/schema/databases.py": "addresses of databases, and how each tells its schema",
    "onboard/schema/tls.py": "addresses of databases",
    "onboard/schema/dumps.py": "kinds of dumps",
    "onboard/baseline/database_copies.py": "addresses of databases, and how each reads a table",
    "values/times.py": "the default of one who reads values without a source",
}
"""Where a name of a database is not that of a source's dialect."""


def test_a_folder_has_at_most_a_dozen_files() -> None:
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    sizes = {folder: len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) for folder in folders}
    assert {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > 12} == {}


@pytest.mark.parametrize("stage", STAGES)
def test_the_room_of_a_stage_has_a_door_to_spark_of_the_stages_name(stage: str) -> None:
    assert callable(getattr(importlib.import_module(f"retable.{stage}.spark"), stage))
    imported = ast.parse((ROOT / "jobs" / f"{stage}.py").read_text(encoding="utf-8")).body
    doors = {(each.module, name.name) for each in imported if isinstance(each, ast.ImportFrom) for name in each.names}
    assert (f"retable.{stage}.spark", stage) in doors


def test_only_their_own_rooms_and_the_simulator_name_a_format_or_a_dialect() -> None:
    names, found = FORMATS.keys() | DIALECTS.keys(), defaultdict(set)
    for path in MODULES:
        place = str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else str(path.relative_to(ROOT))
        if place.split("/")[0] not in ("formats", "ddl", "simulate") and place != "cli/try_out/simulate.py":
            found[place] = names & set(_constants(path))
    told = {place for place, words in found.items() if words}
    assert told == set(NAMES_A_DATABASE)
    assert not any(found[place] & FORMATS.keys() for place in told)


def _constants(path: Path) -> Iterator[str]:
    """Every text of a module that is a value, and so none of its docstrings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_contributing_draws_the_floors_that_the_linter_holds() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (each["layers"] for each in contracts["contracts"] if each["name"].startswith("Floors: "))
    drawn = re.search(r"## The floors\n.*?```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)
    assert drawn is not None
    floors = [re.split(r" {2,}", line)[0] for line in drawn[1].splitlines()]
    assert floors == [re.sub(r"[()]", "", layer) for layer in layers]


def test_a_record_of_many_fields_is_built_by_keyword() -> None:
    assert [name for path in MODULES for name in _positional_records(path)] == []


def _positional_records(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ClassDef):
            continue
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each)]
        made = next((ast.unparse(each) for each in node.decorator_list if "dataclass" in ast.unparse(each)), None)
        if made is not None and len(fields) >= 8 and "kw_only=True" not in made:
            yield f"{path.name}: {node.name}"


def test_a_type_has_a_name_of_its_own() -> None:
    """The simulator owes nothing to the engine, and speaks its own words; plug-ins speak Airflow's."""
    rooms = defaultdict(set)
    for path in MODULES:
        place = path.relative_to(SOURCE).parts if path.is_relative_to(SOURCE) else ("plugins",)
        if place[0] not in ("simulate", "plugins"):
            for name in _types(path):
                rooms[name].add(place[0])
    assert {name: found for name, found in rooms.items() if len(found) > 1} == {}


def _types(path: Path) -> Iterator[str]:
    """The public classes and type aliases of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (name for name in names if name[0].isupper() and not name.isupper() and "_" not in name)
