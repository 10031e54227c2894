"""The XLA adapter on its own: buffers, shardings, executables, errors, the launch gate."""

import gc
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

from plait.errors import (
    ArgumentError,
    CompileError,
    DonatedError,
    DtypeError,
    OutOfMemory,
    PlaitRuntimeError,
    ShapeError,
)
from plait.runtime import xla
from tests.runtime.programs import (
    ADD,
    ADD_DONATING,
    SINE,
    callback_program,
    output_of,
    psum_program,
)

F32 = np.dtype(np.float32)
VECTOR = [((4,), F32)]

NUMPY_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    " complex64 complex128"
).split()
ML_DTYPES = (
    "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz"
    " float8_e3m4 float8_e4m3 float8_e8m0fnu int4 uint4 int2 uint2 float4_e2m1fn"
).split()
DTYPES = [np.dtype(name) for name in NUMPY_DTYPES] + [
    np.dtype(getattr(ml_dtypes, name)) for name in ML_DTYPES
]


@pytest.fixture(scope="module")
def client():
    return xla.make_cpu_client(8)


@pytest.fixture(scope="module")
def devices(client):
    return client.local_devices()


def vector(n=4):
    return np.arange(n, dtype=np.float32)


def address(array):
    return array.__array_interface__["data"][0]


def aligned(n):
    raw = np.zeros(4 * n + 64, np.uint8)
    start = -address(raw) % 64
    return raw[start : start + 4 * n].view(np.float32)


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def read(buf, like):
    return xla.to_host(buf, like.shape, like.dtype)


# --- to the device and back -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("copy", [True, False])
def test_round_trip_on_one_device(devices, dtype, copy):
    x = np.array([[1, 0, 1], [1, 1, 0]], dtype)
    back = read(xla.put(x, devices[1], copy=copy), x)
    assert back.dtype == dtype and back.shape == (2, 3) and bits(back) == bits(x)
    assert not back.flags.writeable


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_round_trip_split_over_devices(devices, dtype):
    x = np.array([[1, 0, 1, 1], [1, 1, 0, 0]], dtype)
    sharding = xla.tiled(devices[:4], (2, 2), ((1,), (0,)))
    parts = [x[sharding.index(k, x.shape)] for k in range(4)]
    buf = xla.put_shards(parts, devices[:4], x.shape, sharding)
    back = read(buf, x)
    assert back.dtype == dtype and bits(back) == bits(x) and not back.flags.writeable
    for k in range(4):
        part = xla.shard_to_host(buf, k, x.shape, dtype)
        assert part.shape == (1, 2) and bits(part) == bits(parts[k]), k
        alone = xla.shard(buf, k, x.shape, dtype)
        assert xla.sharding_of(alone) is xla.single(devices[k])
        assert bits(read(alone, parts[k])) == bits(parts[k]), k


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1), (5,)], ids=str)
@pytest.mark.parametrize("dtype", [F32, np.dtype(bool), np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_shapes(devices, shape, dtype):
    x = np.ones(shape, dtype)
    back = read(xla.put(x, devices[0]), x)
    assert back.shape == shape and back.dtype == dtype and bits(back) == bits(x)


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12, dtype="f4")[::2],
        np.arange(6, dtype="f4")[::-1],
        np.broadcast_to(np.float32(3), (2, 3)),
        np.arange(4, dtype=">f4"),
        np.arange(4, dtype=">i2")[::-1],
        np.array([1, 2], ">c8"),
        np.array(7, ">i8"),
        np.float32(2.5),
    ],
    ids=["fortran", "strided", "reversed", "broadcast", ">f4", ">i2", ">c8", ">i8", "scalar"],
)
def test_layouts_and_byte_orders(devices, x):
    back = xla.to_host(xla.put(x, devices[0]), x.shape, x.dtype.newbyteorder("="))
    assert back.dtype.isnative and np.array_equal(back, x)


