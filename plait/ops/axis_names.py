"""Axis names as the collectives receive them: their sizes, and groups of positions, checked."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from plait.core import context
from plait.core.source import user_source
from plait.errors import ArgumentError, ArgumentTypeError, AxisNameError, PlaitError

Groups = tuple[tuple[int, ...], ...]


def user_line() -> str | None:
    """The user's line, for errors that the functions raise themselves."""
    source = user_source()
    return str(source) if source else None


def names_of(axis_name: Any, op: str) -> tuple[Any, ...]:
    """One name, or a tuple or list of names, as a tuple.

    Raises: ArgumentError for repeated ones, ArgumentTypeError for what cannot be a name.
    """
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    try:
        different = len(set(names))
    except TypeError:
        raise ArgumentTypeError(
            "an axis name must be hashable",
            op=op,
            axis_name=axis_name,
            where=user_line(),
            fix="give the name that vmap or pmap has as axis_name, or a tuple of such names",
        ) from None
    if different != len(names):
        raise ArgumentError("an axis is named twice", op=op, axis_name=names, where=user_line())
    return names


def sizes_of(names: Sequence[Any], op: str) -> tuple[int, ...]:
    """The sizes of bound axes. Raises AxisNameError for a name that is not bound."""
    try:
        return tuple(context.axis_size(name) for name in names)
    except AxisNameError as error:
        error.op, error.where = op, user_line()
        raise


def positions_of(
    op: str, form: str, example: str, rows: Any, width: int | None = None, **given: Any
) -> Groups:
    """Rows of positions, as tuples of ints, `width` in each.

    Raises: ArgumentTypeError, which shows the argument as the user gave it, and the form it has.
    """
    try:
        found = tuple(tuple(operator.index(p) for p in row) for row in rows)
    except PlaitError:
        raise  # a traced value says of itself what is wrong with it
    except TypeError:
        found = None
    if found is None or (width is not None and any(len(row) != width for row in found)):
        raise ArgumentTypeError(
            f"{', '.join(given)} must be {form}",
            op=op,
            **given,
            where=user_line(),
            fix=f"give Python ints, as in {example}",
        )
    return found


def groups_of(
    groups: Any, names: Sequence[Any], size: int, op: str, *, even: bool = True
) -> Groups | None:
    """axis_index_groups, checked; None where all positions are one group in order.

    even: whether the shape of the result depends on the size of a group, so that all have one.
    """
    if groups is None:
        return None
    if len(names) != 1:
        raise ArgumentError(
            "axis_index_groups needs a single axis name",
            op=op,
            axis_name=tuple(names),
            where=user_line(),
            fix="call it once for each name",
        )
    form, example = "a list of groups, each a list of positions", "[[0, 1], [2, 3]]"
    rows = positions_of(op, form, example, groups, axis_index_groups=groups)
    if sorted(p for row in rows for p in row) != list(range(size)):
        raise ArgumentError(
            f"each position of the axis must be in one group, once: the axis {names[0]!r} has the "
            f"positions 0 to {size - 1}",
            op=op,
            axis_index_groups=[list(r) for r in rows],
            where=user_line(),
            fix="put a position that communicates with no other into a group of its own",
        )
    rows = tuple(row for row in rows if row)
    if even and not is_even(rows):
        raise ArgumentError(
            "the groups have different sizes, and so would the results",
            op=op,
            axis_index_groups=[list(r) for r in rows],
            where=user_line(),
            fix="give all groups one size; reductions (psum, pmean, pmax, pmin) take any",
        )
    return None if rows == (tuple(range(size)),) else rows


def members(axis_size: int, groups: Groups | None) -> int:
    """How many positions communicate with each other, in groups of one size."""
    return axis_size if groups is None else len(groups[0])


def is_even(groups: Groups | None) -> bool:
    """Whether all groups have one size."""
    return groups is None or len({len(row) for row in groups}) == 1


def quoted(names: Sequence[Any]) -> str:
    """Axis names in a message."""
    return " and ".join(map(repr, names))
