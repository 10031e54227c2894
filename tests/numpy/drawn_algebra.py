"""How products, polynomials, plait.numpy.linalg and plait.numpy.fft are called."""

from __future__ import annotations

import itertools

import numpy as np

from tests.numpy.drawing import call, recipe

# --- products


def dims(d, n):
    return [d.one(1, 2, 3, 4) if d.chance(0.92) else 0 for _ in range(n)]


@recipe("dot", cast="common", dtype="common", slack=3)
def dots(d):
    n, m, k = dims(d, 3)
    first, second = d.one(
        ((n,), (n,)),
        ((m, n), (n,)),
        ((m, n), (n, k)),
        ((2, m, n), (n, k)),
        ((), (m, n)),
        ((2, m, n), (3, n, k)),
        ((n,), (n, k)),
    )
    if first and d.spoil():
        first = (*first[:-1], first[-1] + 1)
    return call(d.array(shape=first), d.array(shape=second))


@recipe("matmul linalg.matmul", cast="common", dtype="common", slack=3)
def matrix_products(d):
    n, m, k = dims(d, 3)
    front, back = d.broadcasting(2, 2)
    first, second = d.one(
        ((*front, m, n), (*back, n, k)),
        ((n,), (*back, n, k)),
        ((*front, m, n), (n,)),
        ((n,), (n,)),
    )
    if d.spoil():
        first = d.one((), (*first[:-1], n + 1))
    return call(d.array(shape=first), d.array(shape=second))


@recipe("matvec", cast="common", dtype="common", slack=3)
def matrix_vector(d):
    n, m = dims(d, 2)
    front, back = d.broadcasting(2, 2)
    return call(d.array(shape=(*front, m, n)), d.array(shape=(*back, n + d.spoil())))


@recipe("vecmat", cast="common", dtype="common", slack=3)
def vector_matrix(d):
    n, m = dims(d, 2)
    front, back = d.broadcasting(2, 2)
    return call(d.array(shape=(*front, n + d.spoil())), d.array(shape=(*back, n, m)))


@recipe("vecdot linalg.vecdot", cast="common", dtype="common", slack=3)
def vector_products(d):
    (n,) = dims(d, 1)
    front, back = d.broadcasting(2, 2)
    return call(d.array(shape=(*front, n + d.spoil())), d.array(shape=(*back, n)))


@recipe("vdot", cast="common", dtype="common", slack=3)
def flat_products(d):
    shape = d.shape()
    return call(d.array(shape=shape), d.array(shape=(*shape, 2) if d.spoil() else shape))


@recipe("inner", cast="common", dtype="common", slack=3)
def inner_products(d):
    (n,) = dims(d, 1)
    first, second = (*d.shape(0, 2), n + d.spoil()), (*d.shape(0, 2), n)
    return call(d.array(shape=first), d.array(shape=second))


@recipe("outer", cast="common", dtype="common")
def outer_products(d):
    return call(d.array(shape=d.shape(0, 2)), d.array(shape=d.shape(0, 2)))


@recipe("linalg.outer", cast="common", dtype="common")
def outer_products_of_vectors(d):
    return call(d.array(shape=d.shape(0 if d.spoil() else 1, 1)), d.array(shape=d.shape(1, 1)))


@recipe("kron", cast="common", dtype="common")
def kronecker(d):
    return call(d.array(shape=d.shape(0, 3)), d.array(shape=d.shape(0, 3)))


@recipe("linalg.tensordot", cast="wide", dtype=2, slack=3, oracle=np.tensordot)
@recipe("tensordot", cast="wide", dtype=2, slack=3)
def tensor_products(d):
    shared, first, second = d.shape(0, 2), d.shape(0, 2), d.shape(0, 2)
    k = len(shared)
    if d.spoil():
        return call(d.array(shape=(*first, 2)), d.array(shape=(3, *second)), 1)
    if d.chance(0.5):
        return call(d.array(shape=first + shared), d.array(shape=shared + second), k)
    axes = (tuple(range(k)), tuple(range(-k, 0)))
    return call(d.array(shape=shared + first), d.array(shape=second + shared), axes)


