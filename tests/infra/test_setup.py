"""`make setup`: what it says when something is missing, and what it refuses to keep."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import environment
from retable.jars import jar_name, read_pins

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with the shell's own tools and make, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "dirname", "make"):
        found = shutil.which(tool)
        assert found, f"{tool} is needed by this test"
        (folder / tool).symlink_to(found)
    return folder


def _program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def _set_up(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(path / "sh"), str(ROOT / "infra" / "setup.sh")]
    return subprocess.run(command, env={"PATH": str(path), **variables}, capture_output=True, text=True, check=False)


def test_an_old_python_is_named_with_the_ways_to_a_newer_one(tools: Path) -> None:
    _program(tools, "python3", 'case "$1" in --version) echo "Python 3.9.2";; *) exit 1;; esac')
    result = _set_up(tools)
    assert result.returncode == 1
    assert "found: Python 3.9.2" in result.stderr
    assert all(system in result.stderr for system in ("Debian", "Fedora", "macOS"))


def test_no_python_at_all_is_said(tools: Path) -> None:
    result = _set_up(tools)
    assert result.returncode == 1
    assert "found: none" in result.stderr


def test_a_newer_python_is_found_behind_an_older_one(tools: Path) -> None:
    _program(tools, "python3", "exit 1")
    _program(tools, "python3.12", 'case "$1" in -c) exit 0;; *) echo "set up by $0 $1";; esac')
    assert "python3.12 infra/environment.py" in _set_up(tools).stdout


def test_missing_make_is_said_before_anything_else(tools: Path) -> None:
    (tools / "make").unlink()
    result = _set_up(tools)
    assert result.returncode == 1
    assert "make is missing" in result.stderr


def test_missing_java_ends_the_setup_with_the_ways_to_get_it(tools: Path) -> None:
    result = _set_up(tools, PYTHON=sys.executable)
    assert result.returncode == 1
    assert "Java 17 or newer is missing (found: none)" in result.stderr
    assert all(system in result.stderr for system in ("Debian", "Fedora", "macOS"))


def test_an_old_java_is_missing_java(tmp_path: Path) -> None:
    _program(tmp_path, "java", """echo 'openjdk version "1.8.0_392"' >&2""")
    with pytest.raises(environment.SetupError, match=r"found: openjdk version \"1\.8\.0_392\""):
        environment.check_java(None, str(tmp_path))


def test_java_home_comes_before_the_path_as_it_does_for_spark(tmp_path: Path) -> None:
    _program(tmp_path, "java", """echo 'openjdk version "21.0.4"' >&2""")
    environment.check_java(None, str(tmp_path))
    with pytest.raises(environment.SetupError, match="nothing at"):
        environment.check_java(str(tmp_path / "elsewhere"), str(tmp_path))


@pytest.mark.parametrize(
    ("banner", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_202"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
    ],
)
def test_the_banner_of_every_java_is_read(banner: str, major: int) -> None:
    assert environment.java_version(banner) == major


def test_the_jars_of_this_environment_are_the_pinned_ones() -> None:
    folder = Path(os.environ.get("RETABLE_JARS") or Path(sys.prefix) / "jars")
    assert sorted(jar.name for jar in folder.glob("*.jar")) == sorted(map(jar_name, read_pins()))


def test_packages_come_as_wheels_but_for_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(environment, "_run", lambda command, _: commands.append(command))
    environment.install_packages()
    wheels = ["--only-binary", ":all:", "--no-binary", "pyspark,pyspark-client"]
    pinned = [command for command in commands if "--requirement" in command]
    assert len(pinned) == 2
    for command in pinned:
        assert [command[command.index("--only-binary") + at] for at in range(4)] == wheels
        assert "--require-hashes" in command
    dockerfile = (environment.ROOT / "infra" / "Dockerfile").read_text(encoding="utf-8")
    assert "ENV PIP_ONLY_BINARY=:all: PIP_NO_BINARY=pyspark,pyspark-client" in dockerfile


def test_another_pin_is_another_environment(tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    pins.write_text("one")
    before = environment.fingerprint([pins], "3.11")
    pins.write_text("two")
    assert before not in {environment.fingerprint([pins], "3.11"), environment.fingerprint([pins], "3.12")}
