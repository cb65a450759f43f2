"""The error tree: what its module draws, and codes that are never shared."""

import inspect
import re
from itertools import pairwise

from retable import errors
from retable.errors import RetableError

_BRANCH = re.compile(r"^    [├└]─ (\w+) +([A-Z]+)\b", re.MULTILINE)


def test_the_docstring_draws_the_classes_below_the_root_with_what_happens_next() -> None:
    assert dict(_BRANCH.findall(errors.__doc__ or "")) == {
        kind.__name__: kind.remedy for kind in RetableError.__subclasses__()
    }


def test_no_other_class_has_a_remedy_of_its_own() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, RetableError)]
    assert len(kinds) > 30
    assert {kind.__base__ for kind in kinds if "remedy" in vars(kind)} == {Exception, RetableError}


def test_no_two_errors_share_a_code() -> None:
    codes = sorted(kind.code for _, kind in inspect.getmembers(errors, inspect.isclass))
    assert [one for one, other in pairwise(codes) if one == other] == []
