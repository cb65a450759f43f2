"""`make audit`: everything that runs is in the bill, an advisory that nobody accepted fails, and silence is said."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import pyspark
import pytest

import audit
from audit import Component
from retable.jars import read_pins

SPARK = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
LZ4 = Component("Maven", "org.lz4:lz4-java", "1.8.0")


@contextmanager
def answering(advisories: dict[str, list[str]]) -> Iterator[str]:
    """A server that knows these advisories by purl, and forgets none that it is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            ids = [advisories.get(each["package"]["purl"], []) for each in asked]
            results = [{"vulns": [{"id": each} for each in some]} if some else {} for some in ids]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"results": results}).encode())

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def found() -> list[Component]:
    return audit.components(SPARK)


def test_the_bill_has_every_pin_and_every_jar_of_spark_with_a_group(found: list[Component]) -> None:
    assert {Component("PyPI", "pyspark", "4.1.3"), Component("PyPI", "hatchling", "1.33.0"), LZ4} <= set(found)
    # PyPI's own spelling of typing_extensions: by another one nothing would be found.
    assert "typing-extensions" in {each.name for each in found}
    assert not any("_" in each.name for each in found if each.ecosystem == "PyPI")
    for group, artifact, version in (coordinates.split(":") for coordinates in read_pins()):
        assert Component("Maven", f"{group}:{artifact}", version) in found
    assert [each for each in found if not each.is_known] == []
    bill = audit.bill_of_materials(found)
    assert len(bill["components"]) == len(found)
    assert f"pkg:maven/org.lz4/lz4-java@{LZ4.version}" in json.dumps(bill)


def test_what_was_shaded_into_a_jar_is_in_the_bill(tmp_path: Path) -> None:
    jar = tmp_path / "own-1.jar"
    with ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/maven/a.b/c/pom.properties", "#\nversion=2.1\ngroupId=a.b\nartifactId=c\n")
    assert Component("Maven", "a.b:c", "2.1") in audit.components([jar])


def test_an_advisory_is_open_unless_it_is_accepted_for_this_version(
    found: list[Component], capsys: pytest.CaptureFixture[str]
) -> None:
    accepted = {LZ4.purl: ["GHSA-vqf4-7m7x-wgfc"]}
    with answering(accepted) as address:
        assert audit.audit(found, address) == 0
    assert "accepted: GHSA-vqf4-7m7x-wgfc of org.lz4:lz4-java 1.8.0: Spark unpacks" in capsys.readouterr().out
    newer = Component("Maven", LZ4.name, "1.8.1")
    with answering(accepted | {newer.purl: ["GHSA-vqf4-7m7x-wgfc"]}) as address:
        assert audit.audit([*found, newer], address) == 1
    assert "OPEN: GHSA-vqf4-7m7x-wgfc of org.lz4:lz4-java 1.8.1" in capsys.readouterr().out


def test_what_cannot_be_asked_is_named_as_unchecked(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.audit([LZ4], "http://127.0.0.1:1/") == 3
    assert "unchecked: all 1: advisories could not be fetched" in capsys.readouterr().out
    silent = Component("Maven", "silent", "1")
    with answering({}) as address:
        assert audit.audit([LZ4, silent], address) == 3
    assert "unchecked: silent 1: its jar does not declare its group" in capsys.readouterr().out


def test_what_is_accepted_is_pinned_and_has_a_reason(found: list[Component]) -> None:
    versions = {(each.name, each.version) for each in found}
    for (advisory, package, version), why in audit.accepted().items():
        assert (package, version) in versions, f"{advisory} is accepted of what no longer runs"
        assert len(why) > 30
