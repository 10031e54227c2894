"""Recipes of plait.scipy's spatial.transform, sparse.linalg and optimize."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize
import scipy.spatial.transform

from plait.scipy import optimize
from plait.scipy.sparse import linalg as sparse
from plait.scipy.spatial import transform
from tests.drawn.common import Case, Draw, recipe


def rotations(d: Draw, dtype: Any, n: int | None = None) -> np.ndarray:
    """Quaternions, one or several."""
    shape = () if n is None else (n,)
    return d.array((*shape, 4), dtype)


def of_both(run: Any, *args: Any, **how: Any) -> Case:
    """A case of a function of the module `transform`, ours and SciPy's."""
    how = {"loose": 64.0, "floor": 1.0} | how
    return Case(
        args,
        function=lambda *xs: run(transform, *xs),
        of=lambda *xs: run(scipy.spatial.transform, *xs),
        **how,
    )


def quaternion(q: Any) -> Any:
    """One of the two quaternions of each rotation: the products of their components."""
    return q[..., :, None] * q[..., None, :]


FROM = {"from_quat": (4,), "from_rotvec": (3,), "from_mrp": (3,), "from_matrix": (3, 3)}


@recipe(*(f"scipy.spatial.transform.Rotation.{name}" for name in FROM))
def _from(name: str, d: Draw) -> Case:
    outer = d.one_of((), (3,), (1,))
    x = d.array((*outer, *FROM[name]), d.float(half=False))
    if name == "from_matrix":
        r = scipy.spatial.transform.Rotation.from_quat(d.array((*outer, 4), np.float64))
        x = r.as_matrix().astype(x.dtype)
    degrees = {"degrees": True} if name == "from_rotvec" and d.chance(0.3) else {}

    def run(module, x):
        return getattr(module.Rotation, name)(x, **degrees).as_quat()

    return of_both(run, x, see=quaternion)


@recipe("scipy.spatial.transform.Rotation.from_euler")
def _from_euler(d: Draw) -> Case:
    seq = ""
    while len(seq) < 1 or (len(seq) < 3 and d.chance(0.7)):
        seq += d.one_of(*sorted({*"xyz"} - {*seq[-1:]}))
    seq = seq.upper() if d.chance() else seq
    degrees = d.chance(0.3)
    x = d.array((*d.one_of((), (3,)), len(seq)), d.float(half=False), 60.0 if degrees else 1.0)
    x = x[..., 0] if len(seq) == 1 and d.chance() and x.ndim == 1 else x

    def run(module, x):
        return module.Rotation.from_euler(seq, x, degrees=degrees).as_quat()

    return of_both(run, np.asarray(x), see=quaternion)


AS = ("as_quat", "as_matrix", "as_rotvec", "as_mrp", "magnitude", "inv", "mean")


@recipe(*(f"scipy.spatial.transform.Rotation.{name}" for name in AS))
def _as(name: str, d: Draw) -> Case:
    q = rotations(d, d.float(half=False), 3 if name == "mean" else d.one_of(None, 1, 3))
    kwargs = {"as_rotvec": {"degrees": d.chance(0.3)}, "as_quat": {"scalar_first": d.chance()}}

    def run(module, q):
        r = getattr(module.Rotation.from_quat(q), name)(**kwargs.get(name, {}))
        return r.as_quat() if name in ("inv", "mean") else r

    see = quaternion if name in ("inv", "mean", "as_quat") else None
    return of_both(run, q, see=see, floor=180.0 if name == "as_rotvec" else 1.0)


@recipe("scipy.spatial.transform.Rotation.as_euler")
def _as_euler(d: Draw) -> Case:
    first, second = d.rng.permutation(list("xyz"))[:2]
    third = d.one_of(*sorted({*"xyz"} - {second}))
    seq = first + second + third if d.chance() else (first + second + third).upper()
    q, degrees = rotations(d, d.float(half=False), d.one_of(None, 3)), d.chance(0.3)

    def run(module, q):
        return module.Rotation.from_quat(q).as_euler(seq, degrees=degrees)

    return of_both(run, q, floor=180.0 if degrees else 4.0)


