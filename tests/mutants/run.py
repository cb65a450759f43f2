"""`make test-mutants`: plant each bug of this folder into a copy of the core, and say which test caught it.

A patch begins with one line of plain words: what is wrong with this core. A bug that no test notices fails the run, and
so does a patch that does not fit any more.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.markup import escape

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
TESTS = ("tests/replay", "tests/gold", "tests/ddl/test_order.py", "tests/decode/test_values.py", "tests/laws")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *TESTS)
CAUGHT = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)

AT_ONCE = 2

console = Console(soft_wrap=True)


def main(wanted: list[str]) -> None:
    patches = [path for path in sorted(FOLDER.glob("*.patch")) if not wanted or path.stem in wanted]
    if not patches:
        sys.exit(f"no patch of {FOLDER} is called {', '.join(wanted)}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        sound = pool.submit(_run, _copy(Path(folder) / "sound"))
        runs = pool.map(lambda patch: _planted(patch, Path(folder) / patch.stem), patches)
        for number, (patch, found) in enumerate(zip(patches, runs, strict=True), 1):
            missed += found is None
            verdict = f"caught by {escape(found)}" if found else "[red]NOT CAUGHT[/]"
            console.print(f"{number}/{len(patches)} {patch.stem}: {escape(_words(patch))}\n    {verdict}")
        if sound.result().returncode:
            sys.exit(f"the tests fail without any bug, so this says nothing:\n{sound.result().stdout[-2000:]}")
    print(f"{len(patches) - missed} passed, {missed} failed")
    sys.exit(1 if missed else 0)


def _planted(patch: Path, to: Path) -> str | None:
    """Plant one bug; gives the test that caught it."""
    core = _copy(to)
    subprocess.run(["patch", "-p1", "--quiet", "-i", str(patch)], cwd=core, check=True)
    found = CAUGHT.search(_run(core).stdout)
    shutil.rmtree(core)
    return found and found[1]


def _copy(to: Path) -> Path:
    for name in ("src", "tests", "bench"):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    return to


def _run(core: Path) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join(map(str, (core / "src", core / "tests")))
    env = {**os.environ, "PYTHONPATH": path, "LAW_SHRINKS": "no"}
    return subprocess.run(PYTEST, cwd=core, env=env, capture_output=True, text=True)


def _words(patch: Path) -> str:
    return patch.read_text(encoding="utf-8").split("\n", 1)[0]


if __name__ == "__main__":
    main(sys.argv[1:])