def test_copying_put_is_independent_of_its_source(devices):
    for n in (4, 1 << 18):
        x = np.zeros(n, np.float32)
        buf = xla.put(x, devices[0])
        x[:] = 7
        assert not read(buf, x).any()


def test_put_without_copy_views_aligned_memory(devices):
    x = aligned(1 << 16)
    assert address(read(xla.put(x, devices[0], copy=False), x)) == address(x)


@pytest.mark.parametrize("dtype", ["U1", "O", "M8[s]", "V3", "i4,f4", "longdouble"])
def test_what_is_no_number_is_refused(devices, dtype):
    with pytest.raises(DtypeError):
        xla.put(np.zeros(2, dtype), devices[0])


def test_shards_may_be_one_array_or_scalars(devices):
    four, sharding = devices[:4], xla.tiled(devices[:4], (4,), ((0,),))
    row = np.ones(2, np.float32)
    whole = read(xla.put_shards([row] * 4, four, (8,), sharding), np.ones(8, np.float32))
    assert whole.tolist() == [1] * 8
    rows = np.broadcast_to(row, (4, 2))
    assert read(xla.put_shards(list(rows), four, (8,), sharding), whole).tolist() == [1] * 8
    scalars = xla.put_shards([np.float32(k) for k in range(4)], four, (4,), sharding)
    assert read(scalars, vector()).tolist() == [0, 1, 2, 3]
    assert xla.shard_to_host(scalars, 2, (4,), F32).tolist() == [2]


def test_assemble_and_replicate(devices):
    parts = [xla.put(vector() + k, d) for k, d in enumerate(devices[:2])]
    sharding = xla.tiled(devices[:2], (2,), ((0,),))
    whole = xla.assemble(parts, devices[:2], (8,), F32, sharding)
    assert xla.to_host(whole, (8,), F32).tolist() == [0, 1, 2, 3, 1, 2, 3, 4]
    both = [parts[0], xla.copy_to(parts[0], devices[1])]
    copies = xla.assemble(both, devices[:2], (4,), F32, xla.replicated(devices[:2]))
    assert xla.to_host(copies, (4,), F32).tolist() == [0, 1, 2, 3]
    assert xla.shard_to_host(copies, 1, (4,), F32).tolist() == [0, 1, 2, 3]


def test_copies_between_devices(devices):
    x = vector()
    buf = xla.put(x, devices[0])
    moved = xla.copy_to(buf, devices[3])
    assert read(moved, x).tolist() == x.tolist()
    assert xla.sharding_of(moved) is xla.single(devices[3])
    xla.delete(buf)
    assert read(moved, x).tolist() == x.tolist()


# --- shardings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mesh", "dim_axes", "shape"),
    [
        ((8,), ((0,), ()), (8, 3)),
        ((8,), ((), (0,)), (3, 16)),
        ((2, 4), ((0,), (1,)), (4, 8)),
        ((2, 4), ((1,), (0,)), (4, 8)),
        ((2, 4), ((0, 1),), (16,)),
        ((2, 4), ((1, 0),), (16,)),
        ((2, 4), ((), (1,)), (2, 4)),
        ((2, 4), ((0,), ()), (2, 4)),
        ((2, 2, 2), ((2,), (0,)), (4, 4)),
        ((2, 2, 2), ((1,), (2, 0)), (4, 4)),
        ((2, 4), ((), ()), (3, 5)),
        ((8, 1), ((1,), (0,)), (3, 8)),
    ],
    ids=str,
)
def test_xla_agrees_about_who_holds_what(devices, mesh, dim_axes, shape):
    """A program whose result is left to XLA's partitioner must lie where `index` says."""
    sharding = xla.tiled(devices, mesh, dim_axes)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    dims = "".join(f"{n}x" for n in shape)
    kind = f"tensor<{dims}f32>"
    axes = ", ".join(f'"m{a}"={n}' for a, n in enumerate(mesh))
    spec = ", ".join("{" + ", ".join(f'"m{a}"' for a in group) + "}" for group in dim_axes)
    text = f"""module @m attributes {{mhlo.num_partitions = 8 : i32}} {{
sdy.mesh @mesh = <[{axes}]>
func.func public @main() -> ({kind} {{sdy.sharding = #sdy.sharding<@mesh, [{spec}]>}}) {{
  %i = stablehlo.iota dim = 0 : tensor<{x.size}xf32>
  %r = stablehlo.reshape %i : (tensor<{x.size}xf32>) -> {kind}
  return %r : {kind} }} }}"""
    program = xla.compile(
        text, devices, num_partitions=8, out_types=[(shape, F32)], out_shardings=[sharding]
    )
    (result,) = program.execute([])
    assert np.array_equal(xla.to_host(result, shape, F32), x)
    for k in range(8):
        part = xla.shard_to_host(result, k, shape, F32)
        assert part.shape == sharding.shard_shape(shape)
        assert np.array_equal(part, x[sharding.index(k, shape)]), k


