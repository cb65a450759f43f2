"""Get the S3 store that tests kill: S3Proxy, by Maven into `.servers/store`; its objects are files on the disk.

It needs Maven and Java 17, and no root rights. Does nothing if it is there.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from servers_kafka import NO_MAVEN, ServerError

ROOT = Path(__file__).resolve().parent.parent
VERSION = "3.1.0"
DIGEST = "7e348225287f2efa580b1f9be170a3efe187bc6cfa9cd3730968863d1c7363ac"
STORE = ROOT / ".servers" / "store" / f"s3proxy-{VERSION}-jar-with-dependencies.jar"

WRONG_JAR = f"""\
The jar of S3Proxy {VERSION} is not what infra/servers_store.py pins, so it was not kept.
Run `make servers` again. If it stays so, do not trust the source of the jar."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_ARTIFACT = f"org.gaul:s3proxy:{VERSION}:jar:jar-with-dependencies"


def install_store() -> Path:
    """Install the jar of the store and return its path. Raise ServerError if Maven is missing or the jar is wrong."""
    if not STORE.exists():
        STORE.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=STORE.parent) as work:
            copied = copy_store(Path(work))
            if hashlib.sha256(copied.read_bytes()).hexdigest() != DIGEST:
                raise ServerError(WRONG_JAR)
            copied.rename(STORE)
    return STORE


def copy_store(work: Path) -> Path:
    """Let Maven copy the jar of the store into `work`."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError(NO_MAVEN)
    command = [maven, "--quiet", "--batch-mode", _COPY, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={work}"]
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ServerError(f"Maven could not get the jar of S3Proxy; it needs the network:\n{done.stdout}")
    return work / STORE.name


if __name__ == "__main__":
    try:
        print(f"The store of S3 is {install_store()}")
    except ServerError as error:
        sys.exit(str(error))
