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

    >>> plait.errors.describe(jnp.ones((2, 3))), plait.errors.describe("ij")
    ('float32[2,3]', 'ij')
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
    """A word with its article.

    >>> plait.errors.an("array"), plait.errors.an("shape")
    ('an array', 'a shape')
    """
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"


def several(n: int, word: str, words: str = "") -> str:
    """How many: 1 axis, 2 axes (the plural is the word with an s unless given).

    >>> plait.errors.several(1, "axis", "axes"), plait.errors.several(2, "axis", "axes")
    ('1 axis', '2 axes')
    """
    return f"{n} {word}" if n == 1 else f"{n} {words or word + 's'}"


class PlaitError(Exception):
    """Base of plait's own errors: a summary, what was given, where, and the cure.

    Args:
        summary: one line without a final full stop.
        op: the operation or function the user called; `bind` fills it in for ops.
        fix: what to do instead.
        where: the user's line; filled in where an error passes through a traced program.
        given: operands and parameters by name; arrays are shown as dtype[shape].

    >>> try:
    ...     jnp.ones(2) + jnp.ones(3)
    ... except plait.errors.PlaitError as error:
    ...     print(error.op, error.given)
    add {'operand_0': '(2,)', 'operand_1': '(3,)'}
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
    """Shapes, axes or sizes that do not fit together.

    >>> jnp.ones(2) + jnp.ones(3)
    Traceback (most recent call last):
        ...
    plait.errors.ShapeError: add: the operands' shapes do not broadcast ...
    """


class DtypeError(PlaitError, ValueError, TypeError):
    """A dtype that the operation does not take, or dtypes that do not mix.

    >>> jnp.ones(2) | jnp.ones(2)
    Traceback (most recent call last):
        ...
    plait.errors.DtypeError: or: takes bool, signed int, unsigned int operands, not float32 ...
    """


class ArgumentError(PlaitError, ValueError):
    """A value that the function cannot use.

    >>> jnp.linalg.norm(jnp.ones(2), "fro")
    Traceback (most recent call last):
        ...
    plait.errors.ArgumentError: norm: vectors have no such norm ...
    """


class ArgumentTypeError(PlaitError, TypeError):
    """An argument of the wrong kind: not an array, not a function, not hashable.

    >>> jnp.sin("1")
    Traceback (most recent call last):
        ...
    plait.errors.ArgumentTypeError: sin: the argument x must be an array or a number, not of ...
    """


class CallError(ArgumentError, ArgumentTypeError):
    """Arguments that do not belong together: too few of them, or one without the other.

    >>> jnp.where(jnp.array([True, False]), 1.0)
    Traceback (most recent call last):
        ...
    plait.errors.CallError: where: ...
    """


class UnsupportedError(CallError, NotImplementedError):
    """A use that NumPy or SciPy know and that does not exist here.

    >>> jnp.take(jnp.ones(3), 5, mode="raise")
    Traceback (most recent call last):
        ...
    plait.errors.UnsupportedError: take: ...
    """


class OutOfRangeError(PlaitError, IndexError, ValueError):
    """An index, axis or position outside its range.

    >>> jnp.sum(jnp.ones(2), axis=1)
    Traceback (most recent call last):
        ...
    plait.errors.OutOfRangeError: sum: axis 1 is out of range for an array of 1 dimension ...
    """


class AxisError(ShapeError, OutOfRangeError):
    """An argument or result without the axis that in_axes or out_axes names.

    >>> plait.vmap(jnp.sin, in_axes=1)(jnp.ones(2))
    Traceback (most recent call last):
        ...
    plait.errors.AxisError: vmap: the argument x has rank 1: it has no axis 1 to map ...
    """


class ScalarError(ShapeError, ArgumentTypeError):
    """An array where a scalar is needed: the result of a function whose gradient was asked.

    >>> plait.grad(jnp.sin)(jnp.ones(2))
    Traceback (most recent call last):
        ...
    plait.errors.ScalarError: grad: sin must return a scalar, it returned an array of shape ...
    """


class IntegerOverflowError(PlaitError, OverflowError):
    """An integer that its dtype cannot hold.

    >>> jnp.asarray(2**40)
    Traceback (most recent call last):
        ...
    plait.errors.IntegerOverflowError: asarray: 1099511627776 does not fit in int32 ...
    """


class AxisNameError(PlaitError, NameError):
    """An axis name that no enclosing vmap or pmap binds.

    >>> lax.psum(1.0, "i")
    Traceback (most recent call last):
        ...
    plait.errors.AxisNameError: psum: the axis name 'i' is not bound ...
    """


class JAXTypeError(PlaitError, TypeError):
    """A traced value stands where it cannot be."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value stands where Python needs its number.

    >>> plait.jit(lambda x: jnp.arange(x))(1.0)
    Traceback (most recent call last):
        ...
    plait.errors.ConcretizationTypeError: arange: stop decides the size of the result and ...
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked a traced value for its truth: `if`, `while`, `and`, `not`, `assert`.

    >>> plait.jit(lambda x: x if x > 0 else -x)(1.0)
    Traceback (most recent call last):
        ...
    plait.errors.TracerBoolConversionError: jit of <lambda>: its truth (if, while, and, or, ...
    """


class TracerIntegerConversionError(ConcretizationTypeError):
    """Python asked a traced value for an int: `range(n)`, a shape, an index of a list.

    >>> plait.jit(lambda n: [0, 1][n])(1)
    Traceback (most recent call last):
        ...
    plait.errors.TracerIntegerConversionError: jit of <lambda>: its value as a Python int was ...
    """


class TracerArrayConversionError(ConcretizationTypeError):
    """NumPy asked a traced value for its data.

    >>> plait.jit(np.sin)(1.0)
    Traceback (most recent call last):
        ...
    plait.errors.TracerArrayConversionError: jit of sin: its data as a NumPy array was asked ...
    """


class JAXIndexError(PlaitError, IndexError):
    """An index that a program cannot have."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask as index: the shape of the result would depend on its values.

    >>> plait.jit(lambda x: x[x > 0])(jnp.ones(2))
    Traceback (most recent call last):
        ...
    plait.errors.NonConcreteBooleanIndexError: x[...]: a traced mask selects a number of ...
    """


class UnexpectedTracerError(JAXTypeError, RuntimeError):
    """A traced value was kept and used after the transformation that made it had ended.

    >>> kept = []
    >>> _ = plait.jit(lambda x: kept.append(x))(1.0)
    >>> kept[0] + 1
    Traceback (most recent call last):
        ...
    plait.errors.UnexpectedTracerError: jit of <lambda>: a traced value was used after the ...
    """


class MissingRuleError(PlaitError, TypeError, NotImplementedError):
    """An op has no answer to a transformation's question.

    >>> plait.jacfwd(lambda a: jnp.linalg.eig(a).eigenvectors)(jnp.eye(2))
    Traceback (most recent call last):
        ...
    plait.errors.MissingRuleError: eig: eigenvectors of general matrices are differentiated ...
    """


class NanError(PlaitError, FloatingPointError):
    """A NaN or infinity that debug_nans or debug_infs found.

    >>> with plait.debug_nans(True):
    ...     jnp.log(-1.0)
    Traceback (most recent call last):
        ...
    plait.errors.NanError: a NaN came out of log ...
    """


class PlaitRuntimeError(PlaitError, RuntimeError):
    """Something went wrong while a program was compiled or ran."""


JaxRuntimeError = PlaitRuntimeError  # as JAX calls it


class BackendError(PlaitRuntimeError):
    """No such platform, device or plugin, or it cannot be changed any more.

    >>> plait.devices("abacus")
    Traceback (most recent call last):
        ...
    plait.errors.BackendError: there is no platform 'abacus' ...
    """


class CompileError(PlaitRuntimeError):
    """XLA refused a program."""


class CheckError(PlaitRuntimeError, ValueError):
    """A condition given to experimental.checkify.check that does not hold.

    >>> from plait.experimental import checkify
    >>> checkify.check(jnp.array(False), "x is {}", 3)
    Traceback (most recent call last):
        ...
    plait.errors.CheckError: x is 3 (`check` failed)
    """


class OutOfMemory(PlaitRuntimeError):
    """A device has no room for a buffer."""


class PeerLost(PlaitRuntimeError):
    """A process that computes together with this one died, hangs or has ended."""


class ProcessMismatch(PlaitRuntimeError):
    """Processes that must run the same program together run different ones."""


class DonatedError(PlaitRuntimeError):
    """Use of an array whose buffer was given away or deleted.

    >>> x = jnp.ones(2)
    >>> x.delete()
    >>> x + 1
    Traceback (most recent call last):
        ...
    plait.errors.DonatedError: add: this array was given away and has no value any more ...
    """


class DonatedTwiceError(DonatedError, ArgumentError):
    """An array is given away and is another argument of the same call.

    >>> x = jnp.ones(2)
    >>> plait.jit(lambda x, y: x + y, donate_argnums=0)(x, x)
    Traceback (most recent call last):
        ...
    plait.errors.DonatedTwiceError: <lambda>: the arguments x and y are one array, and it is ...
    """
