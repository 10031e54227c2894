"""print, log and callback: looking at values while a compiled program runs; and breakpoint."""

from __future__ import annotations

import functools
import logging
import re
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from plait.core.context import bound_axis_names, context
from plait.core.interpreter import Interpreter
from plait.core.source import user_source
from plait.core.stage import Stager
from plait.core.types import is_array, type_of
from plait.errors import ArgumentError, ArgumentTypeError, ConcretizationTypeError
from plait.ops.callback import HostFunction, debug_callback, device_id
from plait.ops.collective import axis_index
from plait.runtime import client
from plait.transforms.pmap import UNNAMED

_logger = logging.getLogger("plait")


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    lane: Any = None,
    **kwargs: Any,
) -> Any:
    """Print values while a program runs: the line is `fmt.format(*args, **kwargs)`.

    In a compiled function once each time the program gets there, in the order of the program; under
    vmap one line for each row, and in a map one for each lane, in their order where one program
    computes all of them. Derivatives pass it by.

    The fields {lane} and {device} need no argument: the position along the mapped axes around, and
    the device that this lane is shown on. lane=True puts both in front of the line: [i=3 cpu:1].
    `ordered` and `partitioned` are accepted and change nothing. Without fmt a decorator-like
    partial application.

    Raises: ArgumentError, where it is traced, if fmt and the arguments do not fit together.

    >>> plait.debug.print("x = {x:.2f}", x=1.5)
    x = 1.50
    """
    return _show("debug.print", _write, fmt, args, kwargs, skip_format_check, lane)


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    lane: Any = None,
    **kwargs: Any,
) -> Any:
    """Like print, into the logger "plait" at level INFO.

    >>> import logging
    >>> logging.getLogger("plait").setLevel(logging.INFO)
    >>> plait.jit(lambda x: plait.debug.log("x = {}", x))(2)
    """
    return _show("debug.log", _logger.info, fmt, args, kwargs, skip_format_check, lane)


def _write(text: str) -> None:
    # One write: lines of several devices must not mix.
    sys.stdout.write(text + "\n")


def _show(
    op: str,
    write: Callable[[str], None],
    fmt: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    skip_format_check: bool,
    lane: Any,
) -> Any:
    if fmt is None:
        return functools.partial(print if write is _write else log, lane=lane, **kwargs)
    if not isinstance(fmt, str):
        raise ArgumentTypeError("the first argument is the format, a string", op=op, fmt=fmt)
    fields = set(_fields(fmt, iter(range(10**6))))
    if "lane" in fields and lane is not None:
        kwargs, lane = {**kwargs, "lane": lane}, None
    known = {"lane", "device"} & fields - set(kwargs)
    source = user_source()
    where = str(source) if source else None
    if not skip_format_check:
        _check_format(op, where, fields - known, args, kwargs)
    names: tuple[Any, ...] = ()
    place = None
    if known or lane:
        names = bound_axis_names()
        place = ([axis_index(name) for name in names], device_id())
    line = _Line(op, where, fmt, write, names, known, bool(lane))
    debug_callback(HostFunction(line, op, (place, args, kwargs), {}))
    return None