@recipe("einsum", slack=3, cast="wide", dtype=lambda args, kwargs, promote: promote(*args[1:]))
def sums_of_products(d):
    sizes = dict(zip("abcd", dims(d, 4), strict=True))
    inputs = []
    for _ in range(d.integer(1, 3)):
        inputs.append("".join(d.rng.choice(list("abcd"), d.integer(0, 3))))
    labels = sorted(set("".join(inputs)))
    out = "".join(d.rng.permutation(labels)[: d.integer(0, len(labels))]) if labels else ""
    text = ",".join(inputs) + d.one("", "->" + out)
    shapes = [tuple(sizes[i] for i in label) for label in inputs]
    if d.spoil():
        shapes[0] += (2,)
    dtype = d.dtype("iufc")
    return call(text, *(d.array(shape=s, dtype=dtype) for s in shapes))


@recipe("cross linalg.cross", cast="common", dtype="common", slack=2)
def vector_cross(d):
    front, back = d.broadcasting(2, 2)
    n = 4 if d.spoil() else 3
    return call(d.array("iufc", (*front, n)), d.array("iufc", (*back, 3)))


@recipe("convolve correlate", cast="inexact", dtype="inexact", slack=3)
def convolutions(d):
    n, m = (0 if d.spoil() else d.integer(1, 6) for _ in "ab")
    return call(
        d.array(shape=(n,)),
        d.array(shape=(m,)),
        **d.options(mode=lambda: d.one("full", "same", "valid")),
    )


# --- polynomials


def coefficients(d, low=1):
    return d.array("ifc", (d.integer(low, 5),))


@recipe("polymul", cast="inexact", dtype="inexact", slack=3, oracle=np.convolve)
@recipe("polyadd polysub", cast="common", dtype="common", slack=3)
def polynomials_of_two(d):
    return call(coefficients(d), coefficients(d))


@recipe("polyval", cast="common", dtype="common", slack=5)
def polynomial_values(d):
    return call(coefficients(d), d.array("ifc"))


@recipe("polyder", cast="inexact", dtype="inexact")
def polynomial_derivatives(d):
    return call(coefficients(d), -1 if d.spoil() else d.integer(1, 3))


@recipe("polyint", cast="inexact", dtype="inexact")
def polynomial_integrals(d):
    m = -1 if d.spoil() else d.integer(0, 3)
    return call(
        coefficients(d),
        m,
        *d.one([], [np.arange(m, dtype=d.one(np.int32, np.float32))] if m > 0 else []),
    )


def padded_rest(u, v):
    quotient, rest = np.polydiv(u, v)
    return quotient, np.concatenate([np.zeros(len(u) - len(rest)), rest])


# JAX's keep the zeros that NumPy trims.
@recipe("polydiv", cast="inexact", dtype="inexact", slack=100, oracle=padded_rest)
def polynomial_quotients(d):
    v = d.array("iuf", (d.integer(1, 3),), low=1)
    return call(d.array("iuf", (d.integer(3, 5),), low=1), v)


@recipe("poly", cast="inexact", dtype="inexact", slack=10)
def polynomials_from_zeros(d):
    return call(d.array("if", (d.integer(1, 4),)))


def sorted_roots(got, args, kwargs):
    got = np.asarray(got)
    return got[np.lexsort((np.round(got.imag, 2), np.round(got.real, 2)))]


@recipe(
    "roots",
    slack=3000,
    cast="inexact",
    dtype=lambda args, kwargs, promote: promote(args[0], np.complex64),
    compare=sorted_roots,
)
def zeros_of_polynomials(d):
    n = d.integer(1, 4)
    zeros = np.sort(d.rng.permutation(9)[:n]) - 4.0
    return call(np.poly(zeros).astype(d.one(np.float32, np.complex64, np.int32)))


@recipe("polyfit", cast="inexact", dtype="inexact", slack=300)
def fits(d):
    n = d.integer(4, 7)
    x = np.arange(n).astype(d.one(np.float32, np.int8, np.uint8, np.float64)) * 2
    y = d.array("ifc", d.one((n,), (n, 2)))
    degree = -1 if d.spoil() else d.integer(0, 2)
    return call(x, y, degree, **d.options(w=lambda: 1 + x))


# --- matrices


