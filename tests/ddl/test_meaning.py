"""What statements mean comes back from text as it was."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from retable.ddl import meaning
from retable.ddl.meaning import from_meaning, reader_version, to_meaning
from retable.ddl.registry import PARSERS, parse_statement

PACKAGE = Path(meaning.__file__).parent.parent

TEXTS = [
    "CREATE TABLE t (id bigint unsigned NOT NULL DEFAULT 1, b enum('a','b') DEFAULT NULL, PRIMARY KEY (id))",
    "CREATE TABLE IF NOT EXISTS t LIKE s",
    "ALTER TABLE t ADD COLUMN c varchar(3) NOT NULL DEFAULT 'x' FIRST, DROP COLUMN d, MODIFY COLUMN e int AFTER f",
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, b)",
    "ALTER TABLE t ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES p (b) ON DELETE CASCADE ON UPDATE SET NULL",
    "ALTER TABLE t DROP FOREIGN KEY k",
    "ALTER TABLE t TRUNCATE PARTITION p0",
    "RENAME TABLE a TO b, c TO d",
    "TRUNCATE TABLE t",
    "DROP TABLE IF EXISTS a, b",
    "DROP DATABASE shop",
    "CREATE INDEX i ON t (a)",
    "ALTER TABLE t 'nobody knows",
]


@pytest.mark.parametrize("dialect", sorted(PARSERS))
@pytest.mark.parametrize("text", TEXTS)
def test_changes_come_back(dialect: str, text: str) -> None:
    changes = parse_statement(dialect, text, "shop", "app" if dialect != "mysql" else None, "t")
    assert from_meaning(to_meaning(changes)) == changes


def test_the_reader_has_a_version_that_is_the_same_in_every_process() -> None:
    assert len(reader_version()) == 16
    reader_version.cache_clear()
    assert reader_version() == reader_version()


def test_the_reader_is_the_same_one_where_the_package_is_in_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "retable.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for file in PACKAGE.rglob("*"):
            if file.suffix != ".pyc":
                written.write(file, file.relative_to(PACKAGE.parent))
    asked = f"import sys; sys.path.insert(0, {str(archive)!r}); from retable.ddl import meaning; "
    asked += "print(meaning.__file__, meaning.reader_version())"
    ended = subprocess.run([sys.executable, "-P", "-c", asked], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [str(archive / "retable/ddl/meaning.py"), reader_version()]