class _Line:
    """Formats the values of one debug.print."""

    __name__ = "debug.print"

    def __init__(
        self,
        op: str,
        where: str | None,
        fmt: str,
        write: Callable[[str], None],
        names: Sequence[Any],
        known: set[str],
        prefix: bool,
    ):
        self.op, self.where = op, where
        self.fmt, self.write, self.names = fmt, write, names
        self.known, self.prefix = known, prefix

    def __call__(self, place: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        start = ""
        if place is not None:
            positions = tuple(int(p) for p in place[0])
            # A program without maps has one lane.
            lane = positions if len(positions) > 1 else positions[0] if positions else 0
            device = f"{client.default_backend()}:{int(place[1])}"
            found = {"lane": lane, "device": device}
            kwargs = {**kwargs, **{name: found[name] for name in self.known}}
            if self.prefix:
                along = [
                    f"lane {p}" if name is UNNAMED else f"{name}={p}"
                    for name, p in zip(self.names, positions, strict=True)
                ]
                start = f"[{' '.join([*along, device])}] "
        try:
            text = self.fmt.format(*args, **kwargs)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            given = {**{f"argument_{k}": x for k, x in enumerate(args)}, **kwargs}
            raise ArgumentError(
                f"the format does not fit the values: {error}",
                op=self.op,
                format=self.fmt,
                **{name: type_of(x) if is_array(x) else x for name, x in given.items()},
                where=self.where,
                fix="codes like .3f are for scalars: write {}, or print one element",
            ) from error
        self.write(start + text)


def _fields(fmt: str, numbers: Iterator[int]) -> Iterator[int | str]:
    """The arguments a format uses: positions and names."""
    for _, field, spec, _ in string.Formatter().parse(fmt):
        if field is None:
            continue
        first = re.split(r"[.\[]", field, maxsplit=1)[0]
        yield next(numbers) if not first else int(first) if first.isdigit() else first
        if spec:
            yield from _fields(spec, numbers)


def _check_format(
    op: str, where: str | None, fields: set[Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    given = {*range(len(args)), *kwargs}
    if missing := sorted(fields - given, key=str):
        raise ArgumentError(
            f"the format asks for {_words(missing)}, which is not given", op=op, where=where
        )
    if unused := sorted(given - fields, key=str):
        raise ArgumentError(
            f"the format does not use {_words(unused)}",
            op=op,
            where=where,
            fix='add a {} for it; write "x = {x}", x=x instead of an f-string, which is filled in '
            "once, while the function is traced",
        )


def _words(fields: Sequence[Any]) -> str:
    return ", ".join(f"argument {f}" if isinstance(f, int) else repr(f) for f in fields)


def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function for what it shows or stores, while a program runs.

    It gets arrays in place of the arrays in args and kwargs; what it returns is ignored. When and
    how often is as for `print`. Without a function, a partial application.

    Raises: ArgumentTypeError if callback cannot be called. An exception of its own comes from a
    compiled program as the __cause__ of PlaitRuntimeError.

    >>> seen = []
    >>> @plait.jit
    ... def f(x):
    ...     plait.debug.callback(lambda v: seen.append(float(v)), x)
    ...     return x
    >>> y = f(2.0)
    >>> plait.effects_barrier()
    >>> seen
    [2.0]
    """
    if callback is None:
        return functools.partial(globals()["callback"], **kwargs)
    debug_callback(HostFunction(callback, "debug.callback", args, kwargs))
    return None


def breakpoint(**_: Any) -> None:
    """Stop in the debugger here, where values are known: outside of jit, or under disable_jit.

    Python's own hook decides what opens (sys.breakpointhook, PYTHONBREAKPOINT). JAX's keyword
    arguments are accepted and change nothing.

    Raises: ConcretizationTypeError where the function is being traced and has no values.

    >>> @plait.jit
    ... def f(x):
    ...     y = x * 2
    ...     plait.debug.breakpoint()
    ...     return y
    >>> with plait.disable_jit():  # doctest: +SKIP
    ...     f(1.0)
    """
    interpreter: Interpreter | None = context.interpreter
    while interpreter is not None:
        # Under grad alone a linear part is written down, but values are there.
        if type(interpreter) is Stager:
            source = user_source()
            raise ConcretizationTypeError(
                "the function is being traced: there are no values to look at",
                op="debug.breakpoint",
                traced_by=interpreter.describe(),
                where=str(source) if source else None,
                fix="run it in `with plait.disable_jit():`, where jit, pmap and loops run in plain "
                "Python, or look at values with plait.debug.print",
            )
        interpreter = interpreter.parent
    if sys.breakpointhook is sys.__breakpointhook__:
        import pdb  # slow to import, and seldom needed

        pdb.Pdb().set_trace(sys._getframe(1))
    else:
        sys.breakpointhook()


__all__ = ["breakpoint", "callback", "log", "print"]
