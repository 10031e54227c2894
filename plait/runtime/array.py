"""Array: a device buffer with an ArrayType and a signature; to and from NumPy.

numpy/operators.py attaches operators, indexing and NumPy's methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.config import state
from plait.core import dtypes
from plait.core.array_methods import ArrayMethods
from plait.core.interpreter import Tracer, leaked
from plait.core.types import ArrayType, type_of
from plait.errors import ArgumentTypeError, DonatedError, PlaitRuntimeError
from plait.runtime import client, xla
from plait.runtime.host import is_numpys
from plait.runtime.placement import OnDevice, Part, Placed, Placement, Sharded, Shown, signature


class Taken:
    """Stands in an Array for a buffer that was given away: remembers to whom."""

    __slots__ = ("by",)

    def __init__(self, by: str):
        self.by = by


class _ArrayMeta(type):
    """Traced values count as arrays for isinstance, as JAX's programs expect."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is Array or isinstance(instance, Tracer)


class Array(ArrayMethods, metaclass=_ArrayMeta):
    """An array on one or several devices. Values never change; `x.at[i].set(v)` makes a new array.

    Made by plait's functions (`plait.numpy.array`, `device_put`, results of computations), not by
    calling the class. Computation is asynchronous: reading the value waits for it.

    >>> x = jnp.array([1.0, 2.0])
    >>> isinstance(x, plait.Array), x.at[0].set(5.0)
    (True, Array([5., 2.], dtype=float32))
    """

    __slots__ = ("__weakref__", "buf", "sig", "type")
    buf: Any
    sig: ArrayType | Placed

    def __init__(self, buf: Any, type: ArrayType, sig: ArrayType | Placed):
        self.buf, self.type, self.sig = buf, type, sig

    # --- where it is

    @property
    def placement(self) -> Placement | None:
        sig = self.sig
        return sig.placement if type(sig) is Placed else None

    @property
    def committed(self) -> bool:
        """Whether the user or a map put it where it is."""
        return type(self.sig) is Placed

    def devices(self) -> set[Any]:
        """The devices that hold parts of it.

        >>> len(jnp.ones(2).devices())
        1
        """
        placement = self.placement
        if placement is not None:
            return set(placement.devices)
        return set(xla.sharding_of(self._live()).devices)

    @property
    def device(self) -> Any:
        """The device, or the sharding of an array on several devices."""
        found = self.devices()
        return next(iter(found)) if len(found) == 1 else self.sharding

    @property
    def sharding(self) -> Any:
        """How it is spread over devices."""
        from plait.runtime.sharding import sharding_of_array

        return sharding_of_array(self)

    @property
    def addressable_shards(self) -> list[Any]:
        """The parts, one a device of this process, each with .device, .index and .data."""
        from plait.runtime.sharding import shards_of_array

        return shards_of_array(self)

    @property
    def global_shards(self) -> list[Any]:
        """All parts; the .data of those in other processes is None."""
        from plait.runtime.sharding import shards_of_array

        return shards_of_array(self, everywhere=True)

    def addressable_data(self, index: int) -> Any:
        """The part on the index-th device, as an array on that device.

        >>> mesh = plait.make_mesh((2,), ("i",))
        >>> x = plait.device_put(jnp.arange(4), plait.NamedSharding(mesh, plait.P("i")))
        >>> x.addressable_data(1)
        Array([2, 3], dtype=int32)
        """
        return self.addressable_shards[index].data

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        return self.sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all its devices belong to this process."""
        placement = self.placement
        return type(placement) is not Sharded or placement.sharding.is_addressable

    @property
    def is_readable(self) -> bool:
        """Whether this process has all of its value."""
        placement = self.placement
        return type(placement) is not Sharded or placement.sharding.is_readable

    # --- its life

    def _live(self) -> Any:
        buf = self.buf
        if type(buf) is Taken:
            raise taken_error(self, buf)
        return buf

    def check_live(self, op: str, name: str = "") -> None:
        """Raise DonatedError, in the name of a function and of its argument, if it has no value."""
        if type(self.buf) is Taken:
            raise taken_error(self, self.buf, op, name)

    def is_taken(self) -> bool:
        """Whether it is known to have no value any more."""
        return type(self.buf) is Taken

    def is_deleted(self) -> bool:
        """Whether its buffer was donated or deleted.

        >>> x = jnp.ones(2)
        >>> y = plait.jit(lambda x: x + 1, donate_argnums=0)(x)
        >>> x.is_deleted(), y.is_deleted()
        (True, False)
        """
        return type(self.buf) is Taken or xla.is_deleted(self.buf)

    def delete(self) -> None:
        """Free its memory now; later use raises DonatedError.

        >>> x = jnp.ones(2)
        >>> x.delete()
        >>> x.is_deleted()
        True
        """
        if type(self.buf) is not Taken and not is_shared(self):
            xla.delete(self.buf)
            self.buf = Taken("its delete() method")

    def is_ready(self) -> bool:
        """Whether its value has been computed.

        >>> jnp.ones(2).block_until_ready().is_ready()
        True
        """
        return xla.ready(self._live())

    def block_until_ready(self) -> Array:
        """Wait until its value has been computed; returns the array itself.

        Raises: what the computation raises, PlaitRuntimeError say; DonatedError if it has no value.

        >>> (jnp.ones(2) + 1).block_until_ready()
        Array([2., 2.], dtype=float32)
        """
        try:
            self._live().block_until_ready()
        except xla.XlaError as error:
            problem = xla.translate_error(error)
            raise problem from problem.__cause__
        return self

    def copy_to_host_async(self) -> None:
        """On CPU the value is in host memory already: nothing to start."""
        self._live()

    def on_device_size_in_bytes(self) -> int:
        """Bytes it takes on its devices together.

        >>> jnp.ones((2, 3), jnp.float32).on_device_size_in_bytes()
        24
        """
        return xla.nbytes(self._live())

    def unsafe_buffer_pointer(self) -> int:
        """The address of its memory on one device."""
        return self.host().__array_interface__["data"][0]

    # --- its value

    def host(self) -> np.ndarray:
        """Its value as a read-only NumPy array, keys as uint64. Waits; on CPU copies nothing.

        Raises: PlaitRuntimeError if other processes have parts of it that this one has not.
        """
        type_, placement = self.type, self.placement
        if not self.is_readable:
            raise PlaitRuntimeError(
                "other processes have parts of the array that this one has not",
                array=self,
                sharding=self.sharding,
                fix="x.addressable_shards has this process's parts; "
                "experimental.multihost_utils.process_allgather(x, tiled=True) brings all to each",
            )
        stored = type_ if placement is None else placement.stored(type_)
        buf = self._live()
        try:
            if not buf.is_ready():
                buf.block_until_ready()  # unlike reading, this answers Ctrl-C
            if type(placement) is Part:
                return placement.host(buf, type_)
            value = xla.to_host(buf, stored.shape, dtypes.storage(type_.dtype))
        except xla.XlaError as error:
            problem = xla.translate_error(error)
            raise problem from problem.__cause__
        if stored is not type_ and isinstance(placement, Shown):
            value = np.broadcast_to(np.expand_dims(value, placement.once), type_.shape)
        return value

    def static_item(self, index: Any) -> Array | None:
        """self[index] for known ints and slices, read in host memory: nothing is compiled, and of
        an array on several devices only the part that holds the item is touched.

        None where that is not possible or not right: other indices, positions out of range, other
        platforms, a value that is still being computed.
        """
        placement = self.placement
        buf = self._live()
        several = type(placement) is Sharded
        if not self.is_fully_addressable or (not several and not buf.is_ready()):
            return None
        if xla.sharding_of(buf).devices[0].platform != "cpu":
            return None
        items = self._static_items(index)
        if items is None:
            return None
        part, index = self._part_with(items) if several else (self.host(), items)
        value = np.ascontiguousarray(part[index])
        if value.ndim != np.ndim(part[index]):  # ascontiguousarray makes 0-d arrays 1-d
            value = value.reshape(())
        device = placement.devices[0] if type(placement) is OnDevice else None
        return from_host(value, self.type.with_shape(value.shape), copy=False, device=device)

    def _static_items(self, index: Any) -> tuple[Any, ...] | None:
        """An index as ints in range and slices of known ends; None if it has anything else."""
        items = index if type(index) is tuple else (index,)
        for k, item in enumerate(items):
            if item is Ellipsis:
                missing = max(0, self.type.ndim + 1 - len(items))
                items = (*items[:k], *[slice(None)] * missing, *items[k + 1 :])
                break
        if len(items) > self.type.ndim:
            return None
        for item, n in zip(items, self.type.shape, strict=False):
            if type(item) is int:
                if not -n <= item < n:
                    return None
            elif type(item) is not slice or not _is_static(item):
                return None
        return items

    def _part_with(self, items: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
        """(a part of a sharded array that holds an item, the item's index in it)."""
        sharding = getattr(self.placement, "sharding", None)
        if not items or sharding is None:
            return self.host(), items
        shape = self.type.shape
        first = items[0]
        if one := type(first) is int:
            start = range(shape[0])[first]
            stop, step = start + 1, 1
        else:
            start, stop, step = first.indices(shape[0])
        for k in range(sharding.num_devices):
            index = sharding.index(k, shape)
            own = range(*index[0].indices(shape[0]))
            whole = all(s == slice(None) or s == slice(0, n) for s, n in zip(index[1:], shape[1:]))
            if whole and step > 0 and own.start <= start and stop <= own.stop:
                part = xla.shard_to_host(self._live(), k, shape, dtypes.storage(self.type.dtype))
                at = start - own.start
                head = at if one else slice(at, stop - own.start, step)
                return part, (head, *items[1:])
        return self.host(), items

    def numbers(self) -> np.ndarray:
        """`host`, but refused for keys, which are not numbers, and float0 as NumPy has it."""
        if isinstance(self.type.dtype, dtypes.KeyDType):
            raise ArgumentTypeError(
                "random keys have no value as numbers",
                key=self,
                fix="random.key_data(key) gives their bits",
            )
        if self.type.dtype == dtypes.float0:
            return np.zeros(self.type.shape, dtypes.float0)
        return self.host()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self.numbers()
        if dtype is not None and value.dtype != dtype:
            return value.astype(dtype)
        return value.copy() if copy else value

    def _scalar(self, what: str) -> np.ndarray:
        if self.type.size != 1 or self.type.ndim:
            raise ArgumentTypeError(
                f"only arrays without axes convert to {what}", array=self, fix="x.item() or x[i]"
            )
        return self.numbers()

    def __bool__(self) -> bool:
        if self.type.size != 1:
            raise ValueError(
                "the truth of an array of several elements is ambiguous: use .any() or .all()"
                if self.type.size
                else "the truth of an empty array is ambiguous: use .size"
            )
        return bool(self.numbers())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __index__(self) -> int:
        if self.type.dtype not in dtypes.INTEGER:
            raise TypeError("only integer arrays without axes can be an index")
        return int(self._scalar("an index"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def item(self, *args: int) -> Any:
        """The single element, or the one at the given position, as a Python number.
        Raises: ValueError if there are several, IndexError if it is not there.

        >>> jnp.array([[1.5]]).item(), jnp.array([1, 2]).item(1)
        (1.5, 2)
        """
        return self.numbers().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers.

        >>> jnp.array([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self.numbers().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        r"""The elements' bytes, in the order of rows ("C") or columns ("F").

        >>> jnp.array([1, 2], jnp.uint8).tobytes()
        b'\x01\x02'
        """
        return self.numbers().tobytes(order)

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError("len() of an array without axes")
        return self.type.shape[0]

    def __hash__(self):
        raise TypeError("arrays are not hashable: they compare element by element")

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"<deleted Array {self.type}>"
        dtype = dtypes.name_of(self.type.dtype)
        if isinstance(self.type.dtype, dtypes.KeyDType):
            return f"Array({self.type.shape}, dtype={dtype})"
        if not self.is_readable:
            return f"Array(shape={self.type.shape}, dtype={dtype})"
        body = np.array2string(
            _printable(self.numbers()), separator=", ", prefix="Array(", threshold=1000
        )
        shape = f", shape={self.type.shape}" if not self.type.size and self.ndim != 1 else ""
        weak = ", weak_type=True" if self.type.weak_type else ""
        return f"Array({body}{shape}, dtype={dtype}{weak})"

    def __str__(self) -> str:
        unshown = self.is_deleted() or not self.is_readable
        if unshown or isinstance(self.type.dtype, dtypes.KeyDType):
            return repr(self)
        return str(_printable(self.numbers()))

    def __format__(self, spec: str) -> str:
        if self.type.ndim == 0:
            return format(self.numbers()[()], spec)
        if spec:
            raise ArgumentTypeError(f"the format {spec!r} is for scalars", op="format", array=self)
        return str(self)

    # --- copies, pickles, other libraries

    # A copy has a buffer of its own: it outlives the donation of the original.
    def __copy__(self) -> Array:
        return Array(xla.duplicate(self._live()), self.type, self.sig)

    def __deepcopy__(self, memo: Any) -> Array:
        return self.__copy__()

    def __reduce__(self):
        return _unpickle, (np.array(self.host()), self.type)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        source = from_host(np.array(self.host()), self.type) if copy else self
        return xla.to_dlpack(_one_buffer(source), stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return xla.dlpack_device(next(iter(self.devices())))


def _is_static(item: slice) -> bool:
    return all(v is None or type(v) is int for v in (item.start, item.stop, item.step))


def _printable(value: np.ndarray) -> np.ndarray:
    # NumPy prints bfloat16 and float8 through object conversion; float32 shows the same numbers.
    if value.dtype == dtypes.float0 or is_numpys(value.dtype):
        return value
    return value.astype(np.int8 if value.dtype in dtypes.INTEGER else np.float32)


def _unpickle(value: np.ndarray, type: ArrayType) -> Array:
    return from_host(value, type)


def _one_buffer(x: Array) -> Any:
    placement = x.placement
    if placement is None or isinstance(placement, OnDevice) or len(placement.devices) == 1:
        return x._live()
    if isinstance(placement, Shown) and not placement.once:
        return x._live()
    return xla.put(np.ascontiguousarray(x.host()), client.default_device(), copy=True)


def taken_error(x: Array, taken: Taken, op: str | None = None, name: str = "") -> DonatedError:
    """The error for use of an array whose buffer is gone."""
    what = f"the array {name}" if name else "this array"
    return DonatedError(
        f"{what} was given away and has no value any more",
        op=op,
        array=x.type,
        taken_by=taken.by,
        fix="use the result of that call instead, pass a copy (jnp.copy(x)), or do not donate it",
    )


# Arrays of Python numbers, and their ids. A number may become the same Array in several places, so
# that none of these may ever be donated or deleted; they are kept for good.
_scalars: dict[tuple, Array] = {}
_shared: set[int] = set()
_SCALARS_KEPT = 1024


def is_shared(x: Array) -> bool:
    """Whether an Array is the one that stands for a Python number everywhere."""
    return id(x) in _shared


def own_array(x: Any) -> Array:
    """`as_array`, but of a number an Array that nobody else has: for what users receive."""
    if type(x) is Array or isinstance(x, Tracer):
        return as_array(x)
    type_ = type_of(x)
    return from_host(canonical_value(x, type_), type_)


def from_host(
    value: np.ndarray, type: ArrayType | None = None, *, copy: bool = True, device: Any = None
) -> Array:
    """An array with the value of a NumPy array of the type's dtype (checked by the caller).

    With copy=False the memory must never change again.
    """
    if type is None:
        type = ArrayType(value.shape, value.dtype)
    if device is None:
        device = client.default_device()
        if device is client.base_device():
            return Array(xla.put(value, device, copy=copy), type, type)
    placement = OnDevice(device)
    return Array(xla.put(value, device, copy=copy), type, signature(type, placement))


def as_array(x: Any) -> Array:
    """A value of the user's as an Array: NumPy arrays and Python scalars are put on the device.

    Raises: ArgumentTypeError for what is not an array; IntegerOverflowError for integers that do
    not fit; UnexpectedTracerError for a tracer that has outlived its transformation.
    """
    if type(x) is Array:
        return x
    kind = type(x)
    # 0.0 and -0.0 are equal, but their texts differ; complex numbers have such parts.
    if kind is float or kind is int or kind is bool:
        key = (kind, x or str(x), state.key)
        found = _scalars.get(key)
        if found is None:
            type_ = type_of(x)
            # Not on the switch's default device: a number should not decide where to compute.
            buf = xla.put(canonical_value(x, type_), client.base_device())
            found = Array(buf, type_, type_)
            if len(_scalars) < _SCALARS_KEPT:
                _scalars[key] = found
                _shared.add(id(found))
        return found
    if isinstance(x, Tracer):
        raise leaked(x)
    type_ = type_of(x)
    return from_host(canonical_value(x, type_), type_)


def canonical_value(x: Any, type_: ArrayType) -> np.ndarray:
    """A NumPy array or Python scalar in the dtype that holds it. Raises: IntegerOverflowError."""
    if isinstance(x, int) and not isinstance(x, bool):
        dtypes.check_fits(x, type_.dtype)
        return np.asarray(x, type_.dtype)
    if not isinstance(x, np.ndarray | np.generic):
        return np.asarray(x, type_.dtype)
    value = np.asarray(x)
    if value.dtype == type_.dtype:
        nothing = value.dtype == dtypes.float0
        return np.zeros(value.shape, dtypes.storage(value.dtype)) if nothing else value
    if value.dtype in dtypes.INTEGER and value.size:
        # 64-bit integers become 32-bit ones only if they all fit.
        dtypes.check_fits(int(value.min()), type_.dtype, array=x)
        dtypes.check_fits(int(value.max()), type_.dtype, array=x)
    return value.astype(type_.dtype)


__all__ = [
    "Array",
    "Taken",
    "as_array",
    "canonical_value",
    "from_host",
    "is_shared",
    "own_array",
    "taken_error",
]