@recipe("scipy.spatial.transform.Rotation.apply")
def _apply(d: Draw) -> Case:
    dtype = d.float(half=False)
    q, v = rotations(d, dtype, d.one_of(None, 3)), d.array((*d.one_of((), (3,)), 3), dtype)
    inverse = d.chance()
    return of_both(lambda m, q, v: m.Rotation.from_quat(q).apply(v, inverse=inverse), q, v)


@recipe("scipy.spatial.transform.Rotation.concatenate")
def _concatenate(d: Draw) -> Case:
    dtype = d.float(half=False)
    parts = [rotations(d, dtype, d.one_of(None, 2)) for _ in range(d.number(1, 3))]

    def run(module, *parts):
        r = module.Rotation
        return r.concatenate([r.from_quat(q) for q in parts]).as_quat()

    return of_both(run, *parts, see=quaternion)


@recipe("scipy.spatial.transform.Rotation.identity")
def _identity(d: Draw) -> Case:
    num = d.one_of(None, 1, 3)
    return of_both(
        lambda m: m.Rotation.identity(num).as_quat(), dtype=np.float64 if d.x64 else np.float32
    )


@recipe("scipy.spatial.transform.Slerp")
def _slerp(d: Draw) -> Case:
    dtype, n = d.float(half=False), d.number(2, 4)
    q, times = rotations(d, dtype, n), np.cumsum(0.2 + d.rng.random(n)).astype(dtype)
    shape = d.one_of((), (3,))
    at = (times[0] + (times[-1] - times[0]) * d.rng.random(shape)).astype(dtype)

    def run(module, times, q, at):
        make = getattr(module.Slerp, "init", module.Slerp)
        return make(times, module.Rotation.from_quat(q))(at).as_quat()

    return of_both(run, times, q, np.asarray(at), see=quaternion, loose=512.0)


# --- equations and minima, found by steps: the references are their exact solutions


@recipe("scipy.sparse.linalg.cg", "scipy.sparse.linalg.bicgstab", "scipy.sparse.linalg.gmres")
def _iterative(name: str, d: Draw) -> Case:
    n, dtype = d.number(1, 4), d.inexact()
    a = d.array((n, n), dtype) * 0.4
    a = (a @ np.conj(a.T) if name == "cg" else a) + 3 * np.eye(n)
    a, b, x0 = a.astype(dtype), d.array((n,), dtype), d.array((n,), dtype)
    kwargs: dict[str, Any] = {"tol": 1e-10 if d.x64 and dtype.itemsize > 8 else 1e-6}
    if name == "gmres":
        kwargs["restart"] = d.number(2, 20)
    given, start, better = d.chance(0.3), d.chance(0.3), d.chance(0.3)

    def run(a, b, x0):
        matrix = (lambda x: a @ x) if given else a
        more = {"x0": x0} if start else {}
        more |= {"M": np.diag(1 / np.diag(a)).astype(a.dtype)} if better else {}
        return getattr(sparse, name)(matrix, b, **more, **kwargs)[0]

    # |b - A x| is at most tol |b|, and the smallest singular value of A is at least 1.
    slack = 16 * kwargs["tol"] / float(np.finfo(dtype).eps)
    return Case(
        (a, b, x0), function=run, of=lambda a, b, x0: np.linalg.solve(a, b), loose=slack + 64
    )


@recipe("scipy.optimize.minimize")
def _minimize(d: Draw) -> Case:
    n = d.number(1, 3)
    root, at = (
        d.array((n, n), np.float32) * 0.2 + np.eye(n, dtype=np.float32),
        d.array((n,), np.float32),
    )
    start = d.array((n,), np.float32)

    def f(x, root, at):
        return 0.5 * ((root @ (x - at)) ** 2).sum() + 1.0

    def ours(x0, root, at):
        return optimize.minimize(f, x0, (root, at), method="BFGS").x

    def of(x0, root, at):
        return scipy.optimize.minimize(f, x0, (root, at), method="BFGS").x

    return Case((start, root, at), function=ours, of=of, loose=2e4, fixed=(0, 1, 2), floor=1.0)
