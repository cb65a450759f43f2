"""Find the gold type of a PostgreSQL column type. Types are spelled as by PostgreSQL's function `format_type`."""

import re

from retable.model.schema import GoldType

_TYPE = re.compile(r"(?P<base>[a-z ]+?)\s*(?:\((?P<arguments>[\d,\s-]+)\))?(?P<zone> with(?:out)? time zone)?\Z")
_WIDEST = 38
_KINDS: dict[str, GoldType] = {
    **dict.fromkeys(("smallint", "integer"), GoldType("int")),
    "bigint": GoldType("long"),
    "real": GoldType("float"),
    "double precision": GoldType("double"),
    "boolean": GoldType("boolean"),
    "date": GoldType("date"),
    "bytea": GoldType("binary"),
    **dict.fromkeys(("text", "character varying", "character", "uuid", "json", "jsonb", "xml"), GoldType("string")),
    **dict.fromkeys(("time", "interval", "inet", "cidr", "macaddr", "tsvector", "citext"), GoldType("string")),
}


def gold_type(source_type: str, has_lengths: bool) -> GoldType | None:
    """Return the gold type. Return None for a type that this module does not know, such as an enum, an array or bits.

    Retable then takes the type from the messages. `has_lengths` says whether the messages write types with their
    lengths. It has no effect in PostgreSQL.
    """
    found = _TYPE.match(source_type.lower())
    if found is None:
        return None
    base, zone = found["base"], found["zone"]
    if base == "timestamp":
        return GoldType("timestamptz" if zone == " with time zone" else "timestamp")
    if base == "numeric":
        return _numeric(found["arguments"])
    return _KINDS.get(base)


def _numeric(arguments: str | None) -> GoldType:
    precision, scale = (int(part) for part in (arguments or "0,0").split(","))
    fits = 0 < precision <= _WIDEST and 0 <= scale <= precision
    return GoldType("decimal", precision, scale) if fits else GoldType("string")
