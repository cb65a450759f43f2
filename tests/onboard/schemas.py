"""Dumps of schemas as large as a test needs: of a shop's tables many times over, and of genuine tables."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from retable.simulate.designs import DESIGNS
from retable.simulate.sql import Pen

CAPTURES = Path(__file__).parent.parent / "captures"


def genuine(checkpoint: str = "cp0_preload") -> dict[str, dict[str, object]]:
    """What a MariaDB server says of its tables, by `database.table`: its own CREATE, columns and key."""
    with gzip.open(CAPTURES / "truth_mariadb" / checkpoint / "schema.json.gz", "rt", encoding="utf-8") as file:
        found: dict[str, dict[str, object]] = json.load(file)
    return found


def genuine_dump() -> list[str]:
    """The lines of a dump of the genuine tables."""
    return "".join(_genuine_dump()).splitlines(keepends=True)


def _genuine_dump() -> Iterator[str]:
    """The genuine tables as mariadb-dump writes them, rows and a trigger among them."""
    yield "-- MariaDB dump 10.19  Distrib 10.11.14-MariaDB\n-- Host: localhost    Database: \n"
    for name, facts in genuine().items():
        database, _, table = name.partition(".")
        yield f"-- Current Database: `{database}`\n--\n\nUSE `{database}`;\n"
        yield from table_dump(table, str(facts["create"]))
    yield "DELIMITER ;;\n/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t BEFORE INSERT\n"
    yield "ON orders FOR EACH ROW BEGIN SET NEW.a = 'it''s'; UPDATE x SET b = 1; END */;;\nDELIMITER ;\n"


def table_dump(table: str, create: str) -> Iterator[str]:
    """One table as mysqldump writes it, with rows whose text looks like SQL."""
    yield f"DROP TABLE IF EXISTS `{table}`;\n/*!40101 SET @saved_cs_client = @@character_set_client */;\n{create};\n"
    yield f"LOCK TABLES `{table}` WRITE;\n/*!40000 ALTER TABLE `{table}` DISABLE KEYS */;\n"
    yield f"INSERT INTO `{table}` VALUES (1,'a;b\\'c','--'),(2,'CREATE TABLE q (id int);',NULL);\n"
    yield f"/*!40000 ALTER TABLE `{table}` ENABLE KEYS */;\nUNLOCK TABLES;\n"


def many(tables: int) -> dict[str, str]:
    """CREATE statements of so many tables, by name: the shop's designs, again and again."""
    pen, designs = Pen("shop"), list(DESIGNS.items())
    found = {}
    for number in range(tables):
        design, (columns, keys) = designs[number % len(designs)]
        name = design if number < len(designs) else f"{design}_{number:04}"
        found[name] = pen.create(name, columns, keys)
    return found


def many_dump(tables: int) -> list[str]:
    """The lines of a schema-only dump of so many tables of the database `shop`."""
    return "".join(_many_dump(tables)).splitlines(keepends=True)


def _many_dump(tables: int) -> Iterator[str]:
    yield "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: 127.0.0.1    Database: shop\n--\n"
    for name, create in many(tables).items():
        yield f"DROP TABLE IF EXISTS `{name}`;\n/*!50503 SET character_set_client = utf8mb4 */;\n{create};\n"


def shops_dump(shops: int) -> list[str]:
    """The lines of a schema-only dump of so many databases with the shop's five tables in each."""
    return "".join(_shops_dump(shops)).splitlines(keepends=True)


def _shops_dump(shops: int) -> Iterator[str]:
    yield "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n"
    for number in range(shops):
        database = shop(number)
        yield f"--\n-- Current Database: `{database}`\n--\n\nUSE `{database}`;\n"
        for name, (columns, keys) in DESIGNS.items():
            yield f"DROP TABLE IF EXISTS `{name}`;\n{Pen(database).create(name, columns, keys)};\n"


def shop(number: int) -> str:
    """The name of a shop's database."""
    return f"shop{number:03}"
