"""XLA through the jaxlib wheel: the only module of plait that imports jaxlib.

jaxlib's Python surface is private and changes between versions. Everything that differs between
the supported ones is decided here, by feature, and the rest of plait sees clients, devices, raw
buffers and executables that behave alike. A raw buffer (`Buffer`) is opaque: pass it to the
functions below and use none of its methods, because jax, if someone imports it in the same
process, hangs its own on the class.

Functions of jaxlib that import jax, or read states that only jax sets, are never called.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plait.config import config
from plait.errors import (
    ArgumentError,
    BackendError,
    DtypeError,
    PlaitError,
    ShapeError,
)
from plait.runtime import dlpack, effects, peers, plugins, shutdown, startup
from plait.runtime.faults import HostCallback as HostCallback
from plait.runtime.faults import callback_failure as callback_failure
from plait.runtime.faults import clean, compile_error, translate_error
from plait.runtime.gate import Gate
from plait.runtime.host import frozen, is_numpys, native
from plait.runtime.launch import MemoryAnalysis, make_execute
from plait.runtime.narrow import is_narrow, wide_dtype, widening_program
from plait.runtime.tiling import Shape, Tiling

startup.set_log_level()  # has to precede the first import of the shared library

from jaxlib import _hlo, _jax  # noqa: E402 # pyright: ignore[reportAttributeAccessIssue] (no stubs)
from jaxlib.version import __version__ as VERSION  # noqa: E402

if TYPE_CHECKING:  # the wheel has no type stubs
    Buffer: TypeAlias = Any
    Device: TypeAlias = Any
    Client: TypeAlias = Any
    PyTreeDef: TypeAlias = Any
    PyTreeRegistry: TypeAlias = Any
    XlaError = Exception
else:
    Buffer = _jax.ArrayImpl
    Device = _jax.Device
    Client = _jax.Client
    XlaError = _jax.JaxRuntimeError
    PyTreeDef = _jax.pytree.PyTreeDef
    PyTreeRegistry = _jax.pytree.PyTreeRegistry

_LIBRARY = Path(_jax.__file__).parent / "libjax_common.so"


DictKey, SequenceKey = _jax.pytree.DictKey, _jax.pytree.SequenceKey
GetAttrKey, FlattenedIndexKey = _jax.pytree.GetAttrKey, _jax.pytree.FlattenedIndexKey

# None, tuple, list, dict and namedtuple are nodes. Not jaxlib's default registry, which is jax's.
pytree_registry: PyTreeRegistry = _jax.pytree.PyTreeRegistry()
# Pickles of structures name their registry so.
pytree_registry.__module__, pytree_registry.__name__ = __name__, "pytree_registry"


# --- clients --------------------------------------------------------------------------------------

_clients: list[Client] = []  # keeps the ids in `_gates` from being reused
_gates: dict[int, Gate] = {}  # by id of the client
_prepared = False
_start_lock = threading.Lock()


def _prepare() -> None:
    """Flags and malloc, once, before the first client of whatever platform."""
    global _prepared
    with _start_lock:
        if _prepared:
            return
        startup.prepare_xla_flags(_LIBRARY)
        if config.tune_malloc:
            startup.tune_malloc()
        _prepared = True


def make_cpu_client(num_devices: int, session: peers.Session | None = None) -> Client:
    """A client of `num_devices` CPU devices. Raises BackendError for an unknown flag in XLA_FLAGS.

    With a session it also has the devices of the other processes, and waits until they make theirs.
    `plait.runtime.client` makes one for the process; several are possible but share nothing.
    """
    if num_devices < 1:
        raise ArgumentError("a CPU client has at least one device", num_devices=num_devices)
    _prepare()
    options: dict[str, Any] = {}
    if session is not None:
        # Collectives between processes go over TCP, from the address the coordinator knows.
        collectives = _jax.make_gloo_tcp_collectives(session.xla, hostname=session.address)
        waits = {f"get_{w}_topology_timeout_minutes": 60 for w in ("local", "global")}
        options = {"distributed_client": session.xla, "collectives": collectives, **waits}
        options |= session.place
    client = _jax.get_tfrt_cpu_client(asynchronous=True, num_devices=num_devices, **options)
    _clients.append(client)
    _gates[id(client)] = gate = Gate(client.live_arrays, XlaError)
    if session is not None:
        session.abandoned.append(gate.abandon)
    return client


def coordination_service(address: str, count: int, heartbeat_s: float) -> Any:
    """XLA's service through which `count` processes exchange addresses; for the coordinator."""
    return _jax.get_distributed_runtime_service(
        address,
        count,
        heartbeat_timeout=max(1, round(heartbeat_s)),
        shutdown_timeout=10,
        recoverable=True,  # otherwise one lost process takes the others with it
    )


