"""Texts, labels and bytes of a message to values of gold."""

from collections.abc import Callable

from retable.decode.number_text import fit_whole, read_whole
from retable.decode.number_values import number_converter
from retable.decode.time_values import ValueRules, time_converter
from retable.decode.wire import (
    Convert,
    Day,
    Enum,
    Exact,
    Instant,
    LabelSet,
    Latin1Text,
    Octets,
    Text,
    Untyped,
    Value,
    WallClock,
    Whole,
    refuse,
)
from retable.model.schema import GoldType

TextForm = Text | Latin1Text | Enum | LabelSet | Octets | Untyped

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def text_converter(
    form: Text | Latin1Text | Enum | LabelSet | Octets | Untyped, gold: GoldType, rules: ValueRules
) -> Convert:
    """Compile texts, labels and bytes to a gold type. Text becomes whatever it spells in that type's usual form."""
    match form:
        case Text():
            return str.encode if gold.kind == "binary" else _spelled(WallClock(), gold, rules)
        case Untyped():
            return _octets(None) if gold.kind == "binary" else _spelled(Instant(), gold, rules)
        case Latin1Text():
            return _then(_latin1_as_utf8, text_converter(Text(), gold, rules))
        case Enum():
            if form.by_number and gold.kind in ("int", "long"):
                return number_converter(Whole(), gold)
            return _then(_label_reader(form), text_converter(Text(), gold, rules))
        case LabelSet():
            if form.by_mask and gold.kind in ("int", "long"):
                return number_converter(Whole(), gold)
            return _then(_labels_reader(form), text_converter(Text(), gold, rules))
        case Octets(length):
            read = _octets(length)
            match gold.kind:
                case "binary":
                    return read
                case "string":
                    return lambda text: read(text).decode()
                case _:
                    return refuse("a sequence of bytes")


def _spelled(zoned: WallClock | Instant, gold: GoldType, rules: ValueRules) -> Convert:
    """Read text as what it spells; `zoned` is the form in which it spells a timestamptz."""
    match gold.kind:
        case "string" | "binary":
            return str
        case "boolean":
            return _truth
        case "int" | "long":
            return number_converter(Whole(), gold)
        case "decimal" | "float" | "double":
            return number_converter(Exact(None), gold)
        case "date":
            return time_converter(Day(), gold, rules)
        case "timestamp":
            return time_converter(WallClock(), gold, rules)
        case "timestamptz":
            return time_converter(zoned, gold, rules)


def _then(first: Callable[[str], str], second: Convert) -> Convert:
    return lambda text: second(first(text))


def _truth(text: str) -> Value:
    if text not in _TRUTHS:
        raise ValueError("not true, false, 1 or 0")
    return _TRUTHS[text]


def _latin1_as_utf8(text: str) -> str:
    return text.encode("latin-1").decode()


def _octets(length: int | None) -> Callable[[str], bytes]:
    return lambda text: text.encode("latin-1").ljust(length or 0, b"\0")


def _label_reader(form: Enum) -> Callable[[str], str]:
    if not form.by_number:
        return lambda text: _known(text, form.labels)
    if not form.labels:
        return _no_labels
    labels = ("", *form.labels)
    fit = fit_whole(0, len(form.labels))
    return lambda text: labels[fit(read_whole(text))]


def _labels_reader(form: LabelSet) -> Callable[[str], str]:
    if not form.by_mask:
        return lambda text: ",".join(_known(label, form.labels) for label in text.split(","))
    if not form.labels:
        return _no_labels
    fit = fit_whole(0, 2 ** len(form.labels) - 1)

    def read(text: str) -> str:
        mask = fit(read_whole(text))
        return ",".join(label for bit, label in enumerate(form.labels) if mask >> bit & 1)

    return read


def _known(label: str, labels: tuple[str, ...]) -> str:
    """A message that names no labels is believed; otherwise a label must be one of them, or MySQL's empty value."""
    if label and labels and label not in labels:
        raise ValueError(f"not one of {', '.join(map(repr, labels))}")
    return label


def _no_labels(_: str) -> str:
    raise ValueError("it stands for a label, and the message does not tell the labels")
