"""The examples run as a user runs them: a process each, with 1, 2, 4 and 8 devices.

They assert what they show, so here it is enough that they end well and print what they promise.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
DEVICES = [1, 2, 4, 8]


def run(name, devices, *arguments, cwd=None, form="auto", quick=False):
    environment = {
        **os.environ,
        "PLAIT_PLATFORMS": "cpu",
        "PLAIT_NUM_CPU_DEVICES": str(devices),
        "PLAIT_PMAP_FORM": form,
        "PLAIT_DISABLE_MOST_OPTIMIZATIONS": str(int(quick)),
        "PYTHONPATH": os.pathsep.join([str(EXAMPLES.parent), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{name} on {devices} devices:\n{done.stdout}\n{done.stderr}"
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("devices", DEVICES)
def test_elementwise_pmap(devices):
    output = run("elementwise_pmap.py", devices)
    assert f"{devices} devices here, {min(2, devices)} used" in output
    assert "jit under pmap costs nothing" in output


@pytest.mark.parametrize("devices", DEVICES)
def test_linear_regression(devices):
    output = run("linear_regression.py", devices)
    losses = [float(text) for text in re.findall(r"loss +(\d+\.\d{4}) ", output)]
    assert len(losses) == 7
    assert losses[-1] < losses[0] / 100
    assert re.search(r"found w = 2\.[45]\d\d, b = -[01]\.\d\d\d", output)


@pytest.mark.parametrize("devices", DEVICES)
def test_nested_maps(devices):
    output = run("nested_maps.py", devices)
    assert output.count("agrees:") == 7


@pytest.mark.parametrize("devices", [2, 8])
@pytest.mark.parametrize("name", ["elementwise_pmap", "linear_regression", "nested_maps"])
def test_each_device_runs_its_own_part(name, devices):
    run(f"{name}.py", devices, form="gang", quick=True)


@pytest.mark.parametrize("processes", [1, 2])
def test_train_processes(processes):
    output = run("train_processes.py", 2, "--processes", str(processes))
    losses = re.findall(rf"of {processes}: 2 of {2 * processes} devices, loss (\d\.\d+)", output)
    assert losses == ["0.4104"] * processes


@cache
def digits(devices, folder, form="auto"):
    """Both networks on so many devices: {name: right answers of 360}, and all that was printed."""
    arguments = ["--epochs", "20", "--out", "curve.png"]
    output = run("train_digits.py", devices, *arguments, cwd=folder, form=form)
    found = re.findall(r"^(\w+): test accuracy [\d.]+% \((\d+) of 360\)", output, re.MULTILINE)
    return {name: int(right) for name, right in found}, output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("digits")


@pytest.mark.parametrize("devices", DEVICES)
def test_train_digits(devices, folder):
    right, output = digits(devices, folder)
    assert right == digits(1, folder)[0], "the number of devices should not change the outcome"
    assert set(right) == {"mlp", "cnn"}
    assert all(n >= 0.97 * 360 for n in right.values())
    assert f"devices: {devices} (cpu)" in output
    assert "How the arrays lie on the devices" in output
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", output), "no control characters in a pipe"
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_train_digits_with_each_device_running_its_own_part(folder):
    assert digits(4, folder, form="gang")[0] == digits(1, folder)[0]


def test_train_digits_as_make_demo_runs_it(tmp_path):
    output = run("train_digits.py", 2, cwd=tmp_path)
    assert "loss" in output
    assert "accuracy" in output
    assert (tmp_path / "train_digits.png").exists()
