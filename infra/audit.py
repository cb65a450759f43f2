"""`make audit`: write a bill of materials (CycloneDX) of all code that runs, and print its known advisories.

Advisories come from OSV, by package and version. infra/advisories.toml accepts advisories for a version, with a reason.
An accepted advisory is printed and is no failure. A package without known coordinates is printed as unchecked.

The exit code is 1 if an advisory is open, 3 if something is unchecked, else 0.
"""

import argparse
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen
from zipfile import ZipFile

from environment import BUILD_TOOLS, PACKAGES, ROOT, VENV
from retable.jars import jar_name, read_pins

OSV = "https://api.osv.dev/v1/querybatch"
BILL = ROOT / "var" / "sbom.json"
ACCEPTED = ROOT / "infra" / "advisories.toml"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", re.MULTILINE)
_SIGNS = re.compile(r"[-_.]+")
_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_PROPERTY = re.compile(r"^(groupId|artifactId|version)\s*=\s*(\S+)", re.MULTILINE)
_AT_ONCE = 500
_FILE = re.compile(r"(.+?)-(\d.*)\.jar")


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """A Python package, or a Maven artifact (`group:artifact`). An artifact without a group cannot be looked up."""

    ecosystem: str
    name: str
    version: str

    @property
    def is_known(self) -> bool:
        return self.ecosystem == "PyPI" or ":" in self.name

    @property
    def purl(self) -> str:
        kind = "pypi" if self.ecosystem == "PyPI" else "maven"
        return f"pkg:{kind}/{self.name.replace(':', '/')}@{self.version}"


class Unanswered(Exception):
    """The advisories could not be fetched. The message says why."""


def components(jars: Iterable[Path]) -> list[Component]:
    """Return every pinned package, every pinned jar, and the artifacts inside the jars, each once."""
    found = {
        Component("PyPI", _SIGNS.sub("-", name).lower(), version)
        for pins in (BUILD_TOOLS, PACKAGES)
        for name, version in _PIN.findall(pins.read_text())
    }
    pinned = list(read_pins())
    for group, artifact, version in (coordinates.split(":") for coordinates in pinned):
        found.add(Component("Maven", f"{group}:{artifact}", version))
    names = set(map(jar_name, pinned))
    for jar in jars:
        found |= set(_inside(jar, is_pinned=jar.name in names))
    return sorted(found)


def _inside(jar: Path, *, is_pinned: bool) -> Iterator[Component]:
    """Yield the artifacts that a jar declares: itself and those copied into it. Else use its file name."""
    with ZipFile(jar) as archive:
        poms = [archive.read(name).decode("utf-8", "replace") for name in archive.namelist() if _POM.fullmatch(name)]
    told = [dict(_PROPERTY.findall(pom)) for pom in poms]
    whole = [each for each in told if len(each) == 3]
    for each in whole:
        yield Component("Maven", f"{each['groupId']}:{each['artifactId']}", each["version"])
    if not whole and not is_pinned:
        name, version = match.groups() if (match := _FILE.fullmatch(jar.name)) else (jar.stem, "?")
        group = _groups().get(name)
        yield Component("Maven", name if group is None else f"{group}:{name}", version)


@cache
def _groups() -> dict[str, str]:
    told = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))["groups"]
    return {name: group for group, names in told.items() for name in names}


def bill_of_materials(found: Iterable[Component]) -> dict[str, Any]:
    """Return the components as a CycloneDX 1.6 document."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "components": [
            {"type": "library", "name": each.name, "version": each.version, "purl": each.purl, "bom-ref": each.purl}
            for each in found
        ],
    }


def advisories(found: list[Component], address: str) -> dict[Component, list[str]]:
    """Fetch the IDs of the advisories of each component from `address`. Raise Unanswered if this fails."""
    known: dict[Component, list[str]] = {}
    for start in range(0, len(found), _AT_ONCE):
        some = found[start : start + _AT_ONCE]
        asked = {"queries": [{"package": {"purl": each.purl}} for each in some]}
        request = Request(address, json.dumps(asked).encode(), {"Content-Type": "application/json"})
        try:
            with urlopen(request, timeout=60) as answer:
                results = json.load(answer)["results"]
        except (URLError, OSError, ValueError, KeyError) as error:
            raise Unanswered(f"{address}: {error}") from error
        for each, result in zip(some, results, strict=True):
            known[each] = [advisory["id"] for advisory in result.get("vulns", [])]
    return known


def accepted() -> dict[tuple[str, str, str], str]:
    """Return the accepted advisories: from advisory ID, package and version to the reason."""
    rows = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))["accepted"]
    return {(advisory, row["package"], row["version"]): row["why"] for row in rows for advisory in row["advisories"]}


def audit(found: list[Component], address: str) -> int:
    """Print the open, accepted and unchecked advisories of these components. Return the exit code."""
    unknown = [each for each in found if not each.is_known]
    for each in unknown:
        print(f"unchecked: {each.name} {each.version}: its jar does not declare its group")
    try:
        answers = advisories([each for each in found if each.is_known], address)
    except Unanswered as error:
        print(f"unchecked: all {len(found) - len(unknown):,}: advisories could not be fetched ({error})")
        return 3
    reasons = accepted()
    is_open = False
    for each, ids in answers.items():
        for advisory in ids:
            why = reasons.get((advisory, each.name, each.version))
            is_open |= why is None
            state = "OPEN" if why is None else "accepted"
            print(f"{state}: {advisory} of {each.name} {each.version}: {why or 'look it up'}")
    return 1 if is_open else 3 if unknown else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osv", default=OSV, help="the address of the service that knows advisories")
    parser.add_argument("--bill", type=Path, default=BILL, help="where the bill of materials is written")
    asked = parser.parse_args()
    spark = next((VENV / "lib").glob("python*/site-packages/pyspark/jars"))
    found = components([*spark.glob("*.jar"), *(VENV / "jars").glob("*.jar")])
    asked.bill.parent.mkdir(parents=True, exist_ok=True)
    asked.bill.write_text(json.dumps(bill_of_materials(found), indent=1), encoding="utf-8")
    print(f"{len(found):,} components: {asked.bill}")
    return audit(found, asked.osv)


if __name__ == "__main__":
    sys.exit(main())
