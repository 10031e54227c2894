"""What plait's public modules export, pinned in exports.txt.

`python -m tests.test_exports` writes it anew; the difference is what a change promises or breaks.
"""

from __future__ import annotations

import ast
import importlib
import pathlib
import types

STORED = pathlib.Path(__file__).with_name("exports.txt")
ROOT = pathlib.Path(__file__).parent.parent
DISTRIBUTIONS = """
bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r
laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t truncnorm uniform
vonmises wrapcauchy
""".split()
PUBLIC = (
    "plait",
    "plait.ad_checkpoint",
    "plait.core",
    "plait.custom_batching",
    "plait.custom_derivatives",
    "plait.debug",
    "plait.distributed",
    "plait.dlpack",
    "plait.dtypes",
    "plait.errors",
    "plait.example_libraries.optimizers",
    "plait.example_libraries.stax",
    "plait.experimental",
    "plait.experimental.checkify",
    "plait.experimental.jet",
    "plait.experimental.layout",
    "plait.experimental.mesh_utils",
    "plait.experimental.multihost_utils",
    "plait.experimental.ode",
    "plait.experimental.pjit",
    "plait.experimental.shard_map",
    "plait.experimental.sparse",
    "plait.flatten_util",
    "plait.image",
    "plait.lax",
    "plait.lax.linalg",
    "plait.monitoring",
    "plait.nn",
    "plait.nn.initializers",
    "plait.numpy",
    "plait.numpy.fft",
    "plait.numpy.linalg",
    "plait.ops",
    "plait.profiler",
    "plait.random",
    "plait.scipy.cluster.vq",
    "plait.scipy.fft",
    "plait.scipy.integrate",
    "plait.scipy.interpolate",
    "plait.scipy.linalg",
    "plait.scipy.ndimage",
    "plait.scipy.optimize",
    "plait.scipy.signal",
    "plait.scipy.sparse.linalg",
    "plait.scipy.spatial.transform",
    "plait.scipy.special",
    "plait.scipy.stats",
    *(f"plait.scipy.stats.{name}" for name in DISTRIBUTIONS),
    "plait.sharding",
    "plait.stages",
    "plait.test_util",
    "plait.testing",
    "plait.tree",
    "plait.tree_util",
    "plait.typing",
)


def exported(module: types.ModuleType) -> list[str]:
    """Names in __all__, else all that do not begin with _; of modules only the public ones."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [n for n, value in vars(module).items() if n[0] != "_" and not _borrowed(value)]
    values = {f"{module.__name__}.{name}": getattr(module, name) for name in names}
    return sorted(
        name
        for name, value in values.items()
        if not isinstance(value, types.ModuleType) or value.__name__ in PUBLIC
    )


def _borrowed(value: object) -> bool:
    """Whether a module has a thing only because it imports it from Python's own library."""
    return isinstance(value, type(annotations)) or getattr(value, "__module__", "") in (
        "typing",
        "collections.abc",
    )


def current() -> str:
    modules = [importlib.import_module(name) for name in PUBLIC]  # all, before any is looked at
    names = [name for module in modules for name in exported(module)]
    return "".join(f"{name}\n" for name in names)


def shown(package: str) -> set[str]:
    """The modules that a package shows under their names, by its source."""
    folder = ROOT / package.replace(".", "/")
    if not folder.is_dir():
        return set()
    modules = {path.stem for path in folder.iterdir() if path.stem[0] != "_"}
    if package == "plait.experimental":  # which imports none: a user names them
        return {f"{package}.{name}" for name in modules}
    program = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    return {
        f"{package}.{alias.name}"
        for node in ast.walk(program)
        if isinstance(node, ast.ImportFrom) and node.module == package
        for alias in node.names
        if alias.name in modules and alias.asname in (None, alias.name)
    }


def test_every_module_that_a_package_shows_is_public():
    """And so has its page in the reference, which has one for each of PUBLIC."""
    found, todo = set(), {"plait"}
    while todo:
        found |= todo
        todo = {module for package in todo for module in shown(package)} - found
    assert len(found) > 60

    def has_names(module: str) -> bool:
        thing = importlib.import_module(module)
        values = [getattr(thing, name.removeprefix(f"{module}.")) for name in exported(thing)]
        return not all(isinstance(value, types.ModuleType) for value in values)

    assert {module for module in found - set(PUBLIC) if has_names(module)} == set()


def test_the_public_names_are_those_promised():
    got, promised = set(current().split()), set(STORED.read_text(encoding="utf-8").split())
    assert not promised - got, f"gone: {sorted(promised - got)}"
    assert not got - promised, f"new, not in {STORED.name}: {sorted(got - promised)}"


def test_every_public_function_is_documented():
    def undocumented(name: str) -> bool:
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        ours = getattr(value, "__module__", "").startswith("plait")
        return ours and callable(value) and not value.__doc__

    assert [name for name in current().split() if undocumented(name)] == []


if __name__ == "__main__":
    STORED.write_text(current(), encoding="utf-8")
