"""Rotations and their interpolation against SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.spatial.transform as scipy_transform

import plait as jax
import plait.numpy as jnp
from plait import random
from plait.errors import ArgumentError, ArgumentTypeError, ShapeError
from plait.scipy.spatial.transform import Rotation, Slerp
from plait.testing import assert_close
from tests.numpy.common import by_meaning, floats, raises  # noqa: F401

pytestmark = pytest.mark.usefixtures("by_meaning", "x64")

# Any rotations, and some in which a component of the quaternion or a sine is zero.
EDGES = np.array([[0, 0, 0, 1], [1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 1, -1], [0.5, 0.5, -0.5, 0.5]])
QUATS = np.concatenate([floats(20, 4).astype(np.float64), EDGES, [[1e-3, 2e-4, 0, 1]]])
SCIPY = scipy_transform.Rotation.from_quat(QUATS)
VECTORS = floats(len(QUATS), 3, seed=4).astype(np.float64)
ORDERS = ["".join(p) for p in itertools.product("xyz", repeat=3) if p[0] != p[1] != p[2]]


@pytest.fixture
def ours(x64):
    return Rotation.from_quat(QUATS)


def same(got, want):
    """Equal as rotations: quaternions up to their sign."""
    p, q = np.asarray(got.quat), want.as_quat()
    np.testing.assert_allclose(np.abs(np.sum(p * q, -1)), 1, rtol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(p, axis=-1), 1, rtol=1e-13)
    # Small angles show here alone.
    np.testing.assert_allclose(got.as_matrix(), want.as_matrix(), atol=1e-13)


def test_forms(ours):
    assert_close(ours.as_quat(), SCIPY.as_quat(), rtol=1e-14)
    first = dict(canonical=True, scalar_first=True)
    # Of half a turn both quaternions, and both directions of the axis, are right.
    half_turn = np.asarray(ours.quat)[:, 3] == 0
    got, want = (np.asarray(r.as_quat(**first))[~half_turn] for r in (ours, SCIPY))
    assert_close(got, want, rtol=1e-14)
    for name, arguments in (("as_rotvec", {}), ("as_rotvec", {"degrees": True}), ("as_mrp", {})):
        got, want = getattr(ours, name)(**arguments), getattr(SCIPY, name)(**arguments)
        got = np.where(half_turn[:, None], np.abs(got), got)
        want = np.where(half_turn[:, None], np.abs(want), want)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ours.magnitude(), SCIPY.magnitude(), rtol=1e-12)


def test_made_from_forms():
    same(Rotation.from_matrix(SCIPY.as_matrix()), SCIPY)
    vectors = np.concatenate([VECTORS, VECTORS * 1e-2, VECTORS * 1e-9, np.zeros((1, 3))])
    for degrees in (False, True):
        want = scipy_transform.Rotation.from_rotvec(vectors, degrees=degrees)
        same(Rotation.from_rotvec(vectors, degrees=degrees), want)
    same(Rotation.from_mrp(VECTORS), scipy_transform.Rotation.from_mrp(VECTORS))


def test_euler_angles(ours):
    angles = VECTORS * 2
    for seq in [*ORDERS, "xy", "z"]:
        for name in (seq, seq.upper()):
            given = angles[:, : len(seq)]
            want = scipy_transform.Rotation.from_euler(name, given)
            same(Rotation.from_euler(name, given), want)
            if len(seq) == 3:
                np.testing.assert_allclose(
                    Rotation(jnp.asarray(want.as_quat())).as_euler(name),
                    want.as_euler(name),
                    atol=1e-12,
                )
    want = SCIPY[:20].as_euler("zyx", degrees=True)
    np.testing.assert_allclose(ours[:20].as_euler("zyx", degrees=True), want)
    assert Rotation.from_euler("z", 90, degrees=True).single
    assert Rotation.from_euler("z", [1.0, 2.0]).quat.shape == (2, 4)
    assert Rotation.from_euler("z", [[1.0], [2.0]]).quat.shape == (2, 4)


@pytest.mark.filterwarnings("ignore:Gimbal lock")
def test_euler_angles_that_lock():
    for seq in ORDERS:
        middle = [0, np.pi] if seq[0] == seq[2] else [-np.pi / 2, np.pi / 2]
        angles = [[0.7, m, 0.4] for m in middle]
        for name in (seq, seq.upper()):
            turned = scipy_transform.Rotation.from_euler(name, angles)
            got = Rotation.from_quat(turned.as_quat()).as_euler(name)
            np.testing.assert_allclose(got, turned.as_euler(name), atol=1e-7)


def test_what_rotations_do(ours):
    np.testing.assert_allclose(ours.apply(VECTORS), SCIPY.apply(VECTORS), rtol=1e-12)
    back = SCIPY.apply(VECTORS, inverse=True)
    np.testing.assert_allclose(ours.apply(VECTORS, inverse=True), back, rtol=1e-12)
    np.testing.assert_allclose(ours[0].apply(VECTORS), SCIPY[0].apply(VECTORS), rtol=1e-12)
    np.testing.assert_allclose(ours.apply(VECTORS[0]), SCIPY.apply(VECTORS[0]), rtol=1e-12)
    same(ours * ours[3], SCIPY * SCIPY[3])
    same(ours.inv(), SCIPY.inv())
    same(ours[:20].mean(), SCIPY[:20].mean())
    weights = np.arange(1.0, 21)
    same(ours[:20].mean(weights), SCIPY[:20].mean(weights))
    assert len(ours) == len(QUATS) and len(list(ours)) == len(QUATS) and not ours.single
    joined = Rotation.concatenate([ours[:2], ours[4]])
    np.testing.assert_array_equal(joined.quat, np.asarray(ours.quat)[[0, 1, 4]])
    assert Rotation.identity().as_matrix().tolist() == np.eye(3).tolist()
    assert Rotation.identity(2, np.float32).quat.dtype == np.float32
    drawn = Rotation.random(random.key(0), 2000)
    np.testing.assert_allclose(np.linalg.norm(drawn.quat, axis=1), 1)
    assert np.abs(np.mean(drawn.as_matrix(), 0)).max() < 0.06
    assert Rotation.random(random.key(0)).single


def test_between_rotations(ours):
    times = np.array([0.0, 1, 1.5, 4])
    slerp, scipys = Slerp.init(times, ours[:4]), scipy_transform.Slerp(times, SCIPY[:4])
    at = np.array([[0.0, 0.3, 1], [1.2, 3.9, 4]])
    got = slerp(at)
    assert got.quat.shape == (2, 3, 4)
    same(Rotation(got.quat.reshape(6, 4)), scipys(at.ravel()))
    assert slerp(0.5).single


def test_derivatives_and_transformations(ours):
    # Also at the identity, where norms have none.
    for v in (np.zeros(3), np.array([0.3, -0.2, 0.5])):
        loop = jax.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(v)
        np.testing.assert_allclose(loop, np.eye(3), atol=1e-12)
    cross = jax.jacobian(lambda v: Rotation.from_rotvec(v).apply(np.array([1.0, 2, 3])))(
        np.zeros(3)
    )
    np.testing.assert_allclose(cross, [[0, 3, -2], [-3, 0, 1], [2, -1, 0]], atol=1e-12)
    rows = jax.vmap(lambda r, v: r.apply(v))(ours, VECTORS)
    np.testing.assert_allclose(rows, SCIPY.apply(VECTORS), rtol=1e-12)
    assert jax.tree.map(lambda q: q * 1, ours) != 0 and len(jax.tree.leaves(ours)) == 1
    assert jax.jit(lambda r: r.inv() * r)(ours[:1]).quat.tolist() == [[0, 0, 0, 1]]


def test_dtypes():
    with jax.enable_x64(False):
        for r in (
            Rotation.from_quat([0, 0, 1, 1]),
            Rotation.from_euler("xyz", np.array([1.0, 2.0, 3.0], np.float32)),
            Rotation.from_rotvec(np.ones(3, np.float16)) * Rotation.identity(),
        ):
            assert r.quat.dtype == r.as_matrix().dtype == r.as_euler("xyz").dtype == np.float32
        assert Rotation.from_rotvec(np.ones(3, np.float16)).as_rotvec().dtype == np.float16


def test_mistakes(ours):
    with raises(ArgumentError, "axes x, y, z"):
        Rotation.from_euler("abc", np.ones(3))
    with raises(ArgumentError, "not both"):
        Rotation.from_euler("xYz", np.ones(3))
    with raises(ArgumentError, "neighbours different"):
        ours.as_euler("xxy")
    with raises(ShapeError, "an angle for each axis"):
        Rotation.from_euler("xyz", np.ones(2))
    with raises(ShapeError, "size 4"):
        Rotation.from_quat(np.ones(3))
    with raises(ShapeError, "3, 3"):
        Rotation.from_matrix(np.ones(3))
    with raises(ShapeError, "a time for each"):
        Slerp.init(np.ones(3), ours)
    with raises(ShapeError, "a weight for each"):
        ours.mean(np.ones(2))
    with raises(ArgumentTypeError, "single rotation"):
        ours[0][0]
    with raises(ArgumentTypeError, "needs a Rotation"):
        Slerp.init(np.ones(3), QUATS)