def coordination_client(address: str, index: int, timeout_s: int, heartbeat_s: float) -> Any:
    """This process's client of that service, connected. Raises XlaError."""
    client = _jax.get_distributed_runtime_client(
        address,
        index,
        init_timeout=timeout_s,
        shutdown_timeout=10,
        heartbeat_timeout=max(1, round(heartbeat_s)),
        shutdown_on_destruction=False,
        use_compression=True,
    )
    client.connect()
    return client


def _after_fork() -> None:
    for gate in _gates.values():
        gate.after_fork()


def _at_exit() -> None:
    effects.finish()
    shutdown.finish(_gates.values())


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def make_plugin_client(platform: str, session: peers.Session | None = None) -> Client:
    """A client for GPU or TPU through its PJRT plugin, alone or among other processes'.

    Raises: BackendError if no plugin is installed (naming the package) or it finds no device.
    """
    plugin = plugins.find(platform)
    if not _HAS_TO_NUMPY:  # the only way to read a buffer that is not in host memory
        raise BackendError(
            f"{plugin.platform} devices need jaxlib 0.11 or newer", fix="use Python 3.12 or newer"
        )
    _prepare()
    if plugin.platform == "cuda":
        plugins.preload_nvidia_libraries()
    try:
        if not _jax.pjrt_plugin_loaded(plugin.platform):
            c_api = _jax.load_pjrt_plugin(plugin.platform, str(plugin.library), None)
            plugins.register_kernels(plugin.platform, c_api)
        if not _jax.pjrt_plugin_initialized(plugin.platform):
            _jax.initialize_pjrt_plugin(plugin.platform)
        options = plugins.client_options(plugin.platform)
        if session is None:
            return _jax.get_c_api_client(plugin.platform, options)
        options |= session.place
        return _jax.get_c_api_client(plugin.platform, options, session.xla)
    except XlaError as error:
        raise BackendError(
            f"the {plugin.platform} plugin did not start: {clean(str(error))}",
            library=str(plugin.library),
        ) from error


def gate_of(client: Client) -> Gate | None:
    """The launch gate of a CPU client; None for other platforms, which need none."""
    return _gates.get(id(client))


def spans_processes(devices: Sequence[Device]) -> bool:
    """Whether the devices belong to several processes, or to another one than this."""
    here = devices[0].client.process_index()
    return any(d.process_index != here for d in devices)


def default_memory(device: Device) -> str:
    """The kind of memory arrays on the device live in: 'device', or 'unpinned_host'."""
    return device.default_memory().kind


# --- shardings ------------------------------------------------------------------------------------


class _Aval:
    """What jaxlib asks of an abstract value."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Shape, dtype: np.dtype) -> None:
        self.shape, self.dtype, self.weak_type = shape, dtype, False


class Sharding(_jax.Sharding):
    """Which part of an array each device holds: make one with `single`, `tiled` or `replicated`.

    `tiling` has the arithmetic; it is a part, not a base, because jaxlib allows one base only.
    """

    # At class level, since jax may put read-only properties of these names on the base class.
    _internal_device_list: Any = None
    memory_kind: str | None = None
    num_devices: int = 1
    devices: tuple[Device, ...] = ()
    # The positions among them of this process's own; whether all are; whether it has every part.
    local: tuple[int, ...] = ()
    is_addressable: bool = True
    is_readable: bool = True
    tiling: Tiling = Tiling((), ())
    is_replicated: bool = True

    def __init__(self, devices: tuple[Device, ...], tiling: Tiling) -> None:
        super().__init__()
        if math.prod(tiling.mesh_shape) != len(devices):
            raise ShapeError(
                "a mesh needs one device for each of its positions",
                mesh=tiling.mesh_shape,
                devices=len(devices),
            )
        self._internal_device_list = _jax.DeviceList(devices)
        self.num_devices, self.devices = len(devices), devices
        here = devices[0].client.process_index()
        self.local = tuple(k for k, d in enumerate(devices) if d.process_index == here)
        self.tiling, self.is_replicated = tiling, tiling.is_replicated
        self.is_addressable = len(self.local) == len(devices)
        self.is_readable = self.is_addressable or (self.is_replicated and bool(self.local))
        self._hlo = _hlo_sharding(tiling)

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return self._hlo

    def shard_shape(self, shape: Shape) -> Shape:
        """The shape of one device's part. Raises ShapeError if a dimension does not divide."""
        return self.tiling.shard_shape(shape)

    def index(self, k: int, shape: Shape) -> tuple[slice, ...]:
        """Where the part of device k lies in the whole array."""
        return self.tiling.index(k, shape)


