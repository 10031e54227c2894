"""Every function of plait.numpy that NumPy has, with arguments drawn at random, against NumPy.

The tables (drawn_*.py) say how arguments are drawn. A draw that fails is written out, and can be
run again, or among many more than the tests run:

    python -m tests.numpy.test_drawn sum 7
    python -m tests.numpy.test_drawn sum mean --draws 500
"""

from __future__ import annotations

import argparse

import numpy as np
import pytest

import plait as jax
import plait.numpy as jnp
from plait.core.context import running
from plait.errors import PlaitError
from tests.numpy import (
    drawn_algebra,
    drawn_creation,
    drawn_elementwise,
    drawn_reductions,
    drawn_shapes,
)
from tests.numpy.common import Reference, by_meaning  # noqa: F401
from tests.numpy.drawing import (
    TABLE,
    Draw,
    answer,
    assert_close,
    leaves,
    map_arrays,
    namesake,
    result_dtype,
    written,
)

pytestmark = pytest.mark.usefixtures("by_meaning")

TABLES = (drawn_algebra, drawn_creation, drawn_elementwise, drawn_reductions, drawn_shapes)
DRAWS = 20


def check(name, number):
    """One draw of a function: the same result as NumPy's, or refused where NumPy refuses."""
    recipe, d = TABLE[name], Draw(name, number)
    args, kwargs = recipe.draw(d)
    with jax.enable_x64(d.x64):
        try:
            want, refused = answer(recipe, name, d, args, kwargs, jnp.result_type), None
        except (ValueError, TypeError, IndexError) as error:
            want, refused = None, error
        given = args, kwargs
        if d.on_device:
            given = map_arrays(jnp.asarray, given)
        try:
            got, error = namesake(jnp, name)(*given[0], **given[1]), None
        except PlaitError as caught:
            got, error = None, caught
        if refused is not None or error is not None:
            assert error is not None, f"NumPy refuses: {refused!r}; plait gives {got!r}"
            assert refused is not None, f"NumPy takes it; plait refuses: {error}"
            kinds = [k for k in (ValueError, TypeError, IndexError) if isinstance(refused, k)]
            assert isinstance(error, tuple(kinds)), f"{refused!r} in NumPy, here {error!r}"
            return
        if recipe.compare is not None:
            got, want = (recipe.compare(y, args, kwargs) for y in (got, want))
        compare(recipe, d, args, kwargs, got, want)


def compare(recipe, d, args, kwargs, got, want):
    got, want = leaves(got), leaves(want)
    assert len(got) == len(want), f"{len(got)} results, not {len(want)}"
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if not hasattr(g, "dtype"):
            assert g == w, f"{g!r}, not {w!r}"
            continue
        dtype = result_dtype(recipe, d, args, kwargs, w, jnp.result_type, k)
        assert_close(g, w, dtype, near=recipe.near, slack=recipe.slack)


# Callables that NumPy has too and that are tested elsewhere, with the reason.
ELSEWHERE = {
    "array_repr array_str set_printoptions get_printoptions printoptions": "text",
    "save savez load fromfile fromiter fromstring from_dlpack": "files and objects of other kinds",
    "finfo iinfo dtype": "questions about dtypes: test_promotion.py",
    "result_type": "the promotion that the draws rest on: test_promotion.py",
    "einsum_path": "an order of products, which may be another one",
    "vectorize": "makes a function: test_manipulation.py",
    "frompyfunc ufunc": "make functions: test_pyfunc.py",
    "ndarray": "the class of arrays",
}


def test_every_function_that_numpy_has_is_drawn():
    tested = {*TABLE, *" ".join(ELSEWHERE).split()}
    missing = []
    for prefix, module, theirs in (
        ("", jnp, np),
        ("linalg.", jnp.linalg, np.linalg),
        ("fft.", jnp.fft, np.fft),
    ):
        for name in module.__all__:
            function = getattr(module, name)
            # Abstract scalar types are NumPy's own classes, not functions.
            known = function is getattr(theirs, name, None) or prefix + name in tested
            if callable(function) and callable(getattr(theirs, name, None)) and not known:
                missing.append(prefix + name)
    assert not missing, f"without a recipe in tests/numpy/drawn_*.py: {missing}"


def test_the_lists_name_functions():
    for name in {*TABLE, *" ".join(ELSEWHERE).split()}:
        # NumPy 2.5 has no row_stack any more.
        known = name == "row_stack" or callable(namesake(np, name))
        assert known and callable(namesake(jnp, name)), name
    assert not set(TABLE) & set(" ".join(ELSEWHERE).split())


def shown(name, number):
    d = Draw(name, number)
    args, kwargs = TABLE[name].draw(d)
    where = "on device" if d.on_device else "NumPy arrays"
    return f"draw {number}{', enable_x64' if d.x64 else ''}, {where}: {written(name, args, kwargs)}"


def check_all(name, numbers):
    """Several draws of a function; what fails is written out."""
    for number in numbers:
        try:
            check(name, number)
        except Exception as error:
            again = f"python -m tests.numpy.test_drawn {name} {number}"
            raise AssertionError(f"{shown(name, number)}\n{again}\n{error}") from error


@pytest.mark.parametrize("name", sorted(TABLE))
def test_as_in_numpy(name):
    check_all(name, range(DRAWS))


# What decides shapes has to be known in a trace: the functions whose results have as many elements
# as arrays have elements of some kind; and questions, which are not answered by arrays.
NOT_TRACED = """argwhere bincount choose compress delete extract flatnonzero insert intersect1d ix_
mask_indices nonzero ravel_multi_index repeat roots setdiff1d setxor1d trim_zeros union1d unique
unique_all unique_counts unique_inverse unique_values ndim shape size iscomplexobj isrealobj
iterable broadcast_shapes promote_types can_cast isdtype issubdtype isscalar frombuffer""".split()


def outcome(function, *args):
    """The results of a call, or the error that it raises."""
    try:
        return jax.tree.leaves(function(*args))
    except PlaitError as error:
        return error


@pytest.mark.parametrize("name", sorted({*TABLE} - {*NOT_TRACED}))
def test_the_same_in_a_trace(name):
    for number in range(DRAWS, DRAWS + 3):
        d = Draw(name, number)
        args, kwargs = TABLE[name].draw(d)
        arrays = []
        map_arrays(arrays.append, (args, kwargs))

        def call(*arrays, given=(args, kwargs)):
            rest = iter(arrays)
            args, kwargs = map_arrays(lambda _: next(rest), given)
            return namesake(jnp, name)(*args, **kwargs)

        with jax.enable_x64(d.x64):
            want, got = outcome(call, *arrays), outcome(jax.jit(call), *arrays)
        if isinstance(want, PlaitError):
            assert type(got) is type(want), shown(name, number)
            continue
        assert isinstance(got, list), f"{shown(name, number)}\n{got}"
        for g, w in zip(got, want, strict=True):
            assert g.type == w.type, f"{shown(name, number)}\n{g.type}, not {w.type}"
            assert_close(g, w, g.dtype, near=True, slack=100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", help="functions, and the number of one draw")
    parser.add_argument("--draws", type=int, default=DRAWS)
    given = parser.parse_args()
    numbers = [int(word) for word in given.words if word.isdigit()] or range(given.draws)
    with running(Reference()):
        for name in [word for word in given.words if not word.isdigit()] or sorted(TABLE):
            check_all(name, numbers)
