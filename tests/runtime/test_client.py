"""Which devices a process has, when they start, and what is said if they cannot."""

import importlib
import os
import sys

import pytest

from plait.errors import BackendError
from plait.runtime import client, plugins
from tests.runtime.programs import child, output_of

COUNT = "from plait.runtime import client; print(client.device_count())"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def error_of(code, **env):
    done = child(code, **env)
    assert done.returncode == 1, done
    return done.stderr


def test_default_number_of_devices():
    assert int(output_of(COUNT)) == max(2, min(CORES, 8))


def test_the_number_of_devices_can_be_set():
    assert output_of(COUNT, PLAIT_NUM_CPU_DEVICES="5") == "5"
    set_first = "from plait.config import config; config.update('jax_num_cpu_devices', 3); "
    assert output_of(set_first + COUNT) == "3"
    assert output_of(set_first + COUNT, PLAIT_NUM_CPU_DEVICES="5") == "3"
    forced = "--xla_force_host_platform_device_count=6"
    assert output_of(COUNT, XLA_FLAGS=forced) == "6"
    assert output_of(COUNT, XLA_FLAGS=forced, PLAIT_NUM_CPU_DEVICES="1") == "1"


@pytest.mark.parametrize("value", ["0", "-1"])
def test_impossible_numbers_name_the_variable(value):
    text = error_of(COUNT, PLAIT_NUM_CPU_DEVICES=value)
    assert "ArgumentError" in text and "PLAIT_NUM_CPU_DEVICES" in text and value in text
    flag = f"--xla_force_host_platform_device_count={value}"
    assert "xla_force_host_platform_device_count" in error_of(COUNT, XLA_FLAGS=flag)


@pytest.mark.parametrize("value", ["two", "2.5", ""])
def test_numbers_that_are_none_name_the_variable(value):
    text = error_of(COUNT, PLAIT_NUM_CPU_DEVICES=value)
    assert "ArgumentError" in text and "PLAIT_NUM_CPU_DEVICES" in text


def test_too_late():
    code = """
        from plait.config import config
        from plait.errors import BackendError
        from plait.runtime import client
        assert not client.is_started()
        client.devices()
        assert client.is_started()
        config.update("num_cpu_devices", config.num_cpu_devices)
        try:
            config.update("num_cpu_devices", 7)
        except BackendError as error:
            print("num_cpu_devices" in str(error))
    """
    assert output_of(code, PLAIT_NUM_CPU_DEVICES="2") == "True"


def test_questions():
    code = """
        from plait.config import config
        from plait.errors import ArgumentError
        from plait.runtime import client
        assert client.default_backend() == "cpu"
        assert client.devices() == client.devices("cpu") == client.local_devices()
        assert client.local_devices(0) == client.devices()
        assert client.backend() is client.backend("CPU ")
        assert client.device_count() == client.local_device_count() == client.num_cpu_devices() == 4
        assert (client.process_index(), client.process_count()) == (0, 1)
        assert client.default_device() == client.devices()[0]
        config.update("default_device", client.devices()[2])
        assert client.default_device() == client.devices()[2]
        config.update("default_device", "cpu")
        assert client.default_device() == client.devices()[0]
        try:
            client.local_devices(3)
        except ArgumentError as error:
            print("process" in str(error))
    """
    assert output_of(code, PLAIT_NUM_CPU_DEVICES="4") == "True"


def test_threads_start_one_client():
    code = """
        import threading
        from plait.runtime import client, xla
        barrier, found = threading.Barrier(8), []
        def ask():
            barrier.wait()
            found.append(client.backend())
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        print(len(found), len({id(c) for c in found}), len(xla._clients))
    """
    assert output_of(code) == "8 1 1"


def test_unknown_platforms_list_those_available():
    with pytest.raises(BackendError, match=r"no platform 'abacus'(.|\n)*cpu"):
        client.backend("abacus")
    with pytest.raises(BackendError):  # and again, though it is not tried again
        client.devices("abacus")


@pytest.mark.parametrize(
    ("platform", "extra"), [("gpu", "cuda13"), ("cuda", "cuda13"), ("tpu", "tpu")]
)
def test_missing_plugins_name_the_extra(platform, extra):
    if plugins.ALIASES.get(platform, platform) in plugins.installed():
        pytest.skip("its plugin is installed here")
    with pytest.raises(BackendError, match=rf'pip install "plait\[{extra}\]"'):
        client.devices(platform)