def matrix(d, *, square=True, kinds="ifc", batch=2, empty=True, large=12):
    """Well conditioned matrices, in stacks; spoilt: not square, or without two axes."""
    n = d.integer(0 if empty and d.chance(0.2) else 1, 4)
    front = d.shape(0, batch)
    if square and d.spoil():
        return d.array("f", d.one((n,), (n, n + 1)))
    shape = (*front, n, n if square else d.integer(1, 4))
    x = d.array(kinds, shape)
    return (x + (large * np.eye(*shape[-2:])).astype(x.dtype)).astype(x.dtype)


def hermitian(d, **options):
    x = matrix(d, large=30, **options)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return x
    whole = x + x.swapaxes(-1, -2).conj()
    return whole if x.dtype.kind == "i" else (whole / 2).astype(x.dtype)


@recipe("linalg.det linalg.inv", cast="inexact", dtype="inexact", slack=30)
def of_square(d):
    return call(matrix(d))


@recipe(
    "linalg.slogdet",
    cast="inexact",
    slack=30,
    dtype=lambda args, kwargs, promote: [inexact(args), real(args)],
)
def log_determinants(d):
    return call(matrix(d, large=d.one(12, -12)))


def inexact(args):
    dtype = args[0].dtype
    return dtype if dtype.kind in "fc" else np.float64 if dtype.itemsize == 8 else np.float32


def real(args):
    return {"F": np.float32, "D": np.float64}.get(np.dtype(inexact(args)).char, inexact(args))


@recipe("linalg.cholesky", cast="inexact", dtype="inexact", slack=30)
def factors(d):
    return call(hermitian(d), **d.options(upper=lambda: True))


def residual(got, args):
    """What a matrix times its eigenvectors is more than these times the eigenvalues: nothing."""
    w, v = (np.asarray(x) for x in got)
    return np.abs(args[0] @ v - v * w[..., None, :]).astype(np.abs(w).dtype)


def both_parts(x):
    return np.stack([x.real, x.imag])


def magnitudes(got, args, kwargs):
    return np.sort(np.abs(np.asarray(got)), -1)


@recipe(
    "linalg.eigvals",
    cast="inexact",
    slack=300,
    compare=magnitudes,
    dtype=lambda args, kwargs, promote: real(args),
)
def eigenvalues(d):
    return call(matrix(d))


@recipe(
    "linalg.eig",
    cast="inexact",
    slack=300,
    compare=lambda got, args, kwargs: [magnitudes(got[0], args, kwargs), residual(got, args)],
    dtype=lambda args, kwargs, promote: real(args),
)
def eigenvectors(d):
    return call(matrix(d))


@recipe(
    "linalg.eigvalsh", cast="inexact", slack=100, dtype=lambda args, kwargs, promote: real(args)
)
def hermitian_eigenvalues(d):
    return call(hermitian(d), **d.options(UPLO=lambda: d.one("L", "U")))


@recipe(
    "linalg.eigh",
    cast="inexact",
    slack=100,
    dtype=lambda args, kwargs, promote: real(args),
    compare=lambda got, args, kwargs: [got[0], residual(got, args)],
)
def hermitian_eigenvectors(d):
    return call(hermitian(d), **d.options(UPLO=lambda: d.one("L", "U")))


@recipe("linalg.svdvals", cast="inexact", slack=100, dtype=lambda args, kwargs, promote: real(args))
def singular_values(d):
    return call(matrix(d, square=False))


def shapes_and_product(got, args, kwargs):
    """What does not depend on signs: singular values, shapes, and the product of the factors."""
    if not isinstance(got, tuple):
        return [np.asarray(got)]
    u, s, vh = (np.asarray(x) for x in got)
    k = s.shape[-1]
    sizes = [np.zeros(u.shape, s.dtype), np.zeros(vh.shape, s.dtype)]
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    return [s, *sizes, both_parts(product).astype(s.dtype)]


@recipe(
    "linalg.svd",
    cast="inexact",
    slack=100,
    dtype=lambda args, kwargs, promote: real(args),
    compare=shapes_and_product,
)
def singular_vectors(d):
    return call(
        matrix(d, square=False),
        **d.options(full_matrices=lambda: d.chance(0.5), compute_uv=lambda: d.chance(0.5)),
    )


def q_and_r(got, args, kwargs):
    if kwargs.get("mode") == "r":
        r = np.asarray(got)
        return [np.abs(r)]
    q, r = (np.asarray(x) for x in got)
    return [np.zeros(q.shape, np.abs(q).dtype), both_parts(q @ r), np.abs(r)]


