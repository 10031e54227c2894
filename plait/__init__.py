"""plait: composable transformations of array programs, with pmap as a first-class citizen.

`jit` compiles a NumPy-style function, `grad` differentiates it, `vmap` vectorises it, `pmap`
spreads it over many devices with collectives; all compose, in any order. The names are JAX's.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from plait import core, dtypes, errors, lax, tree, tree_util
from plait import numpy as numpy
from plait.config import (
    check_tracer_leaks,
    config,
    debug_infs,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
    transfer_guard,
)
from plait.config import check_tracer_leaks as checking_leaks
from plait.core.dtypes import float0
from plait.core.interpreter import ensure_compile_time_eval
from plait.core.types import typeof
from plait.numpy.dslice import ds
from plait.ops.callback import pure_callback
from plait.regions.checkpoint import checkpoint, checkpoint_policies
from plait.regions.checkpoint import checkpoint as remat
from plait.regions.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from plait.runtime.array import Array
from plait.runtime.assemble import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from plait.runtime.client import (
    default_backend,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from plait.runtime.environment import live_arrays, print_environment_info
from plait.runtime.mesh import (
    Mesh,
    get_abstract_mesh,
    get_mesh,
    make_mesh,
    set_mesh,
    use_abstract_mesh,
)
from plait.runtime.sharding import NamedSharding, PartitionSpec, Shard
from plait.runtime.transfer import (
    block_until_ready,
    copy_to_host_async,
    device_get,
    device_put,
    device_put_replicated,
    device_put_sharded,
)
from plait.runtime.xla import Device, effects_barrier
from plait.transforms.caches import clear_caches
from plait.transforms.grad import (
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from plait.transforms.inspect import make_jaxpr
from plait.transforms.jit import eval_shape, jit
from plait.transforms.named import named_call, named_scope
from plait.transforms.pmap import pmap
from plait.transforms.shapes import ShapeDtypeStruct
from plait.transforms.shard_map import shard_map
from plait.transforms.shard_map import with_sharding_constraint as reshard
from plait.transforms.vmap import vmap

if _TYPE_CHECKING:
    from plait import (
        ad_checkpoint,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        example_libraries,
        experimental,
        flatten_util,
        image,
        monitoring,
        nn,
        profiler,
        random,
        scipy,
        sharding,
        stages,
        typing,
    )

P = PartitionSpec
jacobian = jacrev
tree_map = tree.map
tree_leaves = tree.leaves

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)

# Loaded when first used: they cost a third of the import, and many programs need none.
_LAZY = frozenset(
    (
        "ad_checkpoint",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "example_libraries",
        "experimental",
        "flatten_util",
        "image",
        "monitoring",
        "nn",
        "profiler",
        "random",
        "scipy",
        "sharding",
        "stages",
        "testing",
        "typing",
    )
)


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _importlib.import_module(f"plait.{name}")
    raise AttributeError(f"module 'plait' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