def _hlo_sharding(tiling: Tiling) -> Any:
    if tiling.is_replicated:
        return _hlo.HloSharding.replicate()
    parts, order, copies = tiling.tiles()
    kinds = []
    if copies > 1:
        parts.append(copies)
        kinds.append(_hlo.OpSharding.Type.REPLICATED)
    return _hlo.HloSharding.iota_tile(parts, list(tiling.mesh_shape), order, kinds)


_shardings: dict[Any, Sharding] = {}


def single(device: Device) -> Sharding:
    """The whole array on one device."""
    sharding = _shardings.get(device)
    if sharding is None:
        sharding = _shardings.setdefault(device, Sharding((device,), Tiling((1,), ())))
    return sharding


def tiled(devices: Sequence[Device], mesh_shape: Shape, dim_axes: tuple[Shape, ...]) -> Sharding:
    """Dimension d split over the mesh axes `dim_axes[d]`; the devices in the mesh's order."""
    key = (tuple(devices), tuple(mesh_shape), tuple(map(tuple, dim_axes)))
    sharding = _shardings.get(key)
    if sharding is None:
        sharding = _shardings.setdefault(key, Sharding(key[0], Tiling(*key[1:])))
    return sharding


def replicated(devices: Sequence[Device]) -> Sharding:
    """The whole array on each of the devices."""
    if len(devices) == 1:
        return single(devices[0])
    return tiled(devices, (len(devices),), ())


def sharding_of(buf: Buffer) -> Sharding:
    """The sharding a buffer was made with."""
    return buf._sharding


# --- host to device -------------------------------------------------------------------------------

_put = _jax.batched_device_put
_COPY = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_ALIAS = _jax.HostBufferSemantics.ZERO_COPY
_REUSE = _jax.ArrayCopySemantics.REUSE_INPUT


def _put_error(error: Exception, dtype: np.dtype) -> PlaitError:
    if "NumPy dtype" in str(error):
        return DtypeError("XLA has no such dtype, or not in this version", dtype=str(dtype))
    return translate_error(error)


def put(host: np.ndarray, device: Device, *, copy: bool = True) -> Buffer:
    """A buffer on `device` with the host array's value.

    With copy=True the host array may be changed as soon as this returns. With copy=False the
    buffer may be a view of it: only for memory that nobody changes any more, now or later.
    """
    host = native(host)
    aval = _Aval(host.shape, host.dtype)
    semantics = _COPY if copy else _ALIAS
    # enable_x64 (last) is always given: left out, the call reads a state that only jax sets.
    try:
        return _put(aval, single(device), [host], [device], True, False, semantics, True)
    except XlaError as error:
        raise _put_error(error, host.dtype) from error


