"""`make test-mutants`: plant each bug of this folder into a copy of the core, and say which test caught it.

A patch begins with one line of plain words: what is wrong with this core. A bug that no test notices fails the run, and
so does a patch that does not fit any more. A bug by which the tests do not end is caught by the limit of time, to which
the tests without any bug are held too.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
LONG = ("test_shards_moving", "test_retention", "test_bulk", "test_set_back", "test_laws", "test_machine")
"""The laws that take longest come last, as most bugs are caught before them."""
QUICK = sorted(path.stem for path in (ROOT / "tests" / "laws").glob("test_*.py") if path.stem not in LONG)
TESTS = (
    "tests/fold",
    "tests/replay",
    *("tests/ledger/test_cuts.py", "tests/freshness/test_promises.py", "tests/decode/test_statements.py"),
    *("tests/migration", "tests/upkeep/test_past.py", "tests/ledger/test_windows.py"),
    *(f"tests/laws/{name}.py" for name in QUICK),
    *("tests/gold", "tests/ddl/test_order.py", "tests/formats/test_values.py"),
    *(f"tests/laws/{name}.py" for name in LONG),
)
SAME = "--hypothesis-seed=0"
"""What is drawn is the same with each bug and without, so chance catches none."""
PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", SAME, "-m", "not slow", *TESTS)
CAUGHT = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)

AT_ONCE = 2
LIMIT_S = 900

console = Console(soft_wrap=True)
_running: set["subprocess.Popen[str]"] = set()


@dataclass(frozen=True, slots=True)
class Run:
    """How the tests of one core ended; without an exit code they ran into the limit."""

    code: int | None
    said: str
    seconds: float

    @property
    def verdict(self) -> str | None:
        """What caught the bug; None where nothing did."""
        if self.code is None:
            return f"caught: ran into the limit of {LIMIT_S} s"
        found = CAUGHT.search(self.said)
        return f"caught by {found[1]}" if found else None


def main(wanted: list[str]) -> None:
    patches = [path for path in sorted(FOLDER.glob("*.patch")) if not wanted or path.stem in wanted]
    if not patches:
        sys.exit(f"no patch of {FOLDER} is called {', '.join(wanted)}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            sound = pool.submit(run, copy(Path(folder) / "sound"))
            runs = []
            for patch, found in zip(patches, pool.map(lambda each: planted(each, Path(folder)), patches), strict=True):
                runs.append(found)
                console.print(f"{len(runs)}/{len(patches)} {patch.stem}: {escape(_words(patch))}\n    {_told(found)}")
            without = sound.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for each in list(_running):
                _kill(each)
            raise
    if without.code is None:
        sys.exit(f"without any bug the tests take longer than the limit of {LIMIT_S} s, so it says nothing")
    if without.code:
        sys.exit(f"the tests fail without any bug, so this says nothing:\n{without.said[-2000:]}")
    console.print(f"\nwithout any bug: {without.seconds:.0f} s")
    for patch, found in zip(patches, runs, strict=True):
        console.print(f"{found.seconds:5.0f} s  {patch.stem}: {_told(found)}")
    missed = sum(found.verdict is None for found in runs)
    print(f"{len(patches) - missed} passed, {missed} failed, in {(time.monotonic() - began) / 60:.0f} minutes")
    sys.exit(1 if missed else 0)


def planted(patch: Path, folder: Path) -> Run:
    """Plant one bug, and run the tests until one catches it."""
    core = copy(folder / patch.stem)
    subprocess.run(["patch", "-p1", "--quiet", "-i", str(patch)], cwd=core, check=True)
    found = run(core)
    shutil.rmtree(core)
    return found


def copy(to: Path) -> Path:
    for name in ("src", "tests", "bench"):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    return to


def run(core: Path, command: tuple[str, ...] = PYTEST, limit_s: float = LIMIT_S) -> Run:
    """Run the tests of a core; at the limit all that they began is ended."""
    path = os.pathsep.join(map(str, (core / "src", core / "tests")))
    env = {**os.environ, "PYTHONPATH": path, "LAW_SHRINKS": "no"}
    pipe, began = subprocess.PIPE, time.monotonic()
    with subprocess.Popen(command, cwd=core, env=env, stdout=pipe, text=True, start_new_session=True) as tests:
        _running.add(tests)
        try:
            said = tests.communicate(timeout=limit_s)[0]
            return Run(tests.returncode, said, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            _kill(tests)
            return Run(None, "", time.monotonic() - began)
        finally:
            _running.discard(tests)


def _kill(tests: "subprocess.Popen[str]") -> None:
    if tests.poll() is None:
        os.killpg(tests.pid, signal.SIGKILL)


def _told(found: Run) -> str:
    return escape(found.verdict) if found.verdict else "[red]NOT CAUGHT[/]"


def _words(patch: Path) -> str:
    return patch.read_text(encoding="utf-8").split("\n", 1)[0]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main(sys.argv[1:])
