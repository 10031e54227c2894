"""plait: composable function transformations for array programs, with pmap as a first-class citizen.

`jit` compiles a NumPy-style function, `grad` differentiates it, `vmap` vectorises it, `pmap` spreads
it over many devices with collectives; all compose, in any order. The names are JAX's.
"""

from plait.config import (
    config,
    debug_infs,
    debug_nans,
    default_device,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    numpy_dtype_promotion,
    numpy_rank_promotion,
)
from plait.core import dtypes
from plait.core.tree import Partial as _Partial
from plait.runtime.array import Array
from plait.runtime.client import (
    default_backend,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from plait.runtime.xla import Device
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
from plait.transforms.jit import ShapeDtypeStruct, eval_shape, jit
from plait.transforms.pmap import pmap
from plait.transforms.vmap import vmap

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)