def test_shardings_are_kept_and_checked(devices):
    assert xla.tiled(devices, (2, 4), ((0,), ())) is xla.tiled(devices, (2, 4), [[0], []])
    assert xla.single(devices[2]) is xla.replicated(devices[2:3])
    with pytest.raises(ShapeError):
        xla.tiled(devices, (3,), ((0,),))
    with pytest.raises(ArgumentError):
        xla.tiled(devices, (2, 4), ((0,), (0,)))
    with pytest.raises(ArgumentError):
        xla.tiled(devices, (8,), ((1,),))
    with pytest.raises(ShapeError):
        xla.tiled(devices, (8,), ((0,),)).shard_shape((12,))


# --- DLPack and deletion --------------------------------------------------------------------------


def test_dlpack_out(devices):
    x = vector()
    buf = xla.put(x, devices[1])
    assert xla.dlpack_device(devices[1]) == (1, 0)

    class Export:
        def __dlpack__(self, **_):
            return xla.to_dlpack(buf)

        def __dlpack_device__(self):
            return xla.dlpack_device(devices[1])

    view = np.from_dlpack(Export())
    assert address(view) == address(read(buf, x)) and view.tolist() == x.tolist()
    xla.delete(buf)  # aborts the process if the export had come from `buf` itself
    gc.collect()
    assert view.tolist() == x.tolist()


def test_dlpack_in(devices):
    x = aligned(64)
    x[:] = 3
    buf, dtype = xla.from_dlpack(x, devices[0])
    assert dtype == F32 and address(read(buf, x)) == address(x)
    strided = np.arange(20, dtype=np.int32)[::2]
    buf, dtype = xla.from_dlpack(strided, devices[0])
    assert dtype == np.int32 and read(buf, strided).tolist() == strided.tolist()


def test_dlpack_of_bfloat16(devices):
    x = np.array([[1, 2], [3, -4]], ml_dtypes.bfloat16)
    buf = xla.put(x, devices[0])

    class Export:
        def __dlpack__(self, **_):
            return xla.to_dlpack(buf)

        def __dlpack_device__(self):
            return (1, 0)

    again, dtype = xla.from_dlpack(Export(), devices[0])
    assert dtype == x.dtype and bits(read(again, x)) == bits(x)


@pytest.mark.parametrize(
    "dtype", [F32, np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.int4)], ids=str
)
@pytest.mark.parametrize("split", [False, True])
def test_views_survive_deletion(devices, dtype, split):
    x = np.array([1, 2, 3, 4], dtype)
    if split:
        buf = xla.put_shards(
            [x[:2], x[2:]], devices[:2], (4,), xla.tiled(devices[:2], (2,), ((0,),))
        )
        views = [xla.shard_to_host(buf, k, (4,), dtype) for k in range(2)]
    else:
        buf = xla.put(x, devices[0])
        views = [read(buf, x)]
    xla.delete(buf)
    assert xla.is_deleted(buf)
    xla.delete(buf)  # a second time is nothing
    del buf
    gc.collect()
    assert bits(np.concatenate(views)) == bits(x)


