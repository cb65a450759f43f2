"""Read the docstrings below assignments in a module. Python itself does not store them."""

import ast
from functools import cache
from importlib import import_module
from inspect import getsource
from itertools import pairwise


@cache
def docstrings(module: str) -> dict[str, str]:
    """Return the docstring below each assigned name of a module, by the name."""
    found = {}
    for line, below in pairwise(ast.parse(getsource(import_module(module))).body):
        match line, below:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
