"""`make test-long MINUTES=60`: draw more examples of the laws, seed after seed, and say how many ran.

A failure prints the smallest example, as a call of `tell`: mend what it shows, then keep it with `keep.py`.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parents[2]
AT_ONCE = 2
EXAMPLES = "60"
FUZZ = ("tests/formats/test_fuzz.py", "tests/formats/test_fuzz_dts.py")
RAN = re.compile(r"(\d+) passing, (\d+) failing")

console = Console(soft_wrap=True)


def main(minutes: float, first_seed: int) -> None:
    end = time.monotonic() + 60 * minutes
    ran, broken, seed = 0, [], first_seed
    running: dict[int, tuple[subprocess.Popen[bytes], Path]] = {}
    with tempfile.TemporaryDirectory() as folder:
        while running or time.monotonic() < end:
            while len(running) < AT_ONCE and time.monotonic() < end:
                running[seed] = _start(seed, Path(folder) / f"{seed}.log")
                seed += 1
            for done in [number for number, (process, _) in running.items() if process.poll() is not None]:
                process, log = running.pop(done)
                text = log.read_text(encoding="utf-8")
                examples = sum(int(good) + int(bad) for good, bad in RAN.findall(text))
                ran += examples
                console.print(
                    f"seed {done}: {examples} examples, {'a law is broken' if process.returncode else 'all hold'}"
                )
                if process.returncode:
                    broken.append(done)
                    console.print(text[-6000:], markup=False, highlight=False)
            time.sleep(1)
    console.print(f"{ran} examples of the laws ran, from seed {first_seed} on; broken by seeds: {broken or 'none'}")
    print(f"{seed - first_seed - len(broken)} passed, {len(broken)} failed")
    sys.exit(1 if broken else 0)


def _start(seed: int, log: Path) -> "tuple[subprocess.Popen[bytes], Path]":
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/laws", *FUZZ]
    command += [f"--hypothesis-seed={seed}", "--hypothesis-show-statistics", "--tb=short"]
    env = {**os.environ, "LAW_EXAMPLES": EXAMPLES}
    with log.open("wb") as out:
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT), log


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()))
