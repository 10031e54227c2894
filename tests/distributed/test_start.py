"""How a process joins the others: arguments, environment, and what is said when it cannot."""

from __future__ import annotations

import pytest

from plait.errors import ArgumentError
from plait.runtime import processes
from plait.runtime.cluster import METHODS, Place, detect, first_host, from_variables
from tests.runtime.programs import child, output_of

PLACE = Place("host:1234", 4, 1, (0, 2))


def test_environment_variables():
    plait = {
        "PLAIT_COORDINATOR_ADDRESS": "host:1234",
        "PLAIT_NUM_PROCESSES": "4",
        "PLAIT_PROCESS_ID": "1",
        "PLAIT_LOCAL_DEVICE_IDS": "0,2",
    }
    jax = {name.replace("PLAIT", "JAX"): value for name, value in plait.items()}
    assert from_variables(plait) == from_variables(jax) == PLACE
    assert from_variables(jax | {"PLAIT_PROCESS_ID": "3"}).process_id == 3
    assert from_variables({}) == Place()
    with pytest.raises(ArgumentError, match="PLAIT_PROCESS_ID is not a whole number"):
        from_variables({"PLAIT_PROCESS_ID": "one"})


def test_what_is_given_comes_first():
    assert Place(process_id=0).completed(PLACE) == Place("host:1234", 4, 0, (0, 2))


SLURM = {
    "SLURM_JOB_ID": "4097",
    "SLURM_STEP_NODELIST": "gpu[07-09,12],login",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
OPEN_MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}


def test_what_starts_jobs():
    assert detect(None, SLURM) == detect("slurm", SLURM) == Place("gpu07:61441", 8, 5, (1,))
    found = detect(None, OPEN_MPI)
    assert found == detect("ompi", OPEN_MPI)
    assert found.coordinator_address is not None
    host, port = found.coordinator_address.split(":")
    assert (host, found.num_processes, found.process_id) == ("10.96.0.1", 8, 5)
    assert 61440 <= int(port) <= 65535
    assert detect(None, {}) == detect("deactivate", SLURM) == Place()
    for name in METHODS:
        with pytest.raises(ArgumentError, match="environment variables are not set"):
            detect(name, {})
    with pytest.raises(ArgumentError, match="there is no cluster_detection_method 'slrm'"):
        detect("slrm", {})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("a", "a"), ("a,b", "a"), ("n[1,3]", "n1"), ("n[01-04,7]x,m", "n01x"), ("a-b[3-4]", "a-b3")],
)
def test_lists_of_nodes(nodes, first):
    assert first_host(nodes) == first


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [("host:1", "host", 1), ("127.0.0.1:65535", "127.0.0.1", 65535), ("[::1]:80", "::1", 80)],
)
def test_addresses(address, host, port):
    assert processes._split(address) == (host, port)
    assert processes._address(host, port) == address


@pytest.mark.parametrize("address", ["host", "host:", ":1", "host:x", "host:0", "host:70000", 3])
def test_addresses_that_are_none(address):
    with pytest.raises(ArgumentError, match="an address is host:port"):
        processes._split(address)


def test_where_the_coordinator_listens():
    listens = processes._bind_address
    assert listens(None, "127.0.0.1") == "127.0.0.1"
    assert listens(None, "localhost") == "localhost"
    assert listens(None, "10.0.0.7") == listens("0.0.0.0:1", "x") == listens("[::]:1", "x") == ""
    assert listens("10.0.0.9:1", "10.0.0.7") == "10.0.0.9"


@pytest.mark.parametrize(
    ("place", "kind", "words"),
    [
        (Place(), ValueError, "coordinator_address and num_processes and process_id"),
        (Place("h:1", 2), ValueError, "PLAIT_PROCESS_ID"),
        (Place("h:1", 2, 2), ValueError, "from 0 to 1"),
        (Place("h:1", 2, -1), ValueError, "from 0 to 1"),
        (Place("h:1", 0, 0), ValueError, "at least 1"),
        (Place("h:1", 2.5, 0), TypeError, "whole number"),  # type: ignore[arg-type]
    ],
)
def test_arguments(place, kind, words):
    with pytest.raises(kind) as caught:
        processes._checked(place)
    assert words in str(caught.value)


def test_a_process_alone():
    code = """
        import plait
        plait.distributed.initialize("127.0.0.1:1", 1, 0)
        assert plait.distributed.is_initialized()
        print(plait.process_count(), plait.pmap(lambda x: x + 1)(plait.numpy.ones(2)))
        plait.distributed.shutdown()
        assert not plait.distributed.is_initialized()
        plait.distributed.shutdown()
    """
    assert output_of(code) == "1 [2. 2.]"


def test_after_the_first_array():
    code = """
        import plait, plait.numpy as jnp

        def main():
            jnp.ones(1)

        main()
        try:
            plait.distributed.initialize("127.0.0.1:45999", 1, 0)
        except RuntimeError as error:
            print(error)
    """
    text = output_of(code)
    assert "have started already" in text
    assert "plait.numpy.ones" in text
    assert "in main" in text
    assert "right after the imports" in text


def test_after_another_first_use():
    code = """
        import plait
        plait.jit(lambda x: x)(1.0)
        plait.distributed.initialize("127.0.0.1:45999", 2, 0)
    """
    done = child(code)
    assert done.returncode == 1
    assert "started_by  plait" in done.stderr and "in <module>" in done.stderr
