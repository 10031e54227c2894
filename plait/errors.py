"""Every exception plait raises on purpose, and the one layout their messages share.

    PlaitError
    ├── ShapeError (ValueError, TypeError)        shapes, axes and sizes that do not fit
    │   ├── AxisError (IndexError)                an argument without the axis to map
    │   └── ScalarError                           an array where a scalar is needed
    ├── DtypeError (TypeError)                    a dtype the operation does not take
    ├── ArgumentError (ValueError)                any other value a function cannot use
    ├── ArgumentTypeError (TypeError)             an argument that is not an array, a function, ...
    ├── CallError                                 arguments that do not belong together: an
    │   │                                         ArgumentError and an ArgumentTypeError
    │   └── UnsupportedError (NotImplementedError)  what NumPy or SciPy know and is not here
    ├── OutOfRangeError (IndexError, ValueError)  an index, axis or position outside its range
    ├── IntegerOverflowError (OverflowError)      an integer the dtype cannot hold
    ├── AxisNameError (NameError)                 an axis name no enclosing vmap or pmap binds
    ├── JAXTypeError (TypeError)                  a traced value where it cannot be
    │   ├── ConcretizationTypeError               where Python needs a number
    │   │   ├── TracerBoolConversionError
    │   │   ├── TracerIntegerConversionError
    │   │   └── TracerArrayConversionError
    │   └── UnexpectedTracerError (RuntimeError)  after its transformation ended
    ├── JAXIndexError (IndexError)
    │   └── NonConcreteBooleanIndexError          a boolean index whose result has no static shape
    ├── MissingRuleError (TypeError)              an op that has no answer to a transformation
    ├── NanError (FloatingPointError)             found by debug_nans
    └── PlaitRuntimeError (RuntimeError)
        ├── BackendError                          no such platform, device or plugin
        ├── CompileError                          XLA refused a program
        ├── CheckError (ValueError)               a check() that does not hold
        ├── OutOfMemory                           a device has no room
        ├── PeerLost                              another process died, hangs or has ended
        ├── ProcessMismatch                       processes that must run one program run several
        └── DonatedError                          use of an array whose buffer was given away
            └── DonatedTwiceError (ValueError)    one array given away and used in the same call

A message is one line that says what is wrong, then one line each for what was given, where, and
the cure:

    permute: axes must name each axis of x once
      x      float32[2,3,4]
      axes   (0, 2)
      where  train.py:41 in loss
      fix    give all of 0..2, for example (2, 1, 0)
"""

from __future__ import annotations

from typing import Any