@recipe(
    "linalg.qr",
    cast="inexact",
    slack=100,
    dtype=lambda args, kwargs, promote: real(args),
    compare=q_and_r,
)
def orthogonal(d):
    return call(
        matrix(d, square=False), **d.options(mode=lambda: d.one("reduced", "complete", "r"))
    )


@recipe("linalg.solve", cast="inexact", dtype="inexact", slack=100)
def solutions(d):
    a = matrix(d)
    n = a.shape[-1] + d.spoil()
    b = d.one((n,), (n, 2)) if a.ndim == 2 else d.one((*a.shape[:-2], n, 2), (n,))
    return call(a, d.array("ifc", b))


@recipe("linalg.pinv", cast="inexact", dtype="inexact", slack=100)
def pseudo_inverses(d):
    if d.chance(0.3):
        return call(hermitian(d, empty=False), hermitian=True)
    return call(matrix(d, square=False), **d.options(rtol=lambda: 1e-3))


@recipe(
    "linalg.lstsq",
    cast="inexact",
    slack=300,
    compare=lambda got, args, kwargs: [got[0], got[3], got[2]],
    dtype=lambda args, kwargs, promote: ["inexact", "real", "int"],
)
def least_squares(d):
    n, m = d.integer(1, 5), d.integer(1, 4)
    a = d.array("ifc", (n, m))
    a = a + (12 * np.eye(n, m)).astype(a.dtype)
    return call(a, d.array("ifc", d.one((n,), (n, 2))))


@recipe("linalg.matrix_power", cast="wide", dtype="common", slack=100)
def matrix_powers(d):
    x = matrix(d)
    return call(x, d.integer(0, 3) if x.dtype.kind == "i" else d.integer(-2, 3))


@recipe("linalg.matrix_rank", cast="inexact", dtype="int")
def ranks(d):
    if d.chance(0.3):
        return call(hermitian(d, empty=False), hermitian=True)
    x = matrix(d, square=False, kinds="f", empty=False)
    return call(x * d.one(0, 1), **d.options(rtol=lambda: d.one(0.5, 0.9)))


@recipe("linalg.cond", cast="inexact", dtype=lambda args, kwargs, promote: real(args), slack=100)
def conditions(d):
    return call(matrix(d, empty=False), d.one(None, 2, -2, 1, -1, np.inf, -np.inf, "fro"))