def test_deleted_and_donated_buffers_are_refused(devices):
    add = xla.compile(ADD_DONATING, devices[:1], out_types=VECTOR)
    a, b = xla.put(vector(), devices[0]), xla.put(vector(), devices[0])
    (r,) = add.execute([a, b])
    assert read(r, vector()).tolist() == [0, 2, 4, 6]
    assert xla.is_deleted(a) and not xla.is_deleted(b)
    attempts = [
        lambda: add.execute([a, b]),
        lambda: add.execute([b, b]),
        lambda: read(a, vector()),
        lambda: xla.shard_to_host(a, 0, (4,), F32),
        lambda: xla.wait([a]),
        lambda: xla.copy_to(a, devices[1]),
        lambda: xla.to_dlpack(a),
    ]
    for attempt in attempts:
        with pytest.raises(xla.XlaError) as caught:
            attempt()
        assert isinstance(xla.translate_error(caught.value), DonatedError), str(caught.value)
    xla.delete(b)
    with pytest.raises(xla.XlaError) as caught:
        xla.compile(SINE, devices[:1], out_types=VECTOR).execute([b])
    assert isinstance(xla.translate_error(caught.value), DonatedError)


def test_donation_spares_what_others_see(devices):
    add = xla.compile(ADD_DONATING, devices[:1], out_types=VECTOR)
    b = xla.put(vector(), devices[0])
    a = xla.put(vector(), devices[0])
    view = read(a, vector())
    (r,) = add.execute([a, b])
    assert view.tolist() == [0, 1, 2, 3] and read(r, view).tolist() == [0, 2, 4, 6]
    mine = aligned(4)
    mine[:] = 1
    add.execute([xla.put(mine, devices[0], copy=False), b])
    assert mine.tolist() == [1, 1, 1, 1]


def test_sizes(client, devices):
    x = np.zeros(1 << 16, np.float32)

    def live_bytes() -> int:
        return sum(xla.nbytes(b) for b in client.live_arrays() if not b.is_deleted())

    before = live_bytes()
    buf = xla.put(x, devices[0])
    assert xla.nbytes(buf) == x.nbytes
    assert live_bytes() == before + x.nbytes
    del buf
    assert live_bytes() == before
    assert xla.default_memory(devices[0]) == "device"


# --- executables ----------------------------------------------------------------------------------


def test_execute_and_its_parts(devices):
    program = xla.compile(SINE, devices[:1], out_types=VECTOR)
    x = vector()
    buf = xla.put(x, devices[0])
    (y,) = program.execute([buf])
    (z,) = program.raw_execute([buf]).consume_with_handlers(program.handlers)
    assert np.allclose(read(y, x), np.sin(x)) and bits(read(y, x)) == bits(read(z, x))
    assert xla.ready(y) and xla.wait([y, z]) is None
    assert "HloModule" in program.as_text()
    assert program.cost_analysis()["transcendentals"] == 4
    memory = program.memory_analysis()
    assert memory.arguments == memory.outputs == 16
    assert program.devices == (devices[0],) and program.out_types == (((4,), F32),)


def test_execute_may_outlive_its_executable(devices):
    program = xla.compile(SINE, devices[:1], out_types=VECTOR)
    execute, gone = program.execute, weakref.ref(program)
    del program
    gc.collect()
    assert gone() is None
    (y,) = execute([xla.put(vector(), devices[0])])
    assert np.allclose(read(y, vector()), np.sin(vector()))


