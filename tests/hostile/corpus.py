"""What an attacker writes into names, values, statements, forms and settings; the tests let it through everything."""

import json
from collections.abc import Iterator
from pathlib import Path
from unicodedata import bidirectional, category

CANARY = "S3CR3T-canary-9x"
"""The value of every secret: it must be nowhere but in the environment."""

TEMPLATE = "{{ 'JINJA' ~ 'MADE' }}{% if 1 %}${jndi:ldap://127.0.0.1:1/x}%s%n{{ conn.shop_db.password }}"
"""What Jinja would make a word of, Log4j would look up, and Python would fill in."""
RENDERED = "JINJA" + "MADE"

OBEYED = "\x1b[2J\x1b]0;title\x07\x07\r\x08\x7f\x9b31m\u202e\u2066\u2028\x00"
"""What a terminal obeys: clearing, titles, bells, C1, changes of direction, ends of lines."""

WORDS = f"{TEMPLATE} {OBEYED} `'\";--"

NAMES = (
    "../../../etc/passwd",
    "t`; DROP TABLE x; --",
    't"; DROP TABLE x; --',
    TEMPLATE,
    f"shown{OBEYED}",
    "_file",
    "a.b",
    "\u200b",
    "select",
    "n" * 120,
    "C:\\con\n",
    "%2e%2e%2f",
)
STATEMENTS = (
    f"CREATE TABLE `{TEMPLATE}` (id int primary key, c varchar(20) default '{TEMPLATE}')",
    f"ALTER TABLE t ADD COLUMN `{OBEYED.replace(chr(0), '')}` int /* {WORDS} */",
    "ALTER TABLE t ADD c2 int; DROP TABLE t",
    "CREATE TABLE t2 LOCATION '/tmp/elsewhere' AS SELECT 1",
    f"LOAD DATA {WORDS}",
    "DROP TABLE t",
)
RUBBISH = (b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap", b"\x80\x04cos\nsystem\n.", b"\x1b[2J\xff", WORDS.encode())


def messages() -> Iterator[bytes]:
    """Messages of Canal: a row of a table, and of a column, of every name; the statements; what is none."""
    for name in NAMES:
        yield _row(name, {"id": "1", "c": WORDS})
        yield _row("columns", {"id": "1", name: WORDS})
        yield _row("values", {"id": name, "c": name})
    for number, statement in enumerate(STATEMENTS):
        yield _message("t", type="CREATE" if number == 0 else "ALTER", isDdl=True, sql=statement, data=None)
    yield from (line.replace(b"\n", b" ") for line in RUBBISH)


def _row(table: str, row: dict[str, str]) -> bytes:
    types = dict.fromkeys(row, "varchar(900)")
    return _message(table, type="INSERT", isDdl=False, pkNames=["id"], mysqlType=types, data=[row], sql="")


def _message(table: str, **fields: object) -> bytes:
    return json.dumps({"database": "shop", "table": table, "es": 1700000000000, **fields}).encode()


def settings(folder: Path) -> str:
    """Settings of a lake with these messages."""
    return f"""
[lake]
catalog = "sqlite:///{folder}/lake/catalog.db"
warehouse = "{folder}/lake"

[sources.bad]
kind = "files"
format = "canal_json"
path = "{folder}/in"
layout = "lines"
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'
owner = {json.dumps(TEMPLATE)}
sla = "1h"
spark_door = "doors:recording"

[tables."shop.t"]
types = {{ c = "string" }}
"""


def is_obeyed(char: str) -> bool:
    """Whether a terminal obeys a character: controls, other ends of lines, changes of direction."""
    return char not in "\n\t" and (category(char) in ("Cc", "Zl", "Zp") or bidirectional(char) in _TURNS)


NOBODY = """
[sources.nobody]
kind = "kafka"
format = "canal_json"
bootstrap = "127.0.0.1:1"
topics = ["t"]
kafka = { security_protocol = "SASL_PLAINTEXT", username_env = "HOSTILE_USER", password_env = "HOSTILE_PASSWORD" }
"""
"""A source at a broker that nobody is."""

_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
