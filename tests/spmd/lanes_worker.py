"""Run by test_lanes.py in a process with a given number of devices and form: every collective on
axes of every size, against loops in NumPy (and against vmap where there is one device).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import plait as jax
import plait.numpy as jnp
from plait import lax, random

Rows = np.ndarray
# name -> (function of the operands' rows, its meaning on all rows at once)
Case = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def every(value: Any, n: int) -> Rows:
    """One value for all n rows."""
    return np.stack([np.asarray(value)] * n)


def teams(n: int) -> list[list[int]]:
    """Groups of a kind that puts neighbours into different ones."""
    return [list(range(k, n, 2)) for k in range(2)] if n % 2 == 0 else [list(range(n))]


def uneven(n: int) -> list[list[int]]:
    """Groups of different sizes, whose members are in no order."""
    order = np.random.default_rng(7).permutation(n).tolist()
    cuts = [0, n // 2, n // 2 + 1, n]
    return [team for a, b in itertools.pairwise(cuts) if (team := order[a:b])]


def by_team(
    n: int, fold: Callable[[Rows], Any], make: Callable[[int], list[list[int]]] = teams
) -> Callable[[Rows], Rows]:
    """The meaning of a reduction in groups."""

    def meaning(x: Rows) -> Rows:
        out: list[Any] = [None] * n
        for team in make(n):
            for p in team:
                out[p] = fold(x[team])
        return np.stack(out)

    return meaning


def scattered_in_teams(x: Rows, groups: list[list[int]]) -> Rows:
    out = np.zeros(len(x), x.dtype)
    for team in groups:
        out[team] = x[team].sum(0)
    return out


def exchanged_in_teams(x: Rows, groups: list[list[int]]) -> Rows:
    out = np.zeros_like(x)
    for team in groups:
        out[team] = x[team].T
    return out


def permuted(n: int, perm: list[tuple[int, int]]) -> Callable[[Rows], Rows]:
    def meaning(x: Rows) -> Rows:
        out = np.zeros_like(x)
        for source, target in perm:
            out[target] = x[source]
        return out

    return meaning


def cases(n: int) -> dict[str, tuple[str, Case]]:
    """What to try on an axis of size n, with its operand: x [n, 2n], i or b [n, 2]."""
    ring = [(k, (k + 1) % n) for k in range(n)]
    some = [(k, n - 1 - k) for k in range(0, n, 3)]
    swap = list(range(n))[::-1]
    groups, mixed = teams(n), uneven(n)
    scattered = lambda x: x.sum(0).reshape(n, -1)
    return {
        "psum": ("x", (lambda x: lax.psum(x, "i"), lambda x: every(x.sum(0), n))),
        "pmean": ("x", (lambda x: lax.pmean(x, "i"), lambda x: every(x.mean(0), n))),
        "pmax": ("x", (lambda x: lax.pmax(x, "i"), lambda x: every(x.max(0), n))),
        "pmin": ("x", (lambda x: lax.pmin(x, "i"), lambda x: every(x.min(0), n))),
        "psum of ints": ("i", (lambda x: lax.psum(x, "i"), lambda x: every(x.sum(0), n))),
        "pmax of ints": ("i", (lambda x: lax.pmax(x, "i"), lambda x: every(x.max(0), n))),
        "pmean of ints": ("i", (lambda x: lax.pmean(x, "i"), lambda x: every(x.mean(0), n))),
        "psum of bools": ("b", (lambda x: lax.psum(x, "i"), lambda x: every(x.sum(0), n))),
        "pmin of bools": ("b", (lambda x: lax.pmin(x, "i"), lambda x: every(x.min(0), n))),
        "psum in groups": (
            "x",
            (lambda x: lax.psum(x, "i", axis_index_groups=groups), by_team(n, lambda g: g.sum(0))),
        ),
        "pmax in groups": (
            "x",
            (lambda x: lax.pmax(x, "i", axis_index_groups=groups), by_team(n, lambda g: g.max(0))),
        ),
        "psum in uneven groups": (
            "x",
            (
                lambda x: lax.psum(x, "i", axis_index_groups=mixed),
                by_team(n, lambda g: g.sum(0), uneven),
            ),
        ),
        "pmean in uneven groups": (
            "i",
            (
                lambda x: lax.pmean(x, "i", axis_index_groups=mixed),
                by_team(n, lambda g: g.mean(0), uneven),
            ),
        ),
        "pmin in uneven groups": (
            "x",
            (
                lambda x: lax.pmin(x, "i", axis_index_groups=mixed),
                by_team(n, lambda g: g.min(0), uneven),
            ),
        ),
        "sizes of uneven groups": (
            "i",
            (
                lambda x: x * lax.psum(1, "i", axis_index_groups=mixed),
                lambda x: x * by_team(n, len, uneven)(x)[:, None],
            ),
        ),
        "psum_scatter in groups": (
            "x",
            (
                lambda x: lax.psum_scatter(x[: len(groups[0])], "i", axis_index_groups=groups),
                lambda x: scattered_in_teams(x[:, : len(groups[0])], groups),
            ),
        ),
        "all_to_all in groups": (
            "x",
            (
                lambda x: lax.all_to_all(x[: len(groups[0])], "i", 0, 0, axis_index_groups=groups),
                lambda x: exchanged_in_teams(x[:, : len(groups[0])], groups),
            ),
        ),
        "all_gather": ("x", (lambda x: lax.all_gather(x, "i"), lambda x: every(x, n))),
        "all_gather last": (
            "x",
            (lambda x: lax.all_gather(x, "i", axis=-1), lambda x: every(x.T, n)),
        ),
        "all_gather tiled": (
            "x",
            (lambda x: lax.all_gather(x, "i", tiled=True), lambda x: every(x.reshape(-1), n)),
        ),
        "all_gather in groups": (
            "i",
            (lambda x: lax.all_gather(x, "i", axis_index_groups=groups), by_team(n, lambda g: g)),
        ),
        "psum_scatter": (
            "x",
            (lambda x: lax.psum_scatter(x.reshape(n, 2), "i"), scattered),
        ),
        "psum_scatter tiled": (
            "x",
            (lambda x: lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True), scattered),
        ),
        "all_to_all": (
            "x",
            (
                lambda x: lax.all_to_all(x.reshape(n, 2), "i", 0, 0),
                lambda x: x.reshape(n, n, 2).transpose(1, 0, 2),
            ),
        ),
        "all_to_all elsewhere": (
            "x",
            (
                lambda x: lax.all_to_all(x.reshape(n, 2), "i", 0, 1),
                lambda x: x.reshape(n, n, 2).transpose(1, 2, 0),
            ),
        ),
        "all_to_all tiled": (
            "x",
            (
                lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
                lambda x: x.reshape(n, n, 2).transpose(1, 0, 2).reshape(n, 2 * n),
            ),
        ),
        "ppermute ring": ("x", (lambda x: lax.ppermute(x, "i", ring), permuted(n, ring))),
        "ppermute some": ("i", (lambda x: lax.ppermute(x, "i", some), permuted(n, some))),
        "ppermute none": ("b", (lambda x: lax.ppermute(x, "i", []), np.zeros_like)),
        "pshuffle": ("x", (lambda x: lax.pshuffle(x, "i", swap), lambda x: x[::-1])),
        "pbroadcast": (
            "x",
            (lambda x: lax.pbroadcast(x, "i", n // 2), lambda x: every(x[n // 2], n)),
        ),
        "pswapaxes": (
            "x",
            (
                lambda x: lax.pswapaxes(x.reshape(2, n), "i", 1),
                lambda x: x.reshape(n, 2, n).transpose(2, 1, 0),
            ),
        ),
        "axis_index": (
            "x",
            (lambda x: lax.axis_index("i") + 0 * x[0].astype(int), lambda x: np.arange(n)),
        ),
        "axis_size": ("i", (lambda x: x * lax.axis_size("i"), lambda x: x * n)),
        "psum of a number": ("i", (lambda x: x * lax.psum(1, "i"), lambda x: x * n)),
        "pmax with NaN": (
            "x",
            (
                lambda x: lax.pmax(jnp.where(lax.axis_index("i") == n - 1, jnp.nan, x[0]), "i"),
                lambda x: np.full(n, np.nan),
            ),
        ),
        "two sums and a place": (
            "x",
            (
                lambda x: lax.psum(x * lax.axis_index("i"), "i") / lax.psum(x, "i") - x,
                lambda x: (x * np.arange(n)[:, None]).sum(0) / x.sum(0) - x,
            ),
        ),
    }


def operands(n: int) -> dict[str, Rows]:
    rng = np.random.default_rng(n)
    return {
        "x": rng.uniform(0.5, 2.0, (n, 2 * n)).astype(np.float32),
        "i": rng.integers(-50, 50, (n, 2)).astype(np.int32),
        "b": rng.integers(0, 2, (n, 2)).astype(bool),
    }


def program(n: int) -> Callable[[Any], dict[str, Any]]:
    """One function that tries everything: compiled once for each size."""
    tried = cases(n)
    return lambda rows: {name: f(rows[kind]) for name, (kind, (f, _)) in tried.items()}


def compare(got: Any, want: Any, where: str) -> int:
    for name in want:
        g, w = np.asarray(got[name]), np.asarray(want[name])
        assert g.shape == w.shape, f"{where} {name}: shape {g.shape} instead of {w.shape}"
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=1e-5, err_msg=f"{where} {name}")
    return len(want)


def cost(n: int) -> Callable[[Any], Any]:
    """A number for each row that depends on all rows through every differentiable collective."""
    tried = {k: v for k, v in cases(n).items() if v[0] == "x" and k not in ("pmax with NaN",)}

    def total(x: Any) -> Any:
        parts = [(f(x) ** 2 * (k + 1)).sum() for k, (_, (f, _)) in enumerate(tried.values())]
        return sum(parts) * (1 + lax.axis_index("i"))

    return total


def main(devices: int, form: str) -> None:
    assert jax.device_count() == devices and jax.config.pmap_form == form
    done = 0
    # Fewer than the devices, as many, a multiple, and what does not spread evenly. Over a single
    # device both forms are one: a few sizes show that.
    sizes = (1, 2, 3, 5, 8, 12, 16) if devices > 1 or form == "fused" else (1, 3, 8)
    for n in sizes:
        rows = operands(n)
        f = program(n)
        run = jax.pmap(f, axis_name="i")
        if n > devices and n % devices:
            try:
                run(rows)
            except ValueError as error:
                assert f"{n} rows do not spread evenly over {devices}" in str(error), error
                done += 1
                continue
            raise AssertionError(f"{n} rows on {devices} devices: no error")
        want = {name: meaning(rows[kind]) for name, (kind, (_, meaning)) in cases(n).items()}
        got = run(rows)
        where = f"{n} rows on {devices} devices, {form}:"
        done += compare(got, want, where)
        assert len(got["psum"].devices()) == min(n, devices)
        if devices == 1 and form == "fused":
            done += compare(jax.jit(jax.vmap(f, axis_name="i"))(rows), want, f"vmap of {n} rows:")
        if n in (3, 8):
            slope = jax.pmap(jax.grad(cost(n)), axis_name="i")(rows["x"])
            ours = jax.jit(jax.vmap(jax.grad(cost(n)), axis_name="i"))(rows["x"])
            np.testing.assert_allclose(slope, ours, rtol=1e-3, atol=1e-3, err_msg=where)
        keys = random.split(random.key(n), n)
        numbers = jax.pmap(lambda k: random.uniform(k, (2,)))(keys)
        np.testing.assert_array_equal(
            numbers, np.stack([np.asarray(random.uniform(k, (2,))) for k in keys])
        )
        if n > 1 and devices > 1:
            # Some of the devices, in another order; values as before.
            few = jax.devices()[::-1][: max(1, min(n, devices) // 2)]
            if n % len(few) == 0:
                perm = [(0, n - 1)]
                again = jax.pmap(lambda x, p=perm: lax.ppermute(x, "i", p), "i", devices=few)
                out = again(rows["i"])
                np.testing.assert_array_equal(out, permuted(n, perm)(rows["i"]))
                assert out.devices() == set(few), where
    print(f"{done} results are right")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