def test_partitioned_program(devices):
    sharding = xla.tiled(devices[:4], (4,), ((0,),))
    program = xla.compile(
        psum_program(4, 2),
        devices[:4],
        num_partitions=4,
        out_types=[((8,), F32)],
        out_shardings=[sharding],
    )
    parts = [np.float32([k, 10 * k]) for k in range(4)]
    (y,) = program.execute([xla.put_shards(parts, devices[:4], (8,), sharding)])
    assert xla.to_host(y, (8,), F32).tolist() == [6, 60] * 4
    with pytest.raises(ArgumentError, match="one device for each partition"):
        xla.compile(psum_program(4, 2), devices[:2], num_partitions=4, out_types=VECTOR)


def test_compiler_options(devices):
    program = xla.compile(
        SINE, devices[:1], out_types=VECTOR, options={"xla_cpu_enable_fast_math": True}
    )
    (y,) = program.execute([xla.put(vector(), devices[0])])
    assert np.allclose(read(y, vector()), np.sin(vector()), atol=1e-6)
    with pytest.raises(CompileError, match="nonsense_option"):
        xla.compile(SINE, devices[:1], out_types=VECTOR, options={"nonsense_option": True})


def test_compile_errors_are_xlas_own_words(devices):
    with pytest.raises(CompileError, match="expected operation name") as caught:
        xla.compile("func.func @main() {", devices[:1], out_types=[])
    assert "StableHLO v" not in str(caught.value) and "UNKNOWN" not in str(caught.value)
    located = """func.func public @main(%a: tensor<4xf32>) -> tensor<5xf32> {
      %r = "stablehlo.sine"(%a) : (tensor<4xf32>) -> tensor<5xf32> loc("model.py":33:8)
      return %r : tensor<5xf32> }"""
    with pytest.raises(CompileError, match=r"model\.py:33:8"):
        xla.compile(located, devices[:1], out_types=[((5,), F32)])
    nowhere = """func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %r = "stablehlo.custom_call"(%a) <{call_target_name = "nowhere", api_version = 4 : i32}>
        : (tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32> }"""
    with pytest.raises(CompileError, match="nowhere"):
        xla.compile(nowhere, devices[:1], out_types=VECTOR)


def test_wrong_arguments_raise_and_harm_nothing(devices):
    program = xla.compile(ADD, devices[:1], out_types=VECTOR)
    x = xla.put(vector(), devices[0])
    for bufs, words in [
        ([x, xla.put(vector(5), devices[0])], "expected parameter"),
        ([x], "arguments"),
        ([x, xla.put(vector(), devices[1])], "device"),
        ([x, vector()], "incompatible"),
    ]:
        with pytest.raises((xla.XlaError, TypeError)) as caught:
            program.execute(bufs)
        error = xla.translate_error(caught.value)
        assert type(error) is PlaitRuntimeError and words in str(error)
        assert error.__cause__ is caught.value and "openxla.org" not in str(error)
    (y,) = program.execute([x, x])
    assert read(y, vector()).tolist() == [0, 2, 4, 6]


def test_out_of_memory(devices):
    n = 1 << 42
    text = f"""func.func public @main(%a: tensor<f32>) -> tensor<{n}xf32> {{
      %r = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<{n}xf32>
      return %r : tensor<{n}xf32> }}"""
    program = xla.compile(text, devices[:1], out_types=[((n,), F32)])
    with pytest.raises(xla.XlaError) as caught:
        xla.wait(program.execute([xla.put(np.float32(1), devices[0])]))
    error = xla.translate_error(caught.value)
    assert isinstance(error, OutOfMemory) and str(4 * n) in str(error)


