"""Make docs/reference/settings.md: every setting with its type, default and example."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from importlib import import_module
from inspect import get_annotations, getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from reference.docstrings import docstrings
from reference.markdown import code, page, paragraphs, table
from retable.formats.options import docstring_of
from retable.formats.registry import FORMATS
from retable.settings.airflow import AirflowSettings
from retable.settings.lake import LakeSettings
from retable.settings.load import entry_of
from retable.settings.sources import FilesSource, KafkaAccess, KafkaSource, Retention, SourceSettings
from retable.settings.storage import S3Settings
from retable.settings.tables import TableRules
from retable.settings.types import ChangeRules, Notify

EXAMPLE = "docs/reference/example.toml"
"""The settings file with each setting once. The page takes its examples from there, and a test loads it."""

_TYPES = ("settings.types", "settings.storage", "settings.catalogs", "settings.airflow", "formats.options")
_HEADS = ("setting", "meaning", "example")

INTRODUCTION = """
Settings are one TOML file, a folder of such files, or an object of S3. `retable --settings` names it, else the
variable `RETABLE_SETTINGS`, else it is `retable.toml` in the current folder. A name that no setting has is an error
that names the nearest setting. A relative path starts at the folder of the settings file. No setting holds a secret: it
names the environment variable that does.

[example.toml](example.toml) has every setting once. The examples below come from there.
"""


def settings_page(root: Path) -> str:
    """Return the page. Raise LookupError if a setting has no docstring, or is not in the example file."""
    example = read_example((root / EXAMPLE).read_text(encoding="utf-8"))
    return page("Settings", INTRODUCTION, *(part for section in sections() for part in _section(*section, example)))


def read_example(text: str) -> dict[str, Any]:
    """Read the example file, with settings that are comments there because other settings exclude them."""
    return tomllib.loads(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))


def sections() -> Iterator[tuple[str, type[BaseModel], tuple[str, ...]]]:
    """Yield the sections of the settings: a title, the model, and its path in the settings file."""
    yield "`[lake]`: where the tables are", LakeSettings, ("lake",)
    yield "`[lake.s3]`, `[sources.<name>.s3]`: object storage", S3Settings, ("lake", "s3")
    yield "`[sources.<name>]`: a source of any kind", SourceSettings, ("sources", "*")
    yield '`kind = "files"`: messages in a folder or in object storage', FilesSource, ("sources", "kind=files")
    yield '`kind = "kafka"`: messages in topics', KafkaSource, ("sources", "kind=kafka")
    yield "`[sources.<name>.kafka]`: how brokers let a user in", KafkaAccess, ("sources", "*", "kafka")
    yield "`[sources.<name>.retention]`: how long rows are kept", Retention, ("sources", "*", "retention")
    yield "`notify`: whom an alert reaches", Notify, ("sources", "*", "notify", "*")
    for name, known in FORMATS.items():
        if known.options.model_fields:
            yield f'`format = "{name}"`: settings of this format', known.options, ("sources", f"format={name}")
            for field, option in known.options.model_fields.items():
                if (entry := entry_of(option)) is not None:
                    yield f"`{field}`: an entry, of `{name}`", entry, ("sources", "*", field, "*")
    yield '`[tables."<glob>"]`: what is said of a table', TableRules, ("tables", "*")
    yield '`[tables."<glob>".on]`: what changes of the source do', ChangeRules, ("tables", "*", "on")
    yield "`[airflow]`: who may do what", AirflowSettings, ("airflow",)


def _section(title: str, model: type[BaseModel], place: tuple[str, ...], example: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}"
    yield paragraphs(getdoc(model) or "")
    yield table(_HEADS, (_row(model, name, field, place, example) for name, field in own_fields(model)))


def own_fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of a model. For a kind of source, fields that all sources have are left out."""
    for name, field in model.model_fields.items():
        if name in get_annotations(model) or not issubclass(model, SourceSettings):
            yield name, field


def _row(
    model: type[BaseModel], name: str, field: FieldInfo, place: tuple[str, ...], example: Mapping[str, Any]
) -> list[str]:
    meaning = docstring_of(model, name)
    if not meaning:
        raise LookupError(f"{model.__name__}.{name} has no docstring")
    spelled = field.alias or name
    if (model, name) == (SourceSettings, "name"):
        return [code("<name>"), f"{meaning}<br>{_takes(model, name)}", code("[sources.erp]")]
    examples = [each[spelled] for each in _places(example, place) if spelled in each]
    if not examples:
        raise LookupError(f"{EXAMPLE} has no {'.'.join((*place, spelled))}")
    words = f"{meaning}<br>*Takes* {_takes(model, name)}. *Default:* {_default(field)}"
    return [code(spelled), words, code(f"{spelled} = {toml(examples[0])}")]


def _places(found: Any, place: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Yield all entries at a path of the settings. `*` means every entry, `kind=files` every entry with this value."""
    if not place:
        yield found
        return
    name, *more = place
    wanted, _, value = name.partition("=")
    entries = list(found.values() if isinstance(found, Mapping) else found)
    inside = entries if name == "*" else [found.get(name)]
    if value:
        inside = [each for each in entries if each.get(wanted) == value]
    for each in inside:
        if each is not None:
            yield from _places(each, tuple(more))


def toml(value: object) -> str:
    """Write a value as TOML."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            quote = "'" if "\\" in value or '"' in value else '"'
            return f"{quote}{value}{quote}"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return f"{{ {', '.join(f'{name} = {toml(each)}' for name, each in value.items())} }}"
        case _:
            return str(value)


# --- what a setting takes ----------------------------------------------------------------------------------------
def _takes(model: type[BaseModel], name: str) -> str:
    kind = next(each for each in model.__mro__ if name in get_annotations(each))
    return _words(get_annotations(kind)[name])


def _words(kind: Any) -> str:
    """Return a text that says which values a type has."""
    if (named := _named(kind)) is not None:
        return named
    if get_origin(kind) is Annotated:
        inside, *limits = get_args(kind)
        return _words(inside) + _limits(limits)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_words(each) for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is Literal:
        *others, last = (code(str(each)) for each in get_args(kind))
        return f"{', '.join(others)} or {last}" if others else last
    if get_origin(kind) is tuple:
        return f"a list; each is {_words(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return f"a table: a name, and {_words(get_args(kind)[1])}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "a table, see below"
    return {str: "text", int: "a whole number", bool: "`true` or `false`"}[kind]


def _limits(limits: list[object]) -> str:
    bounds = [getattr(each, "metadata", [each]) for each in limits]
    least = [each.ge for bound in bounds for each in bound if isinstance(each, Ge)]
    most = [each.le for bound in bounds for each in bound if isinstance(each, Le)]
    return "".join([f", at least {least[0]:,}" if least else "", f", at most {most[0]:,}" if most else ""])


def _named(kind: object) -> str | None:
    """Return the docstring of a type that is assigned to a name in the settings modules, or None."""
    for module in _TYPES:
        for name, words in docstrings(f"retable.{module}").items():
            if getattr(import_module(f"retable.{module}"), name, None) is kind:
                return words
    return None


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "none; it is required"
    match value:
        case None | () | "" | BaseModel() | dict():
            return "not set"
        case timedelta():
            return code(toml(_span(value)))
        case tuple():
            return code(toml(list(value)))
        case bool() | int() | str():
            return code(toml(value))
        case _:
            return code(toml(str(value)))


def _span(value: timedelta) -> str:
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if value and not value.total_seconds() % seconds:
            return f"{int(value.total_seconds() // seconds)}{unit}"
    return "0"
