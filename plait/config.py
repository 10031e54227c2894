"""The few switches, their environment variables, and the key that traced results depend on.

A switch has one value for the process (`config.update`) that a `with` block may override for its
thread. Reading one is an attribute read: class attributes of a `threading.local` are the
process-wide values, instance attributes the thread's own.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from plait.errors import ArgumentError, ArgumentTypeError, BackendError


def _flag(text: str) -> bool:
    return text.strip().lower() in ("1", "true", "yes", "on")


def _one_of(*known: str) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in known:
            raise ValueError(text)
        return text

    return convert


_FORMS = ("auto", "fused", "gang")
_FILTERS = ("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames")
_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


def _env(name: str, convert: Callable[[str], Any], default: Any) -> Any:
    text = os.environ.get(f"PLAIT_{name.upper()}")
    if text is None:
        return default
    try:
        return convert(text)
    except ValueError:
        like = 4 if default is None else default
        raise ArgumentError(
            f"the environment variable PLAIT_{name.upper()} has a value that cannot be read",
            value=text,
            fix=f"unset it or give it a value like {like!r}",
        ) from None


class _State(threading.local):
    # Traced programs depend on these: they are part of every cache key.
    enable_x64: bool = _env("enable_x64", _flag, False)
    disable_jit: bool = False
    debug_nans: bool = _env("debug_nans", _flag, False)
    debug_infs: bool = _env("debug_infs", _flag, False)
    default_matmul_precision: str | None = None
    default_prng_impl: str = _env("default_prng_impl", _one_of(*_GENERATORS), "threefry2x32")
    numpy_dtype_promotion: str = "standard"
    numpy_rank_promotion: str = "allow"
    default_device: Any = None
    mesh: Any = None
    pmap_form: str = _env("pmap_form", _one_of(*_FORMS), "auto")
    check_programs: bool = _env("check_programs", _flag, False)
    disable_most_optimizations: bool = _env("disable_most_optimizations", _flag, False)
    # Read once, when the client starts or a program is compiled.
    num_cpu_devices: int | None = _env("num_cpu_devices", int, None)
    platforms: str | None = os.environ.get("PLAIT_PLATFORMS") or None
    tune_malloc: bool = _env("tune_malloc", _flag, True)
    compilation_cache_dir: str | None = os.environ.get("PLAIT_COMPILATION_CACHE_DIR") or None
    explain_cache_misses: bool = False
    check_tracer_leaks: bool = False
    threefry_partitionable: bool = True
    transfer_guard: str | None = None
    # Only "off" differs from the others, which are JAX's.
    traceback_filtering: str = _env("traceback_filtering", _one_of(*_FILTERS), "auto")
    key: Any = None


state = _State()

_TRACED = (
    "enable_x64",
    "disable_jit",
    "debug_nans",
    "debug_infs",
    "default_matmul_precision",
    "default_prng_impl",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "default_device",
    "mesh",
    "pmap_form",
    "check_programs",
    "check_tracer_leaks",
    "disable_most_optimizations",
)
_BEFORE_START = ("num_cpu_devices", "platforms", "tune_malloc")
_CHOICES = {
    "pmap_form": _FORMS,
    "traceback_filtering": _FILTERS,
    "numpy_dtype_promotion": ("standard", "strict"),
    "numpy_rank_promotion": ("allow", "warn", "raise"),
    "default_prng_impl": _GENERATORS,
    "threefry_partitionable": (True,),
    "transfer_guard": (None, "allow"),
    "default_matmul_precision": (
        None,
        "default",
        "high",
        "highest",
        "bfloat16",
        "tensorfloat32",
        "float32",
    ),
}
NAMES = tuple(name for name in _State.__annotations__ if name != "key")
# Other names that JAX has for some of them.
_ALSO = {"platform_name": "platforms", "enable_checks": "check_programs"}
# JAX's switches for its log, its caches and its compiler. They change no result and plait has
# nothing for them to set: a program may give them any value, and read it.
_kept: dict[str, Any] = {
    "compilation_cache_max_size": -1,
    "compiler_enable_remat_pass": True,
    "cpu_enable_async_dispatch": True,
    "debug_log_modules": "",
    "exec_time_optimization_effort": 0.0,
    "hlo_source_file_canonicalization_regex": None,
    "include_full_tracebacks_in_locations": True,
    "log_compiles": False,
    "logging_level": None,
    "memory_fitting_effort": 0.0,
    "optimization_level": "UNKNOWN",
    "persistent_cache_enable_xla_caches": "",
    "persistent_cache_min_compile_time_secs": 0.0,
    "persistent_cache_min_entry_size_bytes": 0,
    "pmap_no_rank_reduction": True,
    "pmap_shmap_merge": False,
    "pprint_use_color": True,
    "raise_persistent_cache_errors": False,
    "softmax_custom_jvp": True,
    "tracer_error_num_traceback_frames": 5,
    "use_direct_linearize": True,
    "use_shardy_partitioner": True,
    "xla_profile_version": 0,
}
_keys: dict[tuple, tuple] = {}

# runtime/client.py puts a function here that says whether a client exists already.
client_started: list[Callable[[], bool]] = []


def _key_of(source: Any) -> tuple:
    key = tuple(getattr(source, name) for name in _TRACED)
    return _keys.setdefault(key, key)


def _current_key() -> tuple:
    return _key_of(state)


def _shared_key() -> tuple:
    return _key_of(_State)


# The values of the threads that are inside of blocks: what `update` changes for the process changes
# their keys, too.
_blocks: dict[int, dict[str, Any]] = {}
_lock = threading.Lock()


def _renew(local: dict[str, Any]) -> None:
    """Set the key of a thread inside a block."""
    key = tuple(local[name] if name in local else getattr(_State, name) for name in _TRACED)
    local["key"] = _keys.setdefault(key, key)


_State.key = _current_key()


def _name(name: str) -> str:
    plain = name.removeprefix("jax_")
    plain = _ALSO.get(plain, plain)
    if plain not in NAMES:
        raise ArgumentError(
            f"there is no switch named {name!r}", op="config", fix=f"one of {', '.join(NAMES)}"
        )
    return plain


def _checked(name: str, value: Any) -> Any:
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ArgumentError(
            f"the switch {name!r} cannot be {value!r}",
            op="config",
            fix=f"one of {', '.join(map(repr, _CHOICES[name]))}",
        )
    if name == "num_cpu_devices":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ArgumentError(
                "num_cpu_devices must be a whole number of at least 1", op="config", value=value
            )
    elif isinstance(getattr(_State, name), bool) and not isinstance(value, bool):
        raise ArgumentTypeError(f"the switch {name!r} is True or False", op="config", value=value)
    return value


class Config:
    """The process's switches as attributes; `update` sets one, by its name or JAX's spelling."""

    def update(self, name: str, value: Any) -> None:
        """Set a switch for the whole process: for threads inside of `with` blocks as well, unless
        the block sets that very switch. A function that is traced meanwhile may see either value.

        Raises: ArgumentError for an unknown switch or value; BackendError for a switch that is
        read when the devices start, after they have started.
        """
        if (plain := name.removeprefix("jax_")) in _kept:
            _kept[plain] = value
            return
        name = _name(name)
        value = _checked(name, value)
        if name in _BEFORE_START and any(started() for started in client_started):
            if getattr(_State, name) == value:
                return
            raise BackendError(
                f"{name} is read when the devices start, and they have started",
                op="config.update",
                now=getattr(_State, name),
                asked=value,
                fix="call it before the first array, device query or computation",
            )
        setattr(_State, name, value)
        if name in _TRACED:
            with _lock:
                _State.key = _shared_key()
                for local in _blocks.values():
                    _renew(local)

    def read(self, name: str) -> Any:
        """The value of a switch in this thread."""
        plain = name.removeprefix("jax_")
        return _kept[plain] if plain in _kept else getattr(state, _name(name))

    def __getattr__(self, name: str) -> Any:
        try:
            return self.read(name)
        except ArgumentError:
            raise AttributeError(f"plait.config has no switch {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*NAMES, "update", "read"]


config = Config()


def read_environment(prefix: str) -> None:
    """Set the switches that variables like prefix + ENABLE_X64 name, and plait's own do not.

    Raises: ArgumentError for a value that cannot be read.
    """
    for name in (*NAMES, *_ALSO):
        text = os.environ.get(prefix + name.upper())
        if text and f"PLAIT_{name.upper()}" not in os.environ:
            default = getattr(_State, _ALSO.get(name, name))
            whole = name == "num_cpu_devices"
            convert = int if whole else _flag if isinstance(default, bool) else str
            try:
                config.update(name, convert(text))
            except ValueError as error:
                raise ArgumentError(
                    f"the environment variable {prefix}{name.upper()} has a value that cannot be "
                    "read",
                    value=text,
                ) from error


@contextlib.contextmanager
def override(**values: Any) -> Iterator[None]:
    """Give switches other values inside a `with` block, for this thread only."""
    names = [_name(name) for name in values]
    local = state.__dict__
    before = {name: local[name] for name in (*names, "key") if name in local}
    try:
        for name, value in zip(names, values.values(), strict=True):
            setattr(state, name, _checked(name, value))
        with _lock:
            _blocks[id(local)] = local
            _renew(local)
        yield
    finally:
        with _lock:
            for name in (*names, "key"):
                local.pop(name, None)
            local.update(before)
            if "key" in before:  # still inside another block, and the switches may differ
                _renew(local)
            else:
                _blocks.pop(id(local), None)


def enable_x64(value: bool = True):
    """`with enable_x64():` — 64-bit dtypes inside the block.

    >>> with plait.enable_x64():
    ...     print(jnp.arange(2.0).dtype)
    float64
    >>> print(jnp.arange(2.0).dtype)
    float32
    """
    return override(enable_x64=value)


def disable_jit(disable: bool = True):
    """`with disable_jit():` — jit and pmap run their functions in plain Python inside the block.

    >>> @plait.jit
    ... def f(x):
    ...     print(x)  # a number, not a tracer
    ...     return x
    >>> with plait.disable_jit():
    ...     y = f(jnp.float32(2.0))
    2.0
    """
    return override(disable_jit=disable)


def debug_nans(value: bool = True):
    """`with debug_nans():` — a NaN made by any operation raises FloatingPointError.

    >>> with plait.debug_nans():
    ...     y = jnp.log(-jnp.ones(2))
    Traceback (most recent call last):
        ...
    plait.errors.NanError: a NaN came out of log...
    """
    return override(debug_nans=value)


def debug_infs(value: bool = True):
    """`with debug_infs():` — an infinity made by any operation raises FloatingPointError.

    >>> with plait.debug_infs():
    ...     y = jnp.log(jnp.zeros(2))
    Traceback (most recent call last):
        ...
    plait.errors.NanError: an infinity came out of log...
    """
    return override(debug_infs=value)


def check_tracer_leaks(value: bool = True):
    """`with check_tracer_leaks():` — a traced value that outlives its function is an error then.

    Looked for at the end of everything that jit, scan, cond and the like trace inside the block.

    >>> kept = []
    >>> with plait.check_tracer_leaks():
    ...     y = plait.jit(lambda x: kept.append(x))(1.0)
    Traceback (most recent call last):
        ...
    plait.errors.UnexpectedTracerError: jit of <lambda>: a traced value was kept when ...
    """
    return override(check_tracer_leaks=value)


def explain_cache_misses(value: bool = True):
    """`with explain_cache_misses():` — stderr says why a function is traced inside the block.

    >>> with plait.explain_cache_misses():
    ...     y = plait.jit(lambda x: x)(1.0)
    """
    return override(explain_cache_misses=value)


def enable_checks(value: bool = True):
    """`with enable_checks():` — every Program made inside the block is checked by its ops' types.

    >>> with plait.enable_checks():
    ...     y = plait.jit(lambda x: x)(1.0)
    """
    return override(check_programs=value)


@contextlib.contextmanager
def log_compiles(value: bool = True) -> Iterator[None]:
    """`with log_compiles():` — for programs that ask for it; plait keeps no log of compilations.

    plait.monitoring tells of them, plait.explain_cache_misses says why.

    >>> with plait.log_compiles():
    ...     print(plait.config.jax_log_compiles)
    True
    """
    before, _kept["log_compiles"] = _kept["log_compiles"], value
    try:
        yield
    finally:
        _kept["log_compiles"] = before


def default_prng_impl(value: str):
    """`with default_prng_impl("rbg"):` — the kind of the keys that are made without `impl`, and of
    keys that are given as words: "threefry2x32", "rbg" or "unsafe_rbg"; see `plait.random.key`.

    >>> with plait.default_prng_impl("rbg"):
    ...     print(plait.random.key(7).dtype, plait.random.PRNGKey(7))
    key<rbg> [0 7 0 7]
    """
    return override(default_prng_impl=value)


def threefry_partitionable(value: bool):
    """`with threefry_partitionable(True):` — the only way in which random bits are made.

    >>> with plait.threefry_partitionable(True):
    ...     key = plait.random.key(0)
    """
    return override(threefry_partitionable=value)


def transfer_guard(value: str | None):
    """`with transfer_guard("allow"):` — transfers are not watched, so that none can be refused.

    Raises: ArgumentError for other levels than "allow".

    >>> with plait.transfer_guard("allow"):
    ...     y = jnp.asarray(2.0)
    """
    return override(transfer_guard=value)


def default_matmul_precision(value: str | None):
    """`with default_matmul_precision("highest"):` — for products inside the block.

    >>> with plait.default_matmul_precision("highest"):
    ...     y = jnp.ones((2, 3)) @ jnp.ones(3)
    """
    return override(default_matmul_precision=value)


def numpy_dtype_promotion(value: str):
    """`with numpy_dtype_promotion("strict"):` — refuse implicit promotion inside the block.

    >>> with plait.numpy_dtype_promotion("strict"):
    ...     y = jnp.float32(1.0) + jnp.int32(1)
    Traceback (most recent call last):
        ...
    plait.errors.DtypeError: numpy_dtype_promotion is 'strict', and the dtypes differ...
    """
    return override(numpy_dtype_promotion=value)


def numpy_rank_promotion(value: str):
    """`with numpy_rank_promotion("raise"):` — refuse operands of different rank.

    >>> with plait.numpy_rank_promotion("raise"):
    ...     y = jnp.ones((2, 3)) + jnp.ones(3)
    Traceback (most recent call last):
        ...
    plait.errors.ShapeError: add: the operands have different ranks...
    """
    return override(numpy_rank_promotion=value)


def default_device(device: Any):
    """`with default_device(d):` — new arrays and computations go to d inside the block.

    >>> with plait.default_device(plait.devices()[1]):
    ...     x = jnp.zeros(2)
    >>> x.devices() == {plait.devices()[1]}
    True
    """
    return override(default_device=device)