def describe(value: Any) -> str:
    """Short text for a value in a message: arrays as dtype[shape], trees without the name of
    their class, the rest by repr.
    """
    type_ = getattr(value, "type", value)
    shape, dtype = getattr(type_, "shape", None), getattr(type_, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{getattr(dtype, 'name', dtype)}[{','.join(map(str, shape))}]"
    if isinstance(value, str):
        return value
    text = repr(value).replace("PyTreeDef(*)", "*")
    if text.startswith("PyTreeDef(") and text.endswith(")"):
        text = text[len("PyTreeDef(") : -1]
    return text if len(text) <= 120 else text[:117] + "..."


def an(word: str) -> str:
    """A word with its article."""
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"


def several(n: int, word: str, words: str = "") -> str:
    """How many: 1 axis, 2 axes (the plural is the word with an s unless given)."""
    return f"{n} {word}" if n == 1 else f"{n} {words or word + 's'}"


class PlaitError(Exception):
    """Base of plait's own errors: a summary, what was given, where, and the cure.

    Args:
        summary: one line without a final full stop.
        op: the operation or function the user called; `bind` fills it in for ops.
        fix: what to do instead.
        where: the user's line; filled in where an error passes through a traced program.
        given: operands and parameters by name; arrays are shown as dtype[shape].
    """

    def __init__(
        self,
        summary: str,
        *,
        op: str | None = None,
        fix: str | None = None,
        where: str | None = None,
        **given: Any,
    ):
        self.summary, self.op, self.fix, self.where = summary, op, fix, where
        self.given = {name: describe(value) for name, value in given.items()}
        super().__init__(summary)

    def __str__(self) -> str:
        rows = dict(self.given)
        if self.where:
            rows["where"] = self.where
        if self.fix:
            rows["fix"] = self.fix
        width = max((len(name) for name in rows), default=0)
        head = f"{self.op}: {self.summary}" if self.op else self.summary
        return "\n".join([head, *(f"  {name:<{width}}  {text}" for name, text in rows.items())])

    def __reduce__(self):
        return _rebuild, (type(self), self.summary, self.op, self.fix, self.where, self.given)


def _rebuild(cls, summary, op, fix, where, given):
    error = cls(summary, op=op, fix=fix, where=where)
    error.given = given
    return error


class ShapeError(PlaitError, ValueError, TypeError):
    """Shapes, axes or sizes that do not fit together."""


class DtypeError(PlaitError, ValueError, TypeError):
    """A dtype that the operation does not take, or dtypes that do not mix."""


class ArgumentError(PlaitError, ValueError):
    """A value that the function cannot use."""


class ArgumentTypeError(PlaitError, TypeError):
    """An argument of the wrong kind: not an array, not a function, not hashable."""


class CallError(ArgumentError, ArgumentTypeError):
    """Arguments that do not belong together: too few of them, or one without the other."""


class UnsupportedError(CallError, NotImplementedError):
    """A use that NumPy or SciPy know and that does not exist here."""


class OutOfRangeError(PlaitError, IndexError, ValueError):
    """An index, axis or position outside its range."""


class AxisError(ShapeError, OutOfRangeError):
    """An argument or result without the axis that in_axes or out_axes names."""


class ScalarError(ShapeError, ArgumentTypeError):
    """An array where a scalar is needed: the result of a function whose gradient was asked."""


class IntegerOverflowError(PlaitError, OverflowError):
    """An integer that its dtype cannot hold."""


class AxisNameError(PlaitError, NameError):
    """An axis name that no enclosing vmap or pmap binds."""


class JAXTypeError(PlaitError, TypeError):
    """A traced value stands where it cannot be."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value stands where Python needs its number."""


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked a traced value for its truth: `if`, `while`, `and`, `not`, `assert`."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """Python asked a traced value for an int: `range(n)`, a shape, an index of a list."""


class TracerArrayConversionError(ConcretizationTypeError):
    """NumPy asked a traced value for its data."""


class JAXIndexError(PlaitError, IndexError):
    """An index that a program cannot have."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask as index: the shape of the result would depend on its values."""


class UnexpectedTracerError(JAXTypeError, RuntimeError):
    """A traced value was kept and used after the transformation that made it had ended."""


class MissingRuleError(PlaitError, TypeError, NotImplementedError):
    """An op has no answer to a transformation's question."""


class NanError(PlaitError, FloatingPointError):
    """A NaN or infinity that debug_nans or debug_infs found."""


class PlaitRuntimeError(PlaitError, RuntimeError):
    """Something went wrong while a program was compiled or ran."""


JaxRuntimeError = PlaitRuntimeError  # as JAX calls it


class BackendError(PlaitRuntimeError):
    """No such platform, device or plugin, or it cannot be changed any more."""


class CompileError(PlaitRuntimeError):
    """XLA refused a program."""


class CheckError(PlaitRuntimeError, ValueError):
    """A condition given to experimental.checkify.check that does not hold."""


class OutOfMemory(PlaitRuntimeError):
    """A device has no room for a buffer."""


class PeerLost(PlaitRuntimeError):
    """A process that computes together with this one died, hangs or has ended."""


class ProcessMismatch(PlaitRuntimeError):
    """Processes that must run the same program together run different ones."""


class DonatedError(PlaitRuntimeError):
    """Use of an array whose buffer was given away or deleted."""


class DonatedTwiceError(DonatedError, ArgumentError):
    """An array is given away and is another argument of the same call."""
