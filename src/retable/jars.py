"""Downloads the jars that Spark needs, and compares each jar with the SHA-256 that is recorded (pinned) for it."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from retable.errors import EnvironmentFault

PINS = Path(__file__).with_name("jars.sha256")
"""The file of pins (expected digests). Each line has the SHA-256 of a jar and the Maven coordinates of the jar."""

_RESOLVE = "import sys; from retable.session import resolve_jars; resolve_jars(*sys.argv[1:])"


def read_pins() -> dict[str, str]:
    """Return the expected SHA-256 of every jar. The keys are Maven coordinates (`group:artifact:version`)."""
    return {
        coordinates: digest for digest, coordinates in (line.split() for line in PINS.read_text("ascii").splitlines())
    }


def jar_name(coordinates: str) -> str:
    """Return the file name that Spark's resolver gives a jar with these Maven coordinates."""
    group, artifact, version = coordinates.split(":")
    return f"{group}_{artifact}-{version}.jar"


def find_jars(folder: Path, artifacts: Iterable[str]) -> list[Path]:
    """Return the jars in `folder` for these Maven artifact names, as `sqlite-jdbc`.

    EnvironmentFault if a jar is missing, or if its SHA-256 is not that of a pinned jar.
    """
    found = {name: sorted(folder.glob(f"*{name}-[0-9]*.jar")) for name in artifacts}
    if missing := [name for name, jars in found.items() if not jars]:
        raise EnvironmentFault(
            f"the folder {folder} does not have Spark's jars {' and '.join(missing)}: run `retable get-jars`",
            folder=str(folder),
        )
    jars = [jar for each in found.values() for jar in each]
    pinned = set(read_pins().values())
    for jar in jars:
        if (digest := _digest(jar, jar.stat().st_mtime_ns)) not in pinned:
            raise EnvironmentFault(
                f"{jar} is not a jar that Retable expects: its sha256 {digest} is unknown; run `retable get-jars` to "
                f"replace it, and do not trust the source of this jar",
                path=str(jar),
            )
    return jars


def get_jars(folder: Path) -> int:
    """Download all pinned jars with Spark's own resolver into `folder`, and return the number of jars.

    Old contents of `folder` are removed.

    EnvironmentFault if a jar cannot be downloaded or differs from its pin. `folder` is then unchanged.
    """
    try:
        return _replace(folder, read_pins())
    except OSError as error:
        raise EnvironmentFault(
            f"Spark's jars cannot be written to {folder}: {error}; set RETABLE_JARS to a folder that you may write",
            folder=str(folder),
        ) from error


def _replace(folder: Path, pins: dict[str, str]) -> int:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        command = [sys.executable, "-c", _RESOLVE, work, *pins]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise EnvironmentFault(
                f"Spark could not download its jars; it needs the network, or a mirror in the settings of Ivy:\n"
                f"{done.stdout}"
            )
        check_jars(Path(work) / "jars", pins)
        shutil.rmtree(folder, ignore_errors=True)
        (Path(work) / "jars").rename(folder)
    return len(pins)


def check_jars(folder: Path, pins: dict[str, str]) -> None:
    """Compare every pinned jar in a folder with its SHA-256. EnvironmentFault names the first jar that differs."""
    for coordinates, pinned in pins.items():
        found = hashlib.sha256((folder / jar_name(coordinates)).read_bytes()).hexdigest()
        if found != pinned:
            raise EnvironmentFault(
                f"the downloaded jar {coordinates} has the sha256 {found}, but Retable expects {pinned}, so no jar was "
                f"kept: try again; if the error stays, do not trust the source of the jars"
            )


@lru_cache(32)
def _digest(jar: Path, changed: int) -> str:
    with jar.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
