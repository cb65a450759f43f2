"""Make `.venv`: pinned packages, Retable itself, Spark's jars, Java's classes. Does nothing if all of it is there.

infra/setup.sh runs it; it needs only the standard library of any Python from 3.11 on.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "retable-setup"
JARS_LIST = ROOT / "src" / "retable" / "jars.sha256"
BUILD_TOOLS = ROOT / "infra" / "requirements-build.txt"
PACKAGES = ROOT / "requirements.txt"
HOUR = ("2026-03-01T00:00:00+00:00", "2026-03-01T01:00:00+00:00")

NO_JAVA = """\
Java 17 or newer is missing (found: {found}). Get it with:
  Debian, Ubuntu   sudo apt install openjdk-17-jre-headless   (if that is not available: openjdk-21-jre-headless)
  Fedora           sudo dnf install java-21-openjdk-headless
  macOS            brew install openjdk@21
If several are installed, set JAVA_HOME to the right one."""

NO_VENV = """\
{python} cannot make virtual environments. Get that part with:
  Debian, Ubuntu   sudo apt install python3-venv"""


class SetupError(Exception):
    """What is missing, and how to get it."""


def java_version(banner: str) -> int:
    """Read the major version that `java -version` prints, 0 if none; Java 8 calls itself 1.8."""
    match = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(match[1]) if match else 0


def check_java(java_home: str | None, path: str | None) -> None:
    """Look for Java where Spark does: JAVA_HOME first, and only without it the PATH."""
    java = str(Path(java_home, "bin", "java")) if java_home else shutil.which("java", path=path)
    banner = _java_banner(java) if java else ""
    if java_version(banner) < 17:
        raise SetupError(NO_JAVA.format(found=banner.partition("\n")[0] or (f"nothing at {java}" if java else "none")))


def _java_banner(java: str) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return ""


def check_venv_module() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(NO_VENV.format(python=sys.executable))


def fingerprint(files: list[Path], python: str) -> str:
    """Digest what decides the environment's content, including its location: a moved environment does not work."""
    digest = hashlib.sha256(f"{VENV} {python}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def make_venv() -> None:
    if VENV.exists():
        shutil.rmtree(VENV)
    _run([sys.executable, "-m", "venv", str(VENV)], "The virtual environment could not be made.")


def install_packages() -> None:
    """Install by hash, builds included: only pinned code runs, and nothing is resolved.

    Only PySpark, which publishes no wheel, may run its own code during installation.
    """
    wheels = ["--only-binary", ":all:", "--no-binary", "pyspark,pyspark-client"]
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    hint = "A package could not be installed: see pip's output above. It needs the network, or a mirror for pip."
    _run([*pip, *wheels, "--require-hashes", "--requirement", str(BUILD_TOOLS)], hint)
    _run([*pip, *wheels, "--require-hashes", "--no-build-isolation", "--requirement", str(PACKAGES)], hint)
    _run([*pip, "--no-build-isolation", "--editable", str(ROOT)], "Retable itself could not be installed.")


def install_jars() -> None:
    env = {name: value for name, value in os.environ.items() if name != "RETABLE_JARS"}
    _run([str(VENV / "bin" / "retable"), "get-jars"], "Spark's jars are missing: see above.", quiet=True, env=env)


def archive_classes() -> None:
    """Replay a simulated hour, and archive the classes that its JVM loaded for later JVMs (class data sharing)."""
    retable, archive = str(VENV / "bin" / "retable"), VENV / "jars" / "classes.jsa"
    env = os.environ | {"SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"}
    env.pop("RETABLE_JARS", None)
    with tempfile.TemporaryDirectory(dir=VENV) as work:
        simulate = [retable, "simulate", work, "--seed", "1", "--hours", "1", "--changes", "24", "--start", HOUR[0]]
        run = [retable, "--settings", f"{work}/retable.toml", "run", "shop", "--to", HOUR[1]]
        for command in (simulate, run):
            _run(command, "A simulated hour could not be replayed: see the output above.", quiet=True, env=env)


def _run(command: list[str], failure: str, quiet: bool = False, env: dict[str, str] | None = None) -> None:
    """Run a step; a quiet step shows its output only if it fails."""
    output = subprocess.STDOUT if quiet else None
    result = subprocess.run(
        command, stdout=subprocess.PIPE if quiet else None, stderr=output, text=True, check=False, env=env
    )
    if result.returncode:
        print(result.stdout or "", file=sys.stderr)
        raise SetupError(failure)


def set_up() -> None:
    check_java(os.environ.get("JAVA_HOME"), os.environ.get("PATH"))
    wanted = fingerprint([BUILD_TOOLS, PACKAGES, JARS_LIST, Path(__file__)], sys.version)
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    check_venv_module()
    steps = [
        ("a virtual environment in .venv", make_venv),
        ("the pinned packages (a minute or two)", install_packages),
        ("Spark's jars (130 MB)", install_jars),
        ("a simulated hour, which leaves Java's classes ready (half a minute)", archive_classes),
    ]
    for number, (words, step) in enumerate(steps, 1):
        print(f"setup {number}/{len(steps)}: {words} …", end=" ", flush=True)
        started = time.monotonic()
        step()
        print(f"{time.monotonic() - started:.0f} s", flush=True)
    STAMP.write_text(wanted)
    print("setup is done: .venv/bin/retable --help")


if __name__ == "__main__":
    try:
        set_up()
    except SetupError as error:
        sys.exit(f"\n{error}")
