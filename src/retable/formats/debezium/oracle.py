"""How Debezium writes the values of a declared Oracle type, if no schema part gives the type.

Source: the connector's documentation, data type mappings. NUMBER without digits after the point is a whole number in
every mode if 64 bits hold it. All other numbers are decimals; unbounded ones contain their own scale.
"""

import re

from retable.formats.debezium.options import DecimalMode
from retable.values.encodings import (
    Base64,
    Encoding,
    Exact,
    Real,
    SelfScaled,
    SpanTicks,
    Text,
    Unread,
    Unscaled,
    Whole,
    Zoned,
)

_TYPE = re.compile(r"\s*([a-z_0-9]+(?: precision| raw)?)\s*(?:\(([^()]*)\))?(.*)", re.IGNORECASE | re.DOTALL)
_LARGEST = 38
_WHOLE_DIGITS = 19
_TIMESTAMP_DIGITS = 6


def oracle_form(declared: str, decimal_mode: DecimalMode) -> Encoding | int | None:
    """Return the encoding of values of a declared Oracle type, such as `NUMBER(10,2)`; None if the type is unknown.

    For a DATE or a TIMESTAMP without zone, return its number of fractional digits of a second instead: their encoding
    also depends on the option `time_mode`. `decimal_mode` is the connector's setting `decimal.handling.mode`.
    """
    found = _TYPE.match(declared)
    if found is None:
        return None
    base, arguments, tail = found[1].lower(), [part.strip() for part in (found[2] or "").split(",")], found[3].lower()
    match base:
        case "number" | "numeric" | "decimal" | "dec":
            return _number(arguments, base == "number", decimal_mode)
        case "integer" | "int" | "smallint":
            return _decimal(0, decimal_mode)
        case "float" | "real" | "double precision":
            return _decimal(None, decimal_mode)
        case "binary_float" | "binary_double":
            return Real(32 if base == "binary_float" else 64, named=True)
        case "date":
            return 0
        case "timestamp":
            digits = int(arguments[0]) if arguments[0].isdecimal() else _TIMESTAMP_DIGITS
            return Zoned() if "zone" in tail else digits
        case "raw" | "blob" | "long raw":
            return Base64(None)
        case "interval":
            return SpanTicks(6)
        case "char" | "nchar" | "varchar" | "varchar2" | "nvarchar2" | "clob" | "nclob" | "character" | "national":
            return Text()
    return None


def _number(arguments: list[str], may_float: bool, mode: DecimalMode) -> Encoding:
    if arguments in ([""], ["*"]):
        return _decimal(None if may_float else 0, mode)
    digits = int(arguments[0]) if arguments[0].isdecimal() else _LARGEST
    scale = int(arguments[1]) if len(arguments) > 1 else 0
    if scale <= 0 and digits - scale < _WHOLE_DIGITS:
        return Whole()
    return _decimal(scale, mode)


def _decimal(scale: int | None, mode: DecimalMode) -> Encoding:
    match mode:
        case "string":
            return Exact(None)
        case "double":
            return Real(64, named=True)
    if scale is None:
        return SelfScaled()
    if scale < 0:
        return Unread("the column has a negative scale; set schemas.enable=true in the connector's value.converter")
    return Unscaled(scale)
