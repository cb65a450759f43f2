"""The docstrings below names of a module, which Python itself does not keep."""

import ast
from functools import cache
from importlib import import_module
from inspect import getsource
from itertools import pairwise


@cache
def docstrings(module: str) -> dict[str, str]:
    """Give the docstring below each name that a module assigns."""
    found = {}
    for line, below in pairwise(ast.parse(getsource(import_module(module))).body):
        match line, below:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
