"""The documentation is a site that is built strictly, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_becomes_a_page_of_the_site(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert len(written) > 60
    assert {path.relative_to(site) for path in site.rglob("*.html")} - {Path("404.html")} == written


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?((?:https?:)?//[^\s\">]+)")
    assert [found for page in site.rglob("*.html") for found in loads.findall(page.read_text(encoding="utf-8"))] == []


def test_what_the_code_names_in_docs_is_there() -> None:
    named = re.compile(r"\bdocs/[\w/.-]+\.(?:md|toml|png|svg)\b")
    paths = [
        path
        for room in ("src", "plugins", "infra", "bench", "jobs", "examples")
        for path in (ROOT / room).rglob("*.py")
    ]
    paths += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    missing = {
        (str(path.relative_to(ROOT)), name)
        for path in paths
        for name in named.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert missing == set()