@recipe("linalg.norm", cast="inexact", dtype=lambda args, kwargs, promote: real(args), slack=30)
def norms(d):
    x = d.array("ifc", d.shape(1, 3, empty=False))
    kwargs = d.options(keepdims=lambda: d.chance(0.7))
    if d.chance(0.3):
        return call(x, **kwargs)
    if x.ndim == 1 or d.chance(0.5):
        order = d.one(None, 1, 2, 3, 0, -1, np.inf, -np.inf)
        return call(x, order, axis=d.axis(x.ndim), **kwargs)
    axes = d.several(x.ndim)
    order = d.one(None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    if order == -2:
        order = 2
    if d.spoil():
        order = "none"
    return call(x, order, axis=axes if len(axes) == 2 or d.chance(0.1) else (0, -1), **kwargs)


@recipe(
    "linalg.vector_norm", cast="inexact", dtype=lambda args, kwargs, promote: real(args), slack=30
)
def vector_norms(d):
    x = d.array("ifc", d.shape(1, 3, empty=False))
    return call(
        x,
        axis=d.axes(x.ndim, empty=False),
        **d.options(keepdims=lambda: True, ord=lambda: d.one(1, 2, 3, 0, np.inf, -np.inf)),
    )


@recipe(
    "linalg.matrix_norm", cast="inexact", dtype=lambda args, kwargs, promote: real(args), slack=30
)
def matrix_norms(d):
    x = d.array("ifc", d.shape(2, 4, empty=False))
    return call(
        x,
        **d.options(
            keepdims=lambda: True, ord=lambda: d.one("fro", "nuc", 1, -1, 2, np.inf, -np.inf)
        ),
    )


@recipe("linalg.multi_dot", cast="common", dtype="common", slack=10)
def chains(d):
    sizes = [d.integer(1, 4) for _ in range(d.integer(3, 5))]
    shapes = [list(pair) for pair in itertools.pairwise(sizes)]
    if d.chance(0.3):
        shapes[0] = shapes[0][1:]
    if d.chance(0.3):
        shapes[-1] = shapes[-1][:1]
    if d.spoil():
        shapes[-1][0] += 1
    return call([d.array("ifc", tuple(s)) for s in shapes])


@recipe("linalg.tensorinv", cast="inexact", dtype="inexact", slack=100)
def tensor_inverses(d):
    x = (d.array("if", (6, 6)) + 12 * np.eye(6)).astype(d.one(np.float32, np.int8, np.complex64))
    ind, shape = d.one((1, (6, 2, 3)), (2, (2, 3, 6)), (2, (3, 2, 2, 3)))
    return call(x.reshape(shape), 0 if d.spoil() else ind)


@recipe("linalg.tensorsolve", cast="inexact", dtype="inexact", slack=100)
def tensor_solutions(d):
    a = (d.array("if", (6, 6)) + 12 * np.eye(6)).astype(d.one(np.float32, np.int8, np.complex64))
    return call(a.reshape(2, 3, 6), d.array("ifc", (2, 3)))


# --- Fourier transforms


def transformed(args, kwargs, promote):
    dtype = args[0].dtype
    return np.complex128 if dtype.name in ("int64", "float64", "complex128") else np.complex64


def real_transformed(args, kwargs, promote):
    return {np.complex64: np.float32, np.complex128: np.float64}[transformed(args, kwargs, promote)]


NORMS = (None, "backward", "ortho", "forward")


def one_axis(kinds):
    def draw(d):
        x = d.array(kinds, d.shape(1, 3, empty=False))
        options = d.options(axis=lambda: d.axis(x.ndim), norm=lambda: d.one(*NORMS))
        if d.chance(0.4):
            options["n"] = 0 if d.spoil() else d.integer(1, 7)
        return call(x, **options)

    return draw


def long_enough(draw):
    """Complex rows of at least two numbers: a real transform of one has no size to come back to."""

    def checked(d):
        args, kwargs = draw(d)
        if "n" not in kwargs and not d.spoilt:
            kwargs["n"] = d.integer(1, 6)
        return args, kwargs

    return checked


def several_axes(kinds, two):
    def draw(d):
        x = d.array(kinds, d.shape(2, 3, empty=False))
        axes = d.several(x.ndim, 1)
        if len({a % x.ndim for a in axes if a < x.ndim}) < len([a for a in axes if a < x.ndim]):
            axes = (0, 7)  # NumPy transforms along an axis twice; JAX refuses
        axes = axes if not two or len(axes) == 2 else (-1, 0)
        options = {"axes": axes} if d.chance(0.6) else {}
        if d.chance(0.4):
            n = len(axes) if options else 2 if two else x.ndim
            options["s"] = tuple(d.integer(1, 5) for _ in range(n + d.spoil()))
        return call(x, **options, **d.options(norm=lambda: d.one(*NORMS)))

    return draw


FFT = {"cast": "inexact", "slack": 30}
recipe("fft.fft fft.ifft", dtype=transformed, **FFT)(one_axis("bifc"))
recipe("fft.rfft fft.ihfft", dtype=transformed, **FFT)(one_axis("bif"))
recipe("fft.irfft fft.hfft", dtype=real_transformed, **FFT)(long_enough(one_axis("ifc")))
recipe("fft.fftn fft.ifftn", dtype=transformed, **FFT)(several_axes("ifc", False))
recipe("fft.fft2 fft.ifft2", dtype=transformed, **FFT)(several_axes("ifc", True))
recipe("fft.rfftn", dtype=transformed, **FFT)(several_axes("if", False))
recipe("fft.rfft2", dtype=transformed, **FFT)(several_axes("if", True))
recipe("fft.irfftn", dtype=real_transformed, **FFT)(several_axes("fc", False))
recipe("fft.irfft2", dtype=real_transformed, **FFT)(several_axes("fc", True))


@recipe("fft.fftshift fft.ifftshift")
def shifted(d):
    x = d.array(shape=d.shape(1))
    return call(x, **d.options(axes=lambda: d.axes(x.ndim)))


@recipe("fft.fftfreq fft.rfftfreq", dtype=np.float64)
def frequencies(d):
    return call(d.integer(1, 9), **d.options(d=lambda: d.one(0.5, 2.0)))