def test_lapack(devices):
    xla.ensure_lapack()
    xla.ensure_lapack()
    text = """func.func public @main(%a: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>) {
      %r:2 = "stablehlo.custom_call"(%a) <{call_target_name = "lapack_dpotrf_ffi",
        api_version = 4 : i32, backend_config = {uplo = 76 : ui8},
        operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
        result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>],
        output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0],
          operand_index = 0, operand_tuple_indices = []>]}>
        : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>)
      return %r#0, %r#1 : tensor<3x3xf64>, tensor<i32> }"""
    a = np.array([[4.0, 2, 1], [2, 5, 3], [1, 3, 6]])
    program = xla.compile(text, devices[:1], out_types=[((3, 3), "float64"), ((), "int32")])
    factor, info = program.execute([xla.put(a, devices[0])])
    assert int(xla.to_host(info, (), np.dtype("int32"))) == 0
    assert np.allclose(np.tril(read(factor, a)), np.linalg.cholesky(a))


# --- host callbacks -------------------------------------------------------------------------------


def call(devices, function, out_types=(((4,), "float32"),)):
    out = "tensor<4xf32>" if out_types else ""
    program = xla.compile(
        callback_program("tensor<4xf32>", out),
        devices[:1],
        out_types=out_types,
        callbacks=[xla.HostCallback(function, out_types)],
    )
    outs = program.execute([xla.put(vector(), devices[0])])
    xla.wait(outs)
    return outs


def test_callback(devices):
    seen = []

    def double(x):
        seen.append(x.flags.writeable)
        return [x * 2]

    (y,) = call(devices, double)
    assert read(y, vector()).tolist() == [0, 2, 4, 6] and seen == [False]
    assert call(devices, lambda x: seen.append(x.sum()), ()) == [] and seen[-1] == 6


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (np.zeros(3, np.float32),),
        lambda x: (x.astype(np.float64),),
        lambda x: (x, x),
        lambda x: (),
    ],
    ids=["shape", "dtype", "many", "few"],
)
def test_callback_results_are_checked(devices, function):
    with pytest.raises(xla.XlaError) as caught:
        call(devices, function)
    error = xla.translate_error(caught.value)
    assert "host callback" in str(error) and isinstance(error.__cause__, ArgumentError)


def test_callback_exceptions_come_back(devices):
    mine = KeyError("my own")

    def raising(x):
        raise mine

    with pytest.raises(xla.XlaError) as caught:
        call(devices, raising)
    error = xla.translate_error(caught.value)
    assert error.__cause__ is mine and "KeyError" in str(error)


def test_callback_may_compute_on_one_device_only(devices):
    sine = xla.compile(SINE, devices[1:2], out_types=VECTOR)
    gang = xla.compile(
        psum_program(2, 2),
        devices[:2],
        num_partitions=2,
        out_types=VECTOR,
        out_shardings=[xla.tiled(devices[:2], (2,), ((0,),))],
    )

    def nested(x):
        (y,) = sine.execute([xla.put(x, devices[1])])
        return (np.array(read(y, x)),)

    (y,) = call(devices, nested)
    assert np.allclose(read(y, vector()), np.sin(vector()))

    def refused(x):
        parts = [x[:2], x[2:]]
        gang.execute([xla.put_shards(parts, devices[:2], (4,), gang.out_shardings[0])])

    with pytest.raises(xla.XlaError) as caught:
        call(devices, refused)
    assert "several devices" in str(xla.translate_error(caught.value))


# --- the launch gate ------------------------------------------------------------------------------


def test_gate_is_idle_until_the_first_program_of_several_devices():
    client = xla.make_cpu_client(2)
    devices, gate = client.local_devices(), xla.gate_of(client)
    sine = xla.compile(SINE, devices[:1], out_types=VECTOR)
    execute = sine.execute  # kept from before the gate was active
    execute([xla.put(vector(), devices[0])])
    assert not gate.active
    sharding = xla.tiled(devices, (2,), ((0,),))
    gang = xla.compile(
        psum_program(2, 2), devices, num_partitions=2, out_types=VECTOR, out_shardings=[sharding]
    )
    assert not gate.active
    x = xla.put_shards([vector(2), vector(2)], devices, (4,), sharding)
    assert xla.to_host(gang.execute([x])[0], (4,), F32).tolist() == [0, 2, 0, 2]
    assert gate.active
    (y,) = execute([xla.put(vector(), devices[0])])
    assert np.allclose(read(y, vector()), np.sin(vector()))
    empty = xla.compile(
        "func.func public @main(%a: tensor<4xf32>) { return }", devices[:1], out_types=[]
    )
    assert empty.execute([y]) == []  # no result to wait for: the gate keeps a token
    gang.execute([x])


