"""Transformations inside each other: vmap, grad and jit under pmap, in several orders.

The outer axis of the data goes over the devices, the next one is vectorised on each of them, and
the function at the bottom sees a single vector.

Run:  python examples/nested_maps.py
"""

import numpy as np

import plait
import plait.numpy as jnp

WEIGHTS = np.array([0.5, -1.0, 2.0, 0.25], dtype=np.float32)


def kernel(vector):
    """A function of one vector of four numbers."""
    return jnp.tanh(vector * WEIGHTS).sum()


def kernel_in_numpy(array):
    return np.tanh(array * WEIGHTS).sum(axis=-1)


def loss(row):
    """A scalar of one device's share, itself vectorised inside."""
    return jnp.mean(plait.vmap(kernel)(row) ** 2)


def loss_gradient_in_numpy(row):
    value = kernel_in_numpy(row)
    slope = WEIGHTS * (1.0 - np.tanh(row * WEIGHTS) ** 2)
    return 2.0 * value[:, None] * slope / len(row)


def main():
    data = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(2, 3, 4)
    print(f"data {data.shape}: 2 devices, 3 vectors for each, 4 numbers in a vector")
    print(f"({plait.local_device_count()} devices here)\n")

    # vmap called inside the mapped function, or around it: the same program.
    def share(rows):
        return plait.vmap(kernel)(rows)

    expected = kernel_in_numpy(data)
    inside = plait.pmap(share)(data)
    around = plait.pmap(plait.vmap(kernel))(data)
    print(f"pmap(vmap(kernel)) {around.shape} =\n{around}\n")
    assert around.shape == (2, 3)
    np.testing.assert_allclose(around, expected, rtol=1e-5)
    np.testing.assert_array_equal(inside, around)

    # Compile, then differentiate, then map.
    gradients = plait.pmap(plait.grad(plait.jit(loss)))(data)
    print(f"pmap(grad(jit(loss))) {gradients.shape} =\n{gradients}\n")
    assert gradients.shape == data.shape
    wanted = np.stack([loss_gradient_in_numpy(row) for row in data])
    np.testing.assert_allclose(gradients, wanted, rtol=1e-4, atol=1e-6)

    # Other orders that mean the same.
    for name, function in {
        "pmap(jit(grad(loss)))": plait.pmap(plait.jit(plait.grad(loss))),
        "pmap(grad(loss))": plait.pmap(plait.grad(loss)),
        "vmap(grad(loss))": plait.vmap(plait.grad(loss)),
        "grad of the sum of pmap(loss)": plait.grad(lambda x: plait.pmap(loss)(x).sum()),
    }.items():
        np.testing.assert_allclose(function(data), wanted, rtol=1e-4, atol=1e-6)
        print(f"agrees: {name}")

    for name, function in {
        "pmap(jit(vmap(kernel)))": plait.pmap(plait.jit(plait.vmap(kernel))),
        "jit(pmap(vmap(kernel)))": plait.jit(plait.pmap(plait.vmap(kernel))),
        "jit(vmap(vmap(kernel)))": plait.jit(plait.vmap(plait.vmap(kernel))),
    }.items():
        np.testing.assert_allclose(function(data), expected, rtol=1e-5)
        print(f"agrees: {name}")


if __name__ == "__main__":
    main()