def put_shards(
    hosts: Sequence[np.ndarray],
    devices: Sequence[Device],
    global_shape: Shape,
    sharding: Sharding,
    *,
    copy: bool = True,
) -> Buffer:
    """One buffer over several devices, `hosts[k]` being the part of `devices[k]`.

    The devices are those of the sharding that are this process's.
    """
    global_shape, devices = tuple(global_shape), list(devices)
    shard_shape = sharding.shard_shape(global_shape)
    arrays = [native(h).reshape(shard_shape) for h in hosts]
    first = arrays[0]
    # Equal addresses in one copying call fail inside jaxlib ("bad_function_call").
    addresses = {a.__array_interface__["data"][0] for a in arrays}
    if copy and len(addresses) < len(arrays):
        parts = [put(a, d) for a, d in zip(arrays, devices, strict=True)]
        return assemble(parts, devices, global_shape, first.dtype, sharding)
    aval = _Aval(global_shape, first.dtype)
    semantics = _COPY if copy else _ALIAS
    try:
        return _put(aval, sharding, arrays, devices, True, False, semantics, True)
    except XlaError as error:
        raise _put_error(error, first.dtype) from error


def assemble(
    bufs: Sequence[Buffer],
    devices: Sequence[Device],
    shape: Shape,
    dtype: np.dtype,
    sharding: Sharding,
) -> Buffer:
    """One buffer over several devices from one buffer on each of them; nothing is copied."""
    return _jax.ArrayImpl(_Aval(tuple(shape), np.dtype(dtype)), sharding, list(bufs), True, True)


def copy_to(buf: Buffer, device: Device) -> Buffer:
    """A one-device buffer's value on another device, without waiting for it.

    On its own device the result shares the memory, and deleting one deletes both.
    """
    aval = buf.aval
    return _put(aval, single(device), [buf], [device], True, False, _COPY, True)


def duplicate(buf: Buffer) -> Buffer:
    """The same value on the same devices in memory of its own, without waiting for it."""
    sharding = buf._sharding
    device_list = sharding._internal_device_list
    (copied,) = _jax.batched_copy_array_to_devices_with_sharding(
        [buf], [device_list], [sharding], [_jax.ArrayCopySemantics.ALWAYS_COPY]
    )
    return copied


# --- device to host -------------------------------------------------------------------------------


_HAS_TO_NUMPY = hasattr(Buffer, "_to_np_array_did_copy")


