"""jit and eval_shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from plait.core.tracebacks import trimmed
from plait.runtime import client
from plait.transforms.arguments import check_callable, check_disjoint, select_arguments
from plait.transforms.calls import JitFunction
from plait.transforms.shard_map import ShardedJit


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function of arrays: traced once for each kind of arguments, then run by XLA.

    Arguments and results are arrays and numbers, in containers. Static arguments are part of the
    program and must be hashable; donated ones give their memory to the results and cannot be used
    afterwards. Python side effects happen while tracing only. Without `fun` it returns a decorator.
    `keep_unused` and `inline` change no result and are accepted for programs that pass them.
    compiler_options are XLA's, by name; called inside another jit that one's count.

    Raises: ArgumentTypeError if fun is not a function or an argument is not an array;
    ArgumentError for argument numbers or names that fun does not have; CompileError, when called,
    for compiler options that XLA does not have.

    >>> plait.jit(lambda x: x * 2)(jnp.arange(3.0))
    Array([0., 2., 4.], dtype=float32)
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            device=device,
            backend=backend,
            inline=inline,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            compiler_options=compiler_options,
        )
    check_callable(fun, "jit")
    static = select_arguments(fun, static_argnums, static_argnames, "jit", "static")
    donated = select_arguments(fun, donate_argnums, donate_argnames, "jit", "donate")
    check_disjoint(static, donated, "jit")
    if in_shardings is not None or out_shardings is not None:
        return ShardedJit(fun, static, donated, in_shardings, out_shardings, compiler_options)
    if device is None and backend is not None:
        device = client.local_devices(backend=backend)[0]
    recipe = () if device is None else (device,)
    return JitFunction(fun, static, donated, recipe, device, compiler_options)


@trimmed
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of what fun would return, as ShapeDtypeStructs; nothing is computed.

    Arguments may be arrays or anything with `shape` and `dtype`.

    >>> plait.eval_shape(lambda x: x.sum(), plait.ShapeDtypeStruct((3,), jnp.float32))
    ShapeDtypeStruct(shape=(), dtype=float32)
    """
    check_callable(fun, "eval_shape")
    if isinstance(fun, JitFunction):
        return fun.eval_shape(*args, **kwargs)
    function = JitFunction(fun)
    function.kind = "eval_shape"  # what messages call it; the trace is shared with jit(fun)
    return function.eval_shape(*args, **kwargs)
