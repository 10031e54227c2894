"""Fit y = w x + b by gradient descent, every device working on its own part of the data.

The parameters are not mapped (in_axes None) and neither are the results (out_axes None): the mean
over the devices is the same on all of them, so what comes back is one ordinary loss and one
ordinary gradient.

Run:  python examples/linear_regression.py
"""

from functools import partial

import numpy as np

import plait
import plait.numpy as jnp
from plait import lax

W, B = 2.5, -1.0
STEPS, RATE = 60, 0.1


def loss_of(params, x, y):
    w, b = params
    return jnp.mean((w * x + b - y) ** 2)


@partial(plait.pmap, axis_name="devices", in_axes=(None, 0, 0), out_axes=(None, None))
def loss_and_gradient(params, x, y):
    loss, gradient = plait.value_and_grad(loss_of)(params, x, y)
    # pmean takes a whole tree: the loss by itself, the gradient as the tuple that params is.
    return lax.pmean(loss, "devices"), lax.pmean(gradient, "devices")


def make_data(devices, per_device=64):
    """Float64, as NumPy makes it; plait computes in float32 unless told otherwise."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-2.0, 2.0, size=(devices, per_device))
    y = W * x + B + 0.1 * generator.normal(size=x.shape)
    return x, y


def main():
    devices = plait.local_device_count()
    x, y = make_data(devices)
    print(f"{x.size} points, {x.shape[1]} on each of {devices} devices\n")

    params = (jnp.array(0.0), jnp.array(0.0))

    # The mean of the devices' gradients is the gradient over all the data, as on a single device.
    loss, gradient = loss_and_gradient(params, x, y)
    whole_loss, whole_gradient = plait.value_and_grad(loss_of)(params, x.ravel(), y.ravel())
    np.testing.assert_allclose(loss, whole_loss, rtol=1e-5)
    np.testing.assert_allclose(gradient, whole_gradient, rtol=1e-5)
    assert loss.shape == () and all(g.shape == () for g in gradient)

    for step in range(STEPS + 1):
        loss, gradient = loss_and_gradient(params, x, y)
        if step % 10 == 0:
            w, b = params
            print(f"step {step:2d}   loss {loss:7.4f}   w {w:7.4f}   b {b:7.4f}")
        params = plait.tree.map(lambda p, g: p - RATE * g, params, gradient)

    # The best line is known in closed form.
    best = np.polyfit(x.ravel(), y.ravel(), 1)
    np.testing.assert_allclose(params, best, atol=1e-4)
    w, b = params
    print(f"\nfound w = {w:.3f}, b = {b:.3f}; least squares says {best[0]:.3f}, {best[1]:.3f}")


if __name__ == "__main__":
    main()
