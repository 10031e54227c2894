"""Train two networks on handwritten digits, on every device of this machine.

1,797 real images of 8 x 8 pixels, which scikit-learn ships. A multilayer perceptron and a small
convolutional network learn them by data parallelism: each device has a copy of the parameters and
works on its part of every batch, and the devices average their gradients (lax.pmean) before all
take the same step. The size of the whole batch is fixed, so the outcome does not depend on how many
devices there are.

Run:  python examples/train_digits.py
      PLAIT_NUM_CPU_DEVICES=8 python examples/train_digits.py --model cnn --out curve.png
"""

import argparse
import sys
from functools import partial
from time import perf_counter

import matplotlib
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits

import plait
import plait.numpy as jnp
from plait import lax, nn, random

matplotlib.use("Agg")  # draws into files, needs no display
from matplotlib import pyplot as plt

BATCH = 128  # images in one step, all devices together
TEST_IMAGES = 360
RATE = 8e-3
GOAL = 0.97


def load():
    """(train images, train labels), (test images, test labels); images [n, 8, 8, 1] in 0..1."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.images[order, :, :, None] / 16.0).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    train, test = slice(TEST_IMAGES, None), slice(TEST_IMAGES)
    return (images[train], labels[train]), (images[test], labels[test])


def batches(images, labels, devices, epoch):
    """The data in a new order, cut into batches [devices, images per device, ...]."""
    per_device = max(1, BATCH // devices)
    size = devices * per_device
    order = np.random.default_rng(epoch).permutation(len(labels))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size].reshape(devices, per_device)
        yield images[chosen], labels[chosen]


def dense_init(key, fan_in, fan_out):
    weights = random.normal(key, (fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
    return {"weights": weights, "bias": jnp.zeros(fan_out)}


def conv_init(key, channels_in, channels_out):
    kernel = random.normal(key, (3, 3, channels_in, channels_out))
    kernel = kernel * np.sqrt(2.0 / (9 * channels_in))
    return {"kernel": kernel, "bias": jnp.zeros(channels_out)}


def dense(layer, x):
    return x @ layer["weights"] + layer["bias"]


def conv(layer, x):
    y = lax.conv_general_dilated(
        x,
        layer["kernel"],
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return y + layer["bias"]


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def average_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4.0


def mlp_init(key):
    first, second, third = random.split(key, 3)
    return {
        "hidden1": dense_init(first, 64, 128),
        "hidden2": dense_init(second, 128, 64),
        "output": dense_init(third, 64, 10),
    }


def mlp(params, images):
    x = images.reshape(len(images), 64)
    x = nn.relu(dense(params["hidden1"], x))
    x = nn.relu(dense(params["hidden2"], x))
    return dense(params["output"], x)


def cnn_init(key):
    first, second, third = random.split(key, 3)
    return {
        "conv1": conv_init(first, 1, 16),
        "conv2": conv_init(second, 16, 32),
        "output": dense_init(third, 2 * 2 * 32, 10),
    }


def cnn(params, images):
    x = max_pool(nn.relu(conv(params["conv1"], images)))
    x = average_pool(nn.relu(conv(params["conv2"], x)))
    return dense(params["output"], x.reshape(len(x), -1))


MODELS = {"mlp": (mlp_init, mlp), "cnn": (cnn_init, cnn)}


def adam_init(params):
    # Two trees of zeros, not one twice: the state is donated, and an array can be given away once.
    mean, square = (plait.tree.map(jnp.zeros_like, params) for _ in range(2))
    return {"params": params, "mean": mean, "square": square, "step": jnp.array(0.0)}


def adam(state, gradient, steps):
    """One step of Adam, the rate falling along half a cosine to zero at the last of the steps."""
    step = state["step"] + 1.0
    rate = RATE * 0.5 * (1.0 + jnp.cos(jnp.pi * state["step"] / steps))
    mean = plait.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], gradient)
    square = plait.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, state["square"], gradient)

    def moved(p, m, s):
        m = m / (1.0 - 0.9**step)
        s = s / (1.0 - 0.99**step)
        return p - rate * m / (jnp.sqrt(s) + 1e-8)

    params = plait.tree.map(moved, state["params"], mean, square)
    return {"params": params, "mean": mean, "square": square, "step": step}


def make_training(network, steps):
    """The two mapped functions: one step of training, and the predictions for the test images."""

    def loss_of(params, images, labels):
        scores = nn.log_softmax(network(params, images))
        chosen = jnp.take_along_axis(scores, labels[:, None], axis=1)
        accuracy = jnp.mean(jnp.argmax(scores, axis=1) == labels)
        return -jnp.mean(chosen), accuracy

    # The state is donated: the new one takes over its memory.
    @partial(plait.pmap, axis_name="devices", out_axes=(0, None), donate_argnums=0)
    def train_step(state, images, labels):
        value_and_grad = plait.value_and_grad(loss_of, has_aux=True)
        (loss, accuracy), gradient = value_and_grad(state["params"], images, labels)
        loss, accuracy, gradient = lax.pmean((loss, accuracy, gradient), "devices")
        return adam(state, gradient, steps), (loss, accuracy)

    @partial(plait.pmap, axis_name="devices", out_axes=(0, None))
    def predict(params, images, labels):
        predicted = jnp.argmax(network(params, images), axis=1)
        return predicted, lax.psum(jnp.sum(predicted == labels), "devices")

    return train_step, predict


def split(images, labels, devices):
    """Everything as [devices, n, ...], filled up with images whose label no prediction matches."""
    missing = -len(labels) % devices
    images = np.concatenate([images, np.zeros((missing, *images.shape[1:]), images.dtype)])
    labels = np.concatenate([labels, np.full(missing, -1, labels.dtype)])
    return images.reshape(devices, -1, *images.shape[1:]), labels.reshape(devices, -1)


class Report:
    """A live progress bar on a terminal; elsewhere (a file, a pipe) now and then a plain line."""

    def __init__(self, console, name, epochs):
        self.console, self.name, self.epochs = console, name, epochs
        self.bar = Progress(
            TextColumn("{task.description:4}"),
            BarColumn(bar_width=14),
            TextColumn("{task.completed:2d}/{task.total}  {task.fields[figures]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self):
        self.bar.start()
        self.task = self.bar.add_task(self.name, total=self.epochs, figures="")
        return self

    def __exit__(self, *error):
        self.bar.stop()

    def epoch(self, number, loss, accuracy, test):
        figures = f"loss {loss:.4f}  accuracy {accuracy:6.2%}  test {test:6.2%}"
        self.bar.update(self.task, completed=number, figures=figures)
        every = max(1, self.epochs // 5)
        if self.bar.disable and (number % every == 0 or number == self.epochs):
            self.console.print(f"{self.name:4} epoch {number:3d}/{self.epochs}  {figures}")


def draw(curves, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for name, (losses, accuracies) in curves.items():
        epochs = np.linspace(0.0, len(accuracies), len(losses), endpoint=False)
        left.semilogy(epochs, losses, label=name, linewidth=1.0)
        right.plot(np.arange(1, len(accuracies) + 1), accuracies, label=name)
    left.set(title="Training loss", xlabel="epoch")
    right.set(title="Test accuracy", xlabel="epoch", ylim=(0.8, 1.0))
    right.axhline(GOAL, color="grey", linestyle=":", label=f"goal, {GOAL:.0%}")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def show_layout(console, state, predicted):
    console.print("How the arrays lie on the devices")
    for path, array in [
        ("params['output']['bias']", state["params"]["output"]["bias"]),
        ("predictions", predicted),
    ]:
        console.print(f"\n{path}, shape {array.shape}: its first axis runs over the devices")
        plait.debug.visualize_array_sharding(array)


def train(name, epochs, console):
    """Train one network. Returns its losses by step and test accuracies by epoch, and arrays."""
    devices = plait.local_device_count()
    init, network = MODELS[name]
    (images, labels), test = load()
    test = split(*test, devices)
    steps = epochs * len(list(batches(images, labels, devices, epoch=0)))

    train_step, predict = make_training(network, steps)
    state = adam_init(init(random.key(0)))
    state = plait.device_put_replicated(state, plait.local_devices())

    losses, accuracies = [], []
    start = perf_counter()
    with Report(console, name, epochs) as report:
        for epoch in range(1, epochs + 1):
            figures = []
            for batch in batches(images, labels, devices, epoch):
                state, loss_and_accuracy = train_step(state, *batch)
                figures.append(loss_and_accuracy)  # not read yet: the devices run ahead
            predicted, hits = predict(state["params"], *test)
            figures = np.array(plait.device_get(figures))
            losses.extend(figures[:, 0])
            accuracies.append(int(hits) / TEST_IMAGES)
            report.epoch(epoch, *figures.mean(axis=0), accuracies[-1])
    seconds = perf_counter() - start

    console.print(
        f"{name}: test accuracy {accuracies[-1]:.2%} ({int(hits)} of {TEST_IMAGES}),"
        f" {steps} steps in {seconds:.1f} s\n"
    )
    return (losses, accuracies), (state, predicted)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=[*MODELS, "both"], default="both")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", default="train_digits.png", help="where the curves are drawn")
    options = parser.parse_args(arguments)

    console = Console(file=sys.stdout, highlight=False)
    kinds = sorted({device.device_kind for device in plait.local_devices()})
    console.print(f"devices: {plait.local_device_count()} ({', '.join(kinds)})\n")

    curves = {}
    for name in MODELS if options.model == "both" else [options.model]:
        curves[name], arrays = train(name, options.epochs, console)
        assert curves[name][1][-1] >= GOAL, f"{name} should reach {GOAL:.0%} on the test images"

    show_layout(console, *arrays)
    draw(curves, options.out)
    console.print(f"\nLoss and accuracy are drawn in {options.out}")


if __name__ == "__main__":
    main()
