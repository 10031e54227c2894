"""Meshes: devices in a grid whose axes have names, and the mesh that a program works on by default.

JAX tells three kinds of mesh axes apart. In plait the compiler always decides how values inside a
program are spread, as in JAX over axes of the kind Auto: a mesh may be asked for with any kinds,
the results are the same, and all its axes say Auto.
"""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plait.config import config, override, state
from plait.errors import ArgumentError, ArgumentTypeError, several
from plait.runtime import client


class AxisType(enum.Enum):
    """Who decides how values are spread over a mesh axis.

    >>> mesh = plait.make_mesh((2,), ("rows",), (plait.sharding.AxisType.Auto,))
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class MeshAxes:
    """Base of meshes: the names and sizes of their axes."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]

    @property
    def shape(self) -> dict[Any, int]:
        """Axis sizes by name."""
        return dict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """(name, size) of each axis."""
        return tuple(self.shape.items())

    @property
    def empty(self) -> bool:
        """Whether it has no axes: the mesh of programs that were given none."""
        return not self.axis_names

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def axis_types(self) -> tuple[AxisType, ...]:
        """Auto for each axis."""
        return (AxisType.Auto,) * len(self.axis_names)

    @property
    def are_all_axes_auto(self) -> bool:
        return not self.empty

    @property
    def are_all_axes_explicit(self) -> bool:
        return False

    @property
    def are_all_axes_manual(self) -> bool:
        return False

    auto_axes = property(lambda self: self.axis_names)
    explicit_axes = property(lambda self: ())
    manual_axes = property(lambda self: ())


class AbstractMesh(MeshAxes):
    """The names and sizes of a mesh's axes, without devices.

    >>> plait.sharding.AbstractMesh((4, 2), ("rows", "columns")).shape
    {'rows': 4, 'columns': 2}
    """

    def __init__(self, axis_sizes: Any, axis_names: Any = None, axis_types: Any = None, **_: Any):
        if axis_names is None:  # older programs give ((name, size), ...)
            axis_names = tuple(name for name, _ in axis_sizes)
            axis_sizes = tuple(size for _, size in axis_sizes)
        self.axis_sizes, self.axis_names = tuple(axis_sizes), _names(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ArgumentError(
                f"{several(len(self.axis_sizes), 'size')} for "
                f"{several(len(self.axis_names), 'name')}",
                op="AbstractMesh",
                axis_sizes=self.axis_sizes,
                axis_names=self.axis_names,
            )

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Itself."""
        return self

    def update(self, axis_sizes: Any = None, axis_names: Any = None, **_: Any) -> AbstractMesh:
        """The mesh with other sizes or names."""
        sizes = self.axis_sizes if axis_sizes is None else axis_sizes
        return AbstractMesh(sizes, self.axis_names if axis_names is None else axis_names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self.shape_tuple == other.shape_tuple

    def __hash__(self) -> int:
        return hash(self.shape_tuple)

    def __repr__(self) -> str:
        return f"AbstractMesh({', '.join(f'{n!r}: {s}' for n, s in self.shape.items())})"


class Mesh(MeshAxes):
    """Devices in a grid whose axes have names.

    `with mesh:` makes it the mesh of PartitionSpecs that stand alone inside the block, as set_mesh
    does.

    >>> mesh = plait.sharding.Mesh(plait.devices()[:2], ("rows",))
    >>> dict(mesh.shape)
    {'rows': 2}
    """

    def __init__(self, devices: Any = None, axis_names: Any = (), axis_types: Any = None, **_: Any):
        grid = np.asarray((), dtype=object) if devices is None else np.asarray(devices, object)
        names = _names(axis_names)
        if devices is not None and grid.ndim != len(names):
            raise ArgumentError(
                f"the grid of devices has {grid.ndim} axes, {len(names)} names were given",
                op="Mesh",
                axis_names=names,
            )
        self.devices, self.axis_names = grid, names
        self._blocks: list[Any] = []

    @property
    def axis_sizes(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of devices along each axis."""
        return self.devices.shape if self.axis_names else ()

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Its axes without the devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names)

    @property
    def device_ids(self) -> np.ndarray:
        """The ids of the devices, in their grid."""
        return np.vectorize(lambda d: d.id, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Any]:
        """The devices that belong to this process."""
        here = client.process_index()
        return [d for d in self.devices.flat if d.process_index == here]

    @property
    def is_multi_process(self) -> bool:
        """Whether it has devices of other processes."""
        return len(self.local_devices) != self.devices.size

    def __enter__(self) -> Mesh:
        self._blocks.append(override(mesh=self))
        self._blocks[-1].__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mesh)
            and self.axis_names == other.axis_names
            and self.devices.shape == other.devices.shape
            and list(self.devices.flat) == list(other.devices.flat)
        )

    def __hash__(self) -> int:
        return hash((self.axis_names, tuple(self.devices.flat)))

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{n}: {s}' for n, s in self.shape.items())})"