def test_chosen_platforms():
    assert output_of(COUNT, PLAIT_PLATFORMS="cpu", PLAIT_NUM_CPU_DEVICES="3") == "3"
    text = error_of(COUNT, PLAIT_PLATFORMS="abacus,cpu")
    assert "BackendError" in text and "abacus" in text


def test_plugins_are_found_without_being_imported(tmp_path):
    """A package that looks like a plugin's: its Python side, which would import jax, stays out."""
    folder = tmp_path / "jax_plugins" / "xla_cuda13"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    (folder / "xla_cuda_plugin.so").write_bytes(b"not a library")
    code = """
        from plait.errors import BackendError
        from plait.runtime import client, plugins
        print(plugins.installed(), plugins.find("gpu").library.name)
        try:
            client.backend("gpu")
        except BackendError as error:
            started = "xla_cuda_plugin.so" in str(error) and "did not start" in str(error)
            print(started or "jaxlib 0.11" in str(error))
        print(client.default_backend())
    """
    path = os.pathsep.join((os.getcwd(), str(tmp_path)))
    printed = output_of(code, PYTHONPATH=path).splitlines()
    assert printed == ["['cuda'] xla_cuda_plugin.so", "True", "cpu"]


def test_kernels_are_given_to_the_plugin(tmp_path, monkeypatch):
    """The calls that the wheel's extension module answers on a machine with CUDA."""
    package = tmp_path / "jax_cuda13_plugin"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "cuda_plugin_extension.py").write_text(
        "calls = []\n"
        "ffi_types = lambda: {'cache': {'type_id': 1}}\n"
        "ffi_handlers = lambda: {'callback': {'execute': 2}}\n"
        "register_custom_type = lambda *args: calls.append(args)\n"
        "register_custom_call_target = lambda *args: calls.append(args)\n"
    )
    (package / "_solver.py").write_text("registrations = lambda: {'potrf_ffi': 3}")
    (package / "_linalg.py").write_text("registrations = lambda: {'pivots': 4}")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.register_kernels("cuda", "api")
    extension = importlib.import_module("jax_cuda13_plugin.cuda_plugin_extension")
    assert extension.calls == [
        ("api", "cache", {"type_id": 1}),
        ("api", "callback", {"execute": 2}, "CUDA", 1),
        ("api", "potrf_ffi", 3, "CUDA", 1),
        ("api", "pivots", 4, "CUDA", 1),
    ]
    for name in [m for m in sys.modules if m.startswith("jax_cuda13_plugin")]:
        monkeypatch.delitem(sys.modules, name)


def test_flags_of_xla_are_checked_before_it_aborts():
    text = error_of(COUNT, XLA_FLAGS="--xla_cpu_enable_fast_math=false --xla_no_such_flag=3")
    assert "BackendError" in text and "--xla_no_such_flag" in text
    assert "fast_math" not in text.splitlines()[-2]
    flags = "--xla_cpu_enable_fast_math=false --xla_cpu_collective_timeout_seconds=60"
    assert int(output_of(COUNT, XLA_FLAGS=flags)) >= 2


def test_flags_of_the_user_are_kept():
    code = """
        import os
        from plait.runtime import client
        client.backend()
        print(os.environ["XLA_FLAGS"])
    """
    timeout = "--xla_cpu_collective_call_terminate_timeout_seconds"
    assert output_of(code) == f"{timeout}=86400"
    assert output_of(code, XLA_FLAGS=f"{timeout}=50") == f"{timeout}=50"
    other = "--xla_cpu_enable_fast_math=false"
    assert output_of(code, XLA_FLAGS=other) == f"{other} {timeout}=86400"


def test_flags_may_stand_in_a_file(tmp_path):
    file = tmp_path / "flags"
    file.write_text("--xla_force_host_platform_device_count=3\n")
    assert output_of(COUNT, XLA_FLAGS=str(file)) == "3"


def test_log_level_of_the_user_is_kept():
    code = "import os; from plait.runtime import xla; print(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    assert output_of(code, TF_CPP_MIN_LOG_LEVEL="0") == "0"
