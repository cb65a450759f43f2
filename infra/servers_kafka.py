"""Get the jars of the Kafka broker that tests start: by Maven into `.servers/kafka`, each compared with its pin.

It needs Maven and Java 17, and no root rights. Does nothing if all of it is there.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JARS = ROOT / ".servers" / "kafka"
PINS = ROOT / "infra" / "servers_kafka.sha256"

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>retable</groupId><artifactId>kafka-of-the-tests</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>3.9.1</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""

NO_MAVEN = """\
Maven is missing; it gets the jars of Kafka's broker. Get it with:
  Debian, Ubuntu   sudo apt install maven
  Fedora           sudo dnf install maven
  macOS            brew install maven"""

WRONG_JARS = """\
The jars of Kafka's broker are not what infra/servers_kafka.sha256 pins, so none was kept: {names}.
Run `make servers` again. If it stays so, do not trust the source of the jars."""


class ServerError(Exception):
    """A server could not be installed. The message says what is missing, and how to get it."""


def digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of every jar in a folder, by the name of the jar."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("*.jar"))}


def read_pins(text: str) -> dict[str, str]:
    """Read a file such as infra/servers_kafka.sha256. Return the sha256 of every jar by its name."""
    return {name: digest for digest, name in (line.split() for line in text.splitlines())}


def install_kafka() -> Path:
    """Install the broker's jars and return their folder. Raise ServerError if Maven is missing or a jar is wrong."""
    pins = read_pins(PINS.read_text(encoding="utf-8"))
    if digests(JARS) == pins:
        return JARS
    JARS.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=JARS.parent) as work:
        copied = copy_jars(Path(work))
        found = digests(copied)
        if wrong := sorted(dict(pins.items() ^ found.items())):
            raise ServerError(WRONG_JARS.format(names=", ".join(wrong)))
        shutil.rmtree(JARS, ignore_errors=True)
        copied.rename(JARS)
    return JARS


def copy_jars(work: Path) -> Path:
    """Let Maven copy the broker and its dependencies into a folder inside `work`."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError(NO_MAVEN)
    (work / "pom.xml").write_text(_POM, encoding="utf-8")
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={work / 'jars'}"]
    command = [maven, "--quiet", "--batch-mode", "--file", str(work / "pom.xml"), _COPY, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ServerError(f"Maven could not get the jars of Kafka's broker; it needs the network:\n{done.stdout}")
    return work / "jars"


if __name__ == "__main__":
    try:
        print(f"Kafka's broker is in {install_kafka()}")
    except ServerError as error:
        sys.exit(str(error))
