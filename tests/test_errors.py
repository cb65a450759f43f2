"""The error tree, as its module draws it, is the one that the classes make."""

import inspect
import re
from itertools import pairwise

from retable import errors
from retable.errors import RetableError

_NODE = re.compile(r"^    (?P<branch>[│├└─ ]*) (?P<name>[A-Z]\w+)(?: +(?P<remedy>[A-Z]{3,})\b)?", re.MULTILINE)


def _drawn() -> dict[str, tuple[str, str]]:
    """Name, parent and remedy of each class below the root; a class that has no remedy of its own has its parent's."""
    tree: dict[str, tuple[str, str]] = {}
    path = [(0, "RetableError", "STOP")]
    for node in _NODE.finditer(errors.__doc__ or ""):
        depth, name = len(node["branch"]), node["name"]
        path = [step for step in path if step[0] < depth]
        _, parent, inherited = path[-1]
        path.append((depth, name, node["remedy"] or inherited))
        tree[name] = (parent, path[-1][2])
    return tree


def _made() -> dict[str, tuple[str, str]]:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, RetableError)]
    return {kind.__name__: (kind.__base__.__name__, kind.remedy) for kind in kinds if kind is not RetableError}


def test_the_tree_in_the_docstring_has_every_error_under_its_parent_with_its_remedy() -> None:
    assert _drawn() == _made()


def test_no_two_errors_share_a_code() -> None:
    codes = sorted(kind.code for _, kind in inspect.getmembers(errors, inspect.isclass))
    assert [one for one, other in pairwise(codes) if one == other] == []