def to_host(buf: Buffer, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """The buffer's value as a read-only array, once it is ready.

    On CPU a view without a copy where the buffer lies on one device and NumPy can read it.
    Raises XlaError if the computation of the buffer failed: see `translate_error`.
    """
    try:
        return np.asarray(memoryview(buf))
    except BufferError:
        return _gather(buf, tuple(shape), np.dtype(dtype))


def _gather(buf: Buffer, shape: Shape, dtype: np.dtype) -> np.ndarray:
    buf.block_until_ready()
    if 0 in shape:
        return frozen(np.empty(shape, dtype))
    sharding = buf._sharding
    if sharding.devices[0].platform != "cpu":
        return frozen(buf._to_np_array_did_copy()[0])
    if sharding.is_replicated:
        return shard_to_host(buf, sharding.local[0], shape, dtype)
    if is_narrow(dtype):
        return _read_narrow(buf, shape, dtype)
    whole = np.empty(shape, dtype)
    seen = set()
    for k in range(sharding.num_devices):
        index = sharding.index(k, shape)
        position = tuple(s.start for s in index)
        if position not in seen:  # the others hold copies of the same part
            seen.add(position)
            whole[index] = shard_to_host(buf, k, shape, dtype)
    return frozen(whole)


def shard_to_host(buf: Buffer, k: int, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Device k's part of a buffer of (global) `shape`, read-only, once it is ready.

    On CPU a view without a copy, apart from dtypes narrower than a byte.
    """
    sharding, shape, dtype = buf._sharding, tuple(shape), np.dtype(dtype)
    if 0 in shape:  # XLA does not split arrays without elements
        buf.block_until_ready()
        return frozen(np.empty(sharding.shard_shape(shape), dtype))
    on_cpu = sharding.devices[0].platform == "cpu"
    if is_narrow(dtype) or not on_cpu:
        whole = (_read_narrow if on_cpu else to_host)(buf, shape, dtype)
        return whole[(*sharding.index(k, shape), ...)]  # with ... no axes are an array, too
    buf = _owner(buf, k)
    capsule = _jax.buffer_to_dlpack_managed_tensor(buf)
    if is_numpys(dtype):
        return np.from_dlpack(dlpack.Capsule(capsule))
    buf.block_until_ready()
    return dlpack.read(capsule, sharding.shard_shape(shape), dtype)


def _owner(buf: Buffer, k: int = 0) -> Buffer:
    """Another buffer object of the same memory, with device k's part first.

    A DLPack export shows the first part, and XLA aborts the process if a buffer is deleted while
    an export of it lives. So it is always such a second owner that is exported.
    """
    sharding = buf._sharding
    if k:
        devices = sharding.devices
        # Any sharding with parts of this size will do; only its order of devices is looked at.
        sharding = Sharding(devices[k:] + devices[:k], sharding.tiling)
    return _jax.reorder_shards(buf, sharding, _REUSE)


_narrow_readers: dict[Any, Executable] = {}


def _read_narrow(buf: Buffer, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Read a dtype narrower than a byte: by jaxlib where it can, else by a program that widens."""
    if _HAS_TO_NUMPY:
        return frozen(buf._to_np_array_did_copy()[0])
    sharding, wide = buf._sharding, wide_dtype(dtype)
    reader = _narrow_readers.get((sharding, shape, dtype))
    if reader is None:
        reader = _narrow_readers[sharding, shape, dtype] = compile(
            widening_program(sharding.tiling, shape, dtype),
            sharding.devices,
            num_partitions=sharding.num_devices,
            out_types=[(shape, wide)],
            out_shardings=[sharding],
        )
    (widened,) = reader.execute([buf])
    return frozen(to_host(widened, shape, wide).astype(dtype))


def shard(buf: Buffer, k: int, shape: Shape, dtype: np.dtype) -> Buffer:
    """Device k's part as a buffer of that device alone, once it is ready; on CPU without a copy."""
    part = shard_to_host(buf, k, shape, dtype)
    return put(part, buf._sharding.devices[k], copy=False)


# --- DLPack ---------------------------------------------------------------------------------------


def to_dlpack(buf: Buffer, *, stream: int | None = None) -> Any:
    """A DLPack capsule of a one-device buffer. The buffer may be deleted while it lives."""
    owner = _owner(buf)
    if stream is None:
        owner.block_until_ready()
        return _jax.buffer_to_dlpack_managed_tensor(owner)
    return _jax.buffer_to_dlpack_managed_tensor(owner, stream=stream)


def dlpack_device(device: Device) -> tuple[int, int]:
    """DLPack's name for a device: every CPU device is (1, 0), CUDA device k is (2, k)."""
    return dlpack.device_name(device.platform, device.local_hardware_id)


def from_dlpack(source: Any, device: Device) -> tuple[Buffer, np.dtype]:
    """A buffer from an object with `__dlpack__` in host memory: a view of it where possible."""
    host = dlpack.from_object(source)
    # XLA views memory that is aligned to 64 bytes and copies other, on jaxlib 0.10 only later.
    aligned = host.__array_interface__["data"][0] % 64 == 0 and host.flags.c_contiguous
    return put(host, device, copy=not aligned), host.dtype


# --- the life of a buffer -------------------------------------------------------------------------


def wait(bufs: Iterable[Buffer]) -> None:
    """Wait until all are ready. Raises XlaError if the computation of one failed."""
    for buf in bufs:
        buf.block_until_ready()


def ready(buf: Buffer) -> bool:
    """Whether the value is there."""
    return buf.is_ready()


def nbytes(buf: Buffer) -> int:
    """Bytes the buffer takes on its devices together."""
    return buf.on_device_size_in_bytes()


def is_deleted(buf: Buffer) -> bool:
    """Whether the buffer was deleted or donated."""
    return buf.is_deleted()


def delete(buf: Buffer) -> None:
    """Free the memory now; host views and DLPack exports stay valid and keep it until they go."""
    if not buf.is_deleted():
        buf.delete()


# --- executables ----------------------------------------------------------------------------------

_HANDLER_OPTIONS: dict[str, bool] = (
    # There the result is otherwise checked by methods that only jax adds to the class.
    {"_skip_checks": True} if "_skip_checks" in (_jax.array_result_handler.__doc__ or "") else {}
)


class Executable:
    """A compiled program on its devices.

    `execute(bufs)` gives a list of raw buffers. It may be kept and called without this object. It
    checks the number and size of its arguments, not their dtypes: the caller compares types. What
    it raises is XlaError, to be turned into plait's errors off the hot path: `translate_error`.

    `raw_execute(bufs).consume_with_handlers(handlers)` is the same without the launch gate, for
    programs of one device while `gate_of(client)` is None or not `active`.
    """

    __slots__ = (
        "__weakref__",
        "_loaded",
        "devices",
        "execute",
        "handlers",
        "out_shardings",
        "out_types",
        "raw_execute",
    )

    def __init__(
        self,
        loaded: Any,
        devices: tuple[Device, ...],
        out_types: Sequence[tuple[Shape, Any]],
        out_shardings: Sequence[Sharding] | None,
        effects: bool = False,
        together: peers.Label | None = None,
    ) -> None:
        shardings = tuple(out_shardings or [replicated(devices)] * len(out_types))
        self._loaded, self.devices = loaded, devices
        self.out_types = tuple((tuple(shape), np.dtype(dtype)) for shape, dtype in out_types)
        self.out_shardings = shardings
        self.raw_execute = loaded.execute_sharded
        self.handlers = [
            _jax.array_result_handler(_Aval(*type_), sharding, True, **_HANDLER_OPTIONS)
            for type_, sharding in zip(self.out_types, shardings, strict=True)
        ]
        gate = gate_of(devices[0].client)
        self.execute = make_execute(
            self.raw_execute, self.handlers, devices, self.out_types, gate, effects, together
        )

    def as_text(self) -> str:
        """The optimised HLO."""
        return "\n\n".join(module.to_string() for module in self._loaded.hlo_modules())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates, such as 'flops' and 'bytes accessed', for one run on one device."""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes for arguments, results and temporaries on each device."""
        return MemoryAnalysis.of(self._loaded.get_compiled_memory_stats())


def _compile_options(devices: tuple[Device, ...], options: Mapping[str, Any]) -> Any:
    partitions = len(devices)
    result = _jax.CompileOptions()
    build = result.executable_build_options
    result.num_replicas = build.num_replicas = 1
    result.num_partitions = build.num_partitions = partitions
    build.use_spmd_partitioning = build.use_shardy_partitioner = partitions > 1
    ids = np.array([[d.id for d in devices]], np.int32)
    build.device_assignment = _jax.DeviceAssignment.create(ids)
    result.env_option_overrides = list(options.items())
    return result


def _load(
    blob: bytes, devices: tuple[Device, ...], options: Any, callbacks: Sequence[Callable[..., Any]]
) -> Any:
    device_list = _jax.DeviceList(devices)
    return devices[0].client.deserialize_executable(blob, device_list, options, list(callbacks))


def compile(
    text: str | bytes,
    devices: Sequence[Device],
    *,
    num_partitions: int = 1,
    callbacks: Sequence[Callable[..., Any]] = (),
    out_types: Sequence[tuple[Shape, Any]],
    out_shardings: Sequence[Sharding] | None = None,
    options: Mapping[str, bool | int | float | str] | None = None,
    quick: bool = False,
    cache_key_extra: str = "",
    effects: bool = False,
    name: str = "",
) -> Executable:
    """Compile a StableHLO module, or load it from the persistent cache.

    Args:
        text: the module. For several devices it is partitioned by Shardy.
        devices: as many as `num_partitions`, in the order of the mesh in the text.
        callbacks: what custom calls to `xla_ffi_python_cpu_callback` call, by index; make them
            with `HostCallback`.
        out_types: global shape and dtype of each result.
        out_shardings: where the results lie; by default replicated.
        options: compiler options, such as {"xla_cpu_use_onednn": True}.
        quick: whether to compile soon rather than well.
        cache_key_extra: joins the key of the persistent cache.
        effects: whether launches are to be waited for by `effects_barrier`, results or not.
        name: what to call the program if other processes run something else.

    Raises: CompileError, with XLA's reason.
    """
    devices = tuple(devices)
    if len(devices) != num_partitions:
        message = "a program needs one device for each partition"
        raise ArgumentError(message, devices=len(devices), num_partitions=num_partitions)
    if (gate := gate_of(devices[0].client)) is not None:
        gate.check_process()
    options = dict(options or {})
    if _calls_lapack(text):
        ensure_lapack()
    try:
        loaded = _compile_or_load(text, devices, callbacks, options, quick, cache_key_extra)
    except XlaError as error:
        raise compile_error(error) from error
    together = None
    if spans_processes(devices):
        together = peers.label(name, text, [d.process_index for d in devices])
    return Executable(loaded, devices, out_types, out_shardings, effects, together)


def _compile_or_load(
    text: str | bytes,
    devices: tuple[Device, ...],
    callbacks: Sequence[Callable[..., Any]],
    options: Mapping[str, Any],
    quick: bool,
    extra: str,
) -> Any:
    """The loaded program."""
    if quick:
        try:
            sooner = {**startup.quick_options(), **options}
            return _compile_or_load(text, devices, callbacks, sooner, False, extra)
        except XlaError as error:
            if not startup.drop_quick_option(str(error)):
                raise
            return _compile_or_load(text, devices, callbacks, options, True, extra)
    client, cache, key = devices[0].client, None, ""
    compile_options = _compile_options(devices, options)
    if config.compilation_cache_dir:
        # Here: hashing and temporary files would cost every import.
        from plait.runtime.disk_cache import disk_cache, program_key

        cache = disk_cache()
    if cache is not None:
        key = program_key(text, devices, options, VERSION, extra)
        if (blob := cache.read(key)) is not None:
            try:
                return _load(blob, devices, compile_options, callbacks)
            except XlaError as error:
                cache.discard(key, clean(str(error)))
    loaded = client.compile_and_load(text, _jax.DeviceList(devices), compile_options)
    if cache is None and not callbacks:
        return loaded
    blob = client.serialize_executable(loaded)
    if cache is not None:
        cache.write(key, blob)
    if not callbacks:
        return loaded
    # Taken while loading: with a module they would need jaxlib's MLIR bindings.
    return _load(blob, devices, compile_options, callbacks)


def effects_barrier() -> None:
    """Wait until the effects of all programs launched so far have happened.

    Effects are what debug.print, debug.callback and io_callback do. Raises PlaitRuntimeError if
    such a program failed, with the exception of its callback as the cause.

    >>> plait.jit(lambda x: plait.debug.print("x = {}", x))(2)
    x = 2
    >>> plait.effects_barrier()
    """
    try:
        effects.barrier()
    except XlaError as error:
        problem = translate_error(error)
        raise problem from problem.__cause__


def profiler() -> Any:
    """jaxlib's module of profiling sessions, annotations and server. Raises BackendError."""
    try:
        # _profiler returns objects of _profile_data. The wheel has no type stubs.
        from jaxlib import (
            _profile_data,  # pyright: ignore[reportAttributeAccessIssue]
            _profiler,  # pyright: ignore[reportAttributeAccessIssue]
        )
    except ImportError as error:
        raise BackendError(f"this jaxlib ({VERSION}) has no profiler") from error
    assert _profile_data
    return _profiler


def heap_profile(client: Client) -> bytes:
    """The client's buffers and where they were made, as a gzipped pprof profile."""
    return client.heap_profile()


# --- library calls --------------------------------------------------------------------------------

# What is before the names of the routines in a program's text.
_LAPACK_CALLS = ('call_target_name = "lapack_', 'call_target_name = "tridiagonal_solve_')
_lapack_lock = threading.Lock()
_lapack_ready = False


def _calls_lapack(text: str | bytes) -> bool:
    return isinstance(text, str) and any(call in text for call in _LAPACK_CALLS)


def ensure_lapack() -> None:
    """Make LAPACK's custom call targets known to the CPU compiler; imports scipy the first time."""
    global _lapack_ready
    if _lapack_ready:
        return
    with _lapack_lock:
        if _lapack_ready:
            return
        from jaxlib.cpu import _lapack

        for name, target in _lapack.registrations().items():
            if name.endswith("_ffi"):
                register_custom_call(name, target)
        _lapack.initialize()
        _lapack_ready = True


def register_custom_call(name: str, capsule: Any, platform: str = "cpu") -> None:
    """Make a function known to the compiler as the target of typed (FFI) custom calls."""
    _jax.register_custom_call_target(name, capsule, platform=platform, api_version=1)
