"""Get the servers that tests start and that need no root. Print the system packages that have the other servers.

The jars of Iceberg's REST catalog, each compared with its pin, and our launcher for it go into `.servers/rest`; those
of Kafka's broker into `.servers/kafka`; an S3 store into `.servers/store`. It needs Maven and Java 17. Does nothing if
all of it is there.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from servers_kafka import NO_MAVEN, ServerError, digests, install_kafka, read_pins
from servers_store import install_store

ROOT = Path(__file__).resolve().parent.parent
REST = ROOT / ".servers" / "rest"
PINS = ROOT / "infra" / "servers_rest.sha256"
LAUNCHER = ROOT / "infra" / "RestCatalogOnLoopback.java"

PACKAGES = """\
The tests start the servers of these system packages, as this user or as the server's user, on loopback:
  Debian, Ubuntu   sudo apt install postgresql mariadb-server
  Fedora           sudo dnf install postgresql-server mariadb-server
  macOS            brew install postgresql@15 mariadb"""

WRONG_JARS = """\
The jars of Iceberg's REST catalog are not what infra/servers_rest.sha256 pins, so none was kept: {names}.
Run `make servers` again. If it stays so, do not trust the source of the jars."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_ICEBERG, _JETTY = "1.10.1", "11.0.26"
"""The newest Iceberg whose REST catalog for tests is published."""

_WANTED = (
    ("org.apache.iceberg", "iceberg-open-api", _ICEBERG, "test-fixtures"),
    ("org.apache.iceberg", "iceberg-core", _ICEBERG, None),
    ("org.apache.iceberg", "iceberg-core", _ICEBERG, "tests"),
    ("org.apache.iceberg", "iceberg-api", _ICEBERG, "tests"),
    ("org.apache.iceberg", "iceberg-aws", _ICEBERG, None),
    ("org.apache.iceberg", "iceberg-aws-bundle", _ICEBERG, None),
    ("org.eclipse.jetty", "jetty-server", _JETTY, None),
    ("org.eclipse.jetty", "jetty-servlet", _JETTY, None),
    ("org.junit.jupiter", "junit-jupiter-api", "5.10.2", None),
    ("org.assertj", "assertj-core", "3.27.3", None),
    ("org.slf4j", "slf4j-simple", "2.0.17", None),
)
_BESIDE = ("jars/*sqlite-jdbc-*.jar", "**/pyspark/jars/hadoop-client-*.jar")
"""Jars that the REST catalog needs and that are installed with Spark already."""


def rest_classpath() -> str:
    """Return the class path of the REST catalog. Raise ServerError if `make servers` has not run."""
    beside = [str(jar) for pattern in _BESIDE for jar in sorted((ROOT / ".venv").glob(pattern))]
    if not (REST / LAUNCHER.with_suffix(".class").name).exists():
        raise ServerError(f"Iceberg's REST catalog is not in {REST}; run `make servers`")
    return ":".join([str(REST), f"{REST}/*", *beside])


def install_rest() -> Path:
    """Get the REST catalog's jars, compile its launcher and return the folder. Raise ServerError if this fails."""
    pins = read_pins(PINS.read_text(encoding="utf-8"))
    if digests(REST) != pins:
        REST.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=REST.parent) as work:
            copied = copy_jars(Path(work))
            if wrong := sorted(dict(pins.items() ^ digests(copied).items())):
                raise ServerError(WRONG_JARS.format(names=", ".join(wrong)))
            shutil.rmtree(REST, ignore_errors=True)
            copied.rename(REST)
    compiled = REST / LAUNCHER.with_suffix(".class").name
    if not compiled.exists() or compiled.stat().st_mtime < LAUNCHER.stat().st_mtime:
        _run(["javac", "-cp", f"{REST}/*", "-d", str(REST), str(LAUNCHER)], "the launcher of the REST catalog")
    return REST


def copy_jars(work: Path) -> Path:
    """Let Maven copy the REST catalog and its dependencies into a new folder in `work`. Return the folder."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError(NO_MAVEN)
    (work / "pom.xml").write_text(_pom(), encoding="utf-8")
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={work / 'jars'}"]
    command = [maven, "--quiet", "--batch-mode", "--file", str(work / "pom.xml"), _COPY, *options]
    _run(command, "the jars of Iceberg's REST catalog; it needs the network")
    return work / "jars"


def _pom() -> str:
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>retable</groupId><artifactId>rest-catalog-of-the-tests</artifactId><version>1</version>"
        f"<dependencies>{''.join(_dependency(*wanted) for wanted in _WANTED)}</dependencies></project>"
    )


def _dependency(group: str, artifact: str, version: str, classifier: str | None) -> str:
    kind = f"<classifier>{classifier}</classifier>" if classifier else ""
    # Of the dependencies of the fixtures, only those named here are used.
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    named = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{kind}"
    return f"<dependency>{named}{alone if classifier == 'test-fixtures' else ''}</dependency>"


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ServerError(f"{command[0]} could not make {what}:\n{done.stdout}")


if __name__ == "__main__":
    try:
        print(f"Kafka's broker is in {install_kafka()}")
        print(f"Iceberg's REST catalog is in {install_rest()}")
        print(f"The store of S3 is {install_store()}")
    except (ServerError, OSError) as error:
        sys.exit(str(error))
    print(PACKAGES)