def test_gate_keeps_no_entry_per_ended_thread(client, devices):
    gate = xla.gate_of(client)
    gang = xla.compile(
        psum_program(2, 2),
        devices[:2],
        num_partitions=2,
        out_types=VECTOR,
        out_shardings=[xla.tiled(devices[:2], (2,), ((0,),))],
    )
    x = xla.put_shards([vector(2)] * 2, devices[:2], (4,), gang.out_shardings[0])
    gang.execute([x])
    sine = xla.compile(SINE, devices[:1], out_types=VECTOR)
    buf = xla.put(vector(), devices[0])
    idents = iter(range(10**6))
    for _ in range(200):
        gate._pending[next(idents), 0] = sine.execute([buf])[0]
    thread = threading.Thread(target=sine.execute, args=([buf],))
    thread.start()
    thread.join()
    assert len(gate._pending) <= gate._PENDING_LIMIT


STORM = """
    import random, sys, threading
    import numpy as np
    from plait.runtime import xla
    from programs import psum_program, vector_program
    devices_n, threads_n, total = map(int, {args!r}.split())
    client = xla.make_cpu_client(devices_n)
    devices = client.local_devices()
    sharding = xla.tiled(devices, (devices_n,), ((0,),))
    gangs = []
    for n in (4, 1000, 50000):
        shape = (devices_n * n,)
        program = xla.compile(psum_program(devices_n, n), devices, num_partitions=devices_n,
                              out_types=[(shape, "float32")], out_shardings=[sharding])
        parts = [np.full(n, k, np.float32) for k in range(devices_n)]
        gangs.append((program, xla.put_shards(parts, devices, shape, sharding), shape))
    n = 128
    kind = f"tensor<{{n}}x{{n}}xf32>"
    text = (f"func.func public @main(%a: {{kind}}) -> {{kind}} {{{{ %0 = stablehlo.dot_general"
            f" %a, %a, contracting_dims = [1] x [0] : ({{kind}}, {{kind}}) -> {{kind}}\\n"
            f" %1 = stablehlo.tanh %0 : {{kind}}\\n return %1 : {{kind}} }}}}")
    singles = []
    for d in devices:
        program = xla.compile(text, [d], out_types=[((n, n), "float32")])
        singles.append((program, xla.put(np.ones((n, n), np.float32), d)))
    errors = []
    def work(seed):
        try:
            rnd, result = random.Random(seed), None
            for _ in range(total // threads_n):
                if rnd.random() < .1:
                    program, x = singles[rnd.randrange(devices_n)]
                    for _ in range(rnd.randrange(1, 6)):
                        (x,) = program.execute([x])
                q = rnd.random()
                program, x, shape = gangs[0 if q < .8 else 1 if q < .98 else 2]
                (result,) = program.execute([x])
            whole = xla.to_host(result, shape, np.float32)
            assert (whole == devices_n * (devices_n - 1) / 2).all()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(s,)) for s in range(threads_n)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not errors, errors
    assert "jax" not in sys.modules
    print("calm")
"""


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("devices", [2, 4, 8])
def test_launch_storm(devices, threads):
    """2,000 collectives without waiting abort a process that launches them carelessly."""
    flags = "--xla_cpu_collective_call_terminate_timeout_seconds=30"
    code = STORM.format(args=f"{devices} {threads} 2000")
    assert output_of(code, XLA_FLAGS=flags) == "calm"
