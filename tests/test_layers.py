"""Imports point one way, modules stay readable, and jaxlib has one door."""

from __future__ import annotations

import ast
import graphlib
import pathlib
import subprocess
import sys
from fnmatch import fnmatch

ROOT = pathlib.Path(__file__).parent.parent
# Lowest first. A module belongs to the first layer that names it in full, else to the first whose
# pattern fits. It imports only from its own layer and those above it in this list; inside a layer
# imports make no circle.
LAYERS = [
    ["plait.errors"],
    ["plait.config", "plait.monitoring"],
    # What needs no arrays: the adapter to jaxlib and its helpers.
    ["plait.runtime"],
    [
        f"plait.runtime.{m}"
        for m in (
            *("startup", "plugins", "gate", "shutdown", "faults", "effects", "launch"),
            *("cluster", "peers"),
        )
    ],
    [f"plait.runtime.{m}" for m in ("tiling", "host", "narrow", "dlpack", "disk_cache", "xla")],
    # What a Program is, and its text for XLA.
    ["plait.core", "plait.core.*"],
    ["plait.hlo", "plait.hlo.*"],
    # Ops. The first few are what interpreters themselves are made of.
    [
        "plait.ops",
        *(
            f"plait.ops.{m}"
            for m in (
                *("constant", "axes", "complex_edges", "complex_formulas", "elementwise"),
                "arithmetic",
            )
        ),
    ],
    ["plait.interpreters", "plait.interpreters.*"],
    ["plait.ops.*"],
    # Programs inside ops, and running them.
    ["plait.runtime.placement"],
    ["plait.regions", "plait.regions.*"],
    ["plait.runtime.*"],
    # What users call.
    ["plait.transforms", "plait.transforms.*"],
    ["plait.numpy", "plait.numpy.*"],
    ["plait.*"],
    ["plait"],
    ["plait.testing", "plait.testing.*", "plait.test_util"],
    ["plait.as_jax", "plait.as_jax.*"],
]
# Imports inside functions that point up or close a circle, each with its reason.
ALLOWED = {
    ("plait.core.program", "plait.core.show"): "Program.__str__ prints",
    ("plait.ops.elementwise", "plait.ops.arithmetic"): "tangents are summed by an op",
    ("plait.ops", "plait.numpy.segments"): "plait.ops is jax.ops too",
    ("plait.ops.dynamic_slice", "plait.ops.scatter"): "slices batch to gathers, gathers use slices",
    ("plait.ops.dynamic_slice", "plait.ops.gather"): "slices batch to gathers, gathers use slices",
    ("plait.ops.gather", "plait.ops.scatter"): "each is the other's transpose",
    ("plait.transforms.calls", "plait.transforms.inspect"): "jit(f).lower() inspects",
    ("plait.core.types", "plait.runtime.sharding"): "typeof(x).sharding makes a sharding",
    ("plait.core.types", "plait.runtime.mesh"): "typeof(x).sharding makes a sharding",
    ("plait.runtime.sharding", "plait.runtime.array"): "Array.sharding makes a sharding",
    ("plait.numpy.operators", "plait.numpy"): "methods of arrays are functions of the namespace",
    ("plait.numpy.ufuncs", "plait.numpy.searching"): "where= arguments",
    ("plait.numpy.elementary", "plait.numpy.cumulative"): "unwrap() sums jumps",
    ("plait.numpy.elementary", "plait.numpy.manipulation"): "unwrap() joins",
    ("plait.numpy.elementary", "plait.numpy.pieces"): "unwrap() takes differences",
}


def _name(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in sorted((ROOT / "plait").rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def _layer(module: str) -> int:
    exact = [k for k, layer in enumerate(LAYERS) if module in layer]
    return exact[0] if exact else _pattern_layer(module)


def _pattern_layer(module: str) -> int:
    # The most specific pattern: plait.ops.* before plait.*.
    fits = [(-len(p), k) for k, layer in enumerate(LAYERS) for p in layer if fnmatch(module, p)]
    return min(fits)[1]


def _imports(module: str):
    """(imported module, whether at module level, line), type-checking imports left out."""

    def walk(node: ast.AST, top: bool):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Import):
                yield from ((a.name, top, child.lineno) for a in child.names)
            elif isinstance(child, ast.ImportFrom):
                for a in child.names:
                    whole = f"{child.module}.{a.name}"
                    yield (whole if whole in MODULES else child.module), top, child.lineno
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, top and not function)

    return walk(TREES[module], True)


def test_imports_point_one_way():
    graph: dict[str, set[str]] = {}
    used = set()
    for module in MODULES:
        edges = graph.setdefault(module, set())
        for target, top, line in _imports(module):
            if target not in MODULES or target == module:
                continue
            if not top and (module, target) in ALLOWED:
                used.add((module, target))
                continue
            edges.add(target)
            assert _layer(target) <= _layer(module), f"{module}:{line} imports {target}, above it"
    tuple(graphlib.TopologicalSorter(graph).static_order())  # raises for a circle
    assert used == set(ALLOWED), f"no longer needed: {set(ALLOWED) - used}"


def test_jaxlib_has_one_door_and_jax_none():
    for module in MODULES:
        for target, _, line in _imports(module):
            package = target.partition(".")[0]
            assert package not in ("jax", "scipy"), f"{module}:{line} imports {target}"
            if package == "jaxlib":
                assert module == "plait.runtime.xla", f"{module}:{line} imports {target}"


def test_a_module_has_at_most_800_lines():
    for module, path in MODULES.items():
        lines = path.read_text(encoding="utf-8").count("\n")
        if path.name == "__init__.py":  # a table of contents is as long as what it lists
            lists = [n for n in TREES[module].body if isinstance(n, ast.ImportFrom | ast.Assign)]
            lines -= sum(n.end_lineno - n.lineno + 1 for n in lists)
        assert lines <= 800, f"{module} has {lines} lines"


def test_importing_plait_imports_little():
    code = "import plait, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    heavy = ("jax", "scipy", "jaxlib.mlir", "opt_einsum", "rich", "sklearn", "matplotlib")
    assert not [m for m in loaded if m.startswith(tuple(f"{h}." for h in heavy)) or m in heavy]