def _names(axis_names: Any) -> tuple[Any, ...]:
    return (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Any = None,
    *,
    devices: Any = None,
    **_: Any,
) -> Mesh:
    """A mesh of the given sizes on the first devices. Raises ArgumentError if there are too few.

    >>> mesh = plait.make_mesh((2,), ("data",))
    >>> plait.device_put(jnp.arange(4.0), plait.NamedSharding(mesh, plait.P("data"))).sharding.spec
    PartitionSpec('data')
    """
    found = list(client.devices() if devices is None else devices)
    count = math.prod(axis_shapes)
    if count > len(found):
        raise ArgumentError(
            f"a mesh of {count} devices was asked, there are {len(found)}",
            op="make_mesh",
            axis_shapes=tuple(axis_shapes),
        )
    return Mesh(np.array(found[:count], dtype=object).reshape(axis_shapes), axis_names)


# --- the mesh that a program works on


class _SetMesh:
    """What set_mesh returns: nothing more to do, or a block at whose end the mesh goes."""

    def __init__(self, mesh: Mesh | None):
        self._before = state.mesh
        config.update("mesh", mesh)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: Any) -> None:
        config.update("mesh", self._before)


def set_mesh(mesh: Mesh | None) -> Any:
    """The mesh of PartitionSpecs that stand alone, from now on or in a `with` block.

    Wherever a sharding is expected, a PartitionSpec then means NamedSharding(mesh, spec); shard_map
    needs no mesh. Raises: ArgumentTypeError for what is not a Mesh.

    >>> with plait.set_mesh(plait.make_mesh((2,), ("i",))):
    ...     plait.device_put(plait.numpy.ones(2), plait.P("i")).sharding.spec
    PartitionSpec('i')
    """
    if mesh is not None and not isinstance(mesh, Mesh):
        raise ArgumentTypeError("a Mesh is needed", op="set_mesh", mesh=mesh)
    return _SetMesh(mesh)


def get_mesh() -> Mesh:
    """The mesh that set_mesh or `with mesh:` gave; one without axes if there is none.

    >>> with plait.set_mesh(plait.make_mesh((2,), ("rows",))):
    ...     print(plait.sharding.get_mesh().axis_names)
    ('rows',)
    """
    mesh = state.mesh
    return mesh if isinstance(mesh, Mesh) else Mesh()


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh that set_mesh gave, without its devices; no axes if there is none.

    >>> with plait.set_mesh(plait.make_mesh((2,), ("rows",))):
    ...     print(plait.sharding.get_abstract_mesh().axis_names)
    ('rows',)
    """
    return AbstractMesh((), ()) if state.mesh is None else state.mesh.abstract_mesh


@contextlib.contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[None]:
    """`with use_abstract_mesh(m):` — get_abstract_mesh() gives m inside the block.

    >>> with plait.sharding.use_abstract_mesh(plait.sharding.AbstractMesh((2,), ("rows",))):
    ...     print(plait.sharding.get_abstract_mesh().axis_names)
    ('rows',)
    """
    with override(mesh=mesh):
        yield
