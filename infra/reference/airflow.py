"""Make docs/reference/airflow.md: what users' DAG files can import. The plugin's files are read without Airflow."""

import ast
from collections.abc import Iterator
from pathlib import Path

from reference.markdown import code, page, paragraphs, table

_PLUGIN = Path(__file__).resolve().parents[2] / "plugins" / "retable_airflow"

PUBLIC: dict[str, tuple[str, ...]] = {
    "__init__": ("dags",),
    "freshness": ("FreshnessSensor",),
    "doors": ("SparkJob", "spark_submit", "kubernetes"),
    "notify": ("WebhookNotifier", "FileNotifier"),
    "alerts": ("Alert",),
}
"""The names that users may import, by module of the plugin."""

_DAGS = {
    "replay_changes": "replay_changes__<source>",
    "window": "replay_window",
    "decide": "decide_hold`, `watch_holds",
    "upkeep": "keep_tables",
    "watch_tables": "watch_tables",
}

INTRODUCTION = """
These names are public: a DAG file of your own may import them. [Retable in your Airflow](../how-to/airflow.md) shows
how to use them.
"""


def airflow_page() -> str:
    """Return the page. Raise LookupError if a public name has no docstring."""
    dags = ([code(name), _first(_module(module))] for module, name in _DAGS.items())
    return page("Airflow", INTRODUCTION, "## DAGs", table(("DAG", "what it does"), dags), *_members())


def _members() -> Iterator[str]:
    for module, names in PUBLIC.items():
        found = {each.name: each for each in _module(module).body if isinstance(each, ast.ClassDef | ast.FunctionDef)}
        for name in names:
            path = "retable_airflow" if module == "__init__" else f"retable_airflow.{module}"
            yield f"## {name}"
            yield f"    from {path} import {name}"
            yield _signature(found[name])
            yield paragraphs(_docstring(found[name]))


def _signature(found: ast.ClassDef | ast.FunctionDef) -> str:
    made = next((each for each in found.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if isinstance(found, ast.FunctionDef) or made is not None:
        function = made or found
        assert isinstance(function, ast.FunctionDef)
        arguments = [part for part in ast.unparse(function.args).split(", ") if part != "self"]
        return f"    {found.name}({', '.join(arguments)})"
    fields = [each for each in found.body if isinstance(each, ast.AnnAssign)]
    return table(
        ("field", "type"), ([code(ast.unparse(each.target)), code(ast.unparse(each.annotation))] for each in fields)
    )


def _module(name: str) -> ast.Module:
    return ast.parse((_PLUGIN / f"{name}.py").read_text(encoding="utf-8"))


def _docstring(found: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(found)
    if not text:
        raise LookupError(f"{getattr(found, 'name', 'a module of the plugin')} has no docstring")
    return text


def _first(module: ast.Module) -> str:
    return _docstring(module).splitlines()[0]
