"""The error function's kin and the normal distribution as formulas (hlo/formula.py), in float64.

All tails come from erfcx(x) = exp(x²) erfc(x), a tame function, and exp(-x²) with x² as a sum of
two numbers: a square rounded once would cost three digits at x = 26. The polynomials interpolate at
Chebyshev's points, to below 1e-17; computed with mpmath.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plait.hlo.formula import polynomial, square

# (x + 3) erfcx(x) in (x - 3)/(x + 3), x >= 0.
_ERFCX = (
    -1.3486619525318313e-10,
    1.6421143016942986e-10,
    1.653982449951394e-09,
    -9.783136387840652e-10,
    -1.1011786999949914e-08,
    -9.818356605591901e-10,
    5.4870169496574923e-08,
    4.605790019424851e-08,
    -2.3760728025226044e-07,
    -4.0795588546379703e-07,
    1.001369462400479e-06,
    2.7653934843589293e-06,
    -4.750203745627632e-06,
    -1.7470579898367112e-05,
    3.0398415421531873e-05,
    0.00010756149572800276,
    -0.000276777887591881,
    -0.0005483096943765837,
    0.0030340620052543557,
    -0.001212416626845832,
    -0.02682723462469515,
    0.11952776128726766,
    -0.31046726190056234,
    0.5902283571041024,
    -0.8833944531698836,
    1.0740069070883398,
)
# The inverse of the error function, divided by its operand y, in 32/9 y² - 1, |y| <= 3/4.
_MIDDLE = (
    2.768219840342242e-11,
    7.141785581587032e-11,
    3.245116842299275e-11,
    1.0403024012917805e-10,
    6.838709701559696e-10,
    1.8195083967474338e-09,
    4.386566807482245e-09,
    1.2069526819271783e-08,
    3.374168207932262e-08,
    9.333498475464365e-08,
    2.596288868961427e-07,
    7.284410087537506e-07,
    2.061807634088785e-06,
    5.897369707106248e-06,
    1.708827086911536e-05,
    5.032913899276012e-05,
    0.00015139579317223367,
    0.0004685490797665593,
    0.0015097228866488097,
    0.0051730134143669814,
    0.01969115624149996,
    0.09346781082872313,
    0.9640216376238271,
)
# The inverse of erfc, divided by w = √(-log q), in 1/w: w in [1.17, 4], and from 4 to 28.
_NEAR = (
    -7.310401464190202e-11,
    1.4037748943653483e-10,
    1.673752005001604e-10,
    -2.7946105285233124e-10,
    -6.938860048743418e-10,
    1.29196207351576e-09,
    -7.150704444843371e-10,
    1.879627083641959e-09,
    -6.369321057453391e-09,
    1.4106526631610649e-08,
    -3.087237329943849e-08,
    7.208813354118675e-08,
    -1.7144082294816217e-07,
    4.169831053838383e-07,
    -1.0443303137520683e-06,
    2.6050669744502333e-06,
    -6.122767674411259e-06,
    1.4665200092292596e-05,
    -5.521741566158719e-05,
    0.00031967360919137207,
    -0.0015992515154457346,
    0.0047236854822139285,
    0.0034127371337419775,
    -0.12956589647935804,
    0.8115841839923119,
)
_FAR = (
    1.4605355913221094e-08,
    -1.7938149077132715e-08,
    -9.107882394360255e-08,
    1.0716947075747966e-07,
    2.6986667379697745e-07,
    -3.0496189546406404e-07,
    -4.829817272059345e-07,
    5.210913428712317e-07,
    5.886456616576221e-07,
    -6.064393824266475e-07,
    -4.95754304782909e-07,
    4.788167553273571e-07,
    3.2616506761217794e-07,
    -3.081275191875095e-07,
    -1.0347647993176921e-07,
    5.911652223711852e-08,
    1.4677147253042958e-07,
    -2.034326971087027e-07,
    2.722705076584941e-07,
    -4.835549797030847e-07,
    8.760334722445483e-07,
    -1.6051297458985115e-06,
    3.0584877575840944e-06,
    -6.127826085814108e-06,
    1.3091064159039913e-05,
    -3.035786414848617e-05,
    7.89955539145322e-05,
    -0.0002659579825884258,
    0.001365554081257761,
    -0.0061505214250257125,
    -0.03129606169054451,
    0.9741292059350768,
)
# Dawson's integral divided by x, in 2/9 x² - 1, |x| <= 3; times x, in (21/x - 5)/2, x in
# [3, 7], and in 98/x² - 1 from 7 on.
_DAWSON = (
    -1.115497649384904e-10,
    5.900636394271517e-10,
    -2.350420931962465e-09,
    1.1268850568985533e-08,
    -5.313322829294975e-08,
    2.3192179763985357e-07,
    -9.589760586923173e-07,
    3.7625066560415453e-06,
    -1.39373501784752e-05,
    4.8564386007245446e-05,
    -0.00015859078728989624,
    0.0004832748303997182,
    -0.001367554126641499,
    0.003573681471732871,
    -0.008569361394903092,
    0.01871872114336114,
    -0.03693758274888446,
    0.0652224941761262,
    -0.10197430148668124,
    0.13964623329194267,
    -0.1659876871542871,
    0.1709592364591986,
    -0.1552781319447835,
    0.1310556263889567,
)
_DAWSON_MID = (
    -1.7187921838666047e-09,
    1.8547341829985143e-09,
    1.4412012383853465e-08,
    -1.9322816479610137e-08,
    -5.402589115414852e-08,
    9.850907973294852e-08,
    1.104160026499612e-07,
    -3.322643997567884e-07,
    -8.030205869540595e-08,
    8.527459725863405e-07,
    -2.9917296250895944e-07,
    -1.8497196521694928e-06,
    1.4915560423333753e-06,
    3.811227002178795e-06,
    -4.105724539558594e-06,
    -8.494544872328024e-06,
    7.890787901591339e-06,
    2.129523351418655e-05,
    -4.784282081669659e-06,
    -4.8845648363627466e-05,
    -4.6260587022979347e-05,
    2.777534209107429e-05,
    0.0001462181387417072,
    0.0003343245596488502,
    0.0008284969726008495,
    0.0041159120203297485,
    0.013844498142057642,
    0.5155954272273963,
)
_DAWSON_FAR = (
    1.6212914278900063e-14,
    1.26839929013776e-13,
    1.1087776889002253e-12,
    1.191175768433714e-11,
    1.517365333765315e-10,
    2.3436370677532025e-09,
    4.536835144429045e-08,
    1.156785513038761e-06,
    4.2265760433148283e-05,
    0.0026322521626383154,
    0.5025911000221809,
)

_ROOT_HALF, _ROOT_2 = math.sqrt(0.5), math.sqrt(2.0)


def exp_of_square(m: Any, x: Any, factor: float) -> Any:
    """exp(factor x²), factor a power of 2 up to its sign."""
    high, low = square(m.minimum(abs(x), 60.0))
    y, t = m.exp(high * factor), low * factor
    # exp(t) - 1 for |t| < 1e-4. A product of two exponentials XLA would make one of the sum.
    rest = t + t * t * (t * (1.0 / 6.0) + 0.5)
    return y + m.where(y < math.inf, y, 0.0) * rest


def erfcx_positive(m: Any, x: Any) -> Any:
    """exp(x²) erfc(x) for x >= 0."""
    x = m.minimum(x, 1e300)
    r = 1.0 / (x + 3.0)
    return polynomial((x - 3.0) * r, _ERFCX) * r


def erfcx(m: Any, x: Any) -> Any:
    """exp(x²) erfc(x)."""
    y = erfcx_positive(m, abs(x))
    y = m.where(x < 0.0, exp_of_square(m, x, 1.0) * 2.0 - y, y)
    return m.where(x == math.inf, 0.0, y)


def erfc(m: Any, x: Any) -> Any:
    """1 - erf(x)."""
    y = erfcx_positive(m, abs(x)) * exp_of_square(m, x, -1.0)
    return m.where(x < 0.0, 2.0 - y, y)


def ndtr(m: Any, x: Any) -> Any:
    """The chance that a normal variable is below x."""
    y = erfcx_positive(m, abs(x) * _ROOT_HALF) * exp_of_square(m, x, -0.5) * 0.5
    return m.where(x > 0.0, 1.0 - y, y)


def log_ndtr(m: Any, x: Any) -> Any:
    """log ndtr(x)."""
    scaled = erfcx_positive(m, abs(x) * _ROOT_HALF) * 0.5
    low = m.log(scaled) - x * x * 0.5
    high = m.log1p(-ndtr(m, -abs(x)))
    # Between -1 and 0 the first one is exact, and the second needs positive x.
    return m.where(x < 0.0, low, high)


def _erfc_inv(m: Any, w: Any) -> Any:
    """The x whose erfc is exp(-w²), w >= 1.17."""
    r = 1.0 / m.minimum(m.maximum(w, 1.17), 28.0)
    near = polynomial(r * (2.0 / _SPAN) - _MEAN, _NEAR)
    far = polynomial(r * (28.0 / 3.0) - 4.0 / 3.0, _FAR)
    return w * m.where(w <= 4.0, near, far)


_SPAN = 1.0 / 1.17 - 0.25
_MEAN = (1.0 / 1.17 + 0.25) / _SPAN


def _erf_inv_middle(m: Any, y: Any) -> Any:
    """The x whose erf is y, |y| <= 3/4."""
    return y * polynomial(m.minimum(y * y, 0.5625) * (32.0 / 9.0) - 1.0, _MIDDLE)


def erf_inv(m: Any, y: Any) -> Any:
    """The x whose erf is y; infinite at -1 and 1, NaN outside."""
    size = abs(y)
    x = _erfc_inv(m, m.sqrt(-m.log1p(-m.where(size < 1.0, size, 0.0))))
    x = m.where(size < 1.0, x, m.where(size == 1.0, m.full_like(y, math.inf), math.nan))
    return m.where(size <= 0.75, _erf_inv_middle(m, y), m.where(y < 0.0, -x, x))


def erf_inv_narrow(m: Any, y: Any) -> Any:
    """erf_inv of float32."""
    return erf_inv(m, y.astype(np.float64))


def ndtri(m: Any, p: Any) -> Any:
    """The x of which ndtr is p; infinite at 0 and 1, NaN outside."""
    tail = m.minimum(p, 1.0 - p)
    inside = (tail > 0.0) & (tail <= 0.5)
    x = _erfc_inv(m, m.sqrt(-m.log(m.where(inside, tail * 2.0, 1.0))))
    x = m.where(inside, x, m.where(tail == 0.0, m.full_like(p, math.inf), math.nan))
    x = m.where(tail >= 0.125, _erf_inv_middle(m, p * 2.0 - 1.0), m.where(p < 0.5, -x, x))
    return x * _ROOT_2


def dawson(m: Any, x: Any) -> Any:
    """exp(-x²) times the integral of exp(t²) from 0 to x."""
    size = abs(x)
    near = x * polynomial(m.minimum(x * x, 9.0) * (2.0 / 9.0) - 1.0, _DAWSON)
    r = 1.0 / m.where(size > 3.0, x, 3.0)
    middle = r * polynomial(abs(r) * 10.5 - 2.5, _DAWSON_MID)
    far = r * polynomial(r * r * 98.0 - 1.0, _DAWSON_FAR)
    far = m.where(x == x, far, x)
    return m.where(size <= 3.0, near, m.where(size < 7.0, middle, far))


# Gauss and Legendre's quadrature on [0, 1]: squares of its points, and its weights over 2π.
_OWEN = (
    (5.790712839267769e-06, 0.0009820838632504827),
    (0.0001596614708238092, 0.0022704557667853433),
    (0.0009525077326158356, 0.0035234866276206635),
    (0.0032253581264219877, 0.0047188314538231324),
    (0.00809982126333476, 0.005836727537485623),
    (0.016883858950674978, 0.006858795126849645),
    (0.030959519451763624, 0.007768245510168887),
    (0.05166040966857191, 0.00855014334792837),
    (0.08014744800160435, 0.009191649012941026),
    (0.11729163265945317, 0.00968222859739427),
    (0.16357217163929128, 0.01001382660185416),
    (0.21899737494950003, 0.010180998099846064),
    (0.28305426781210563, 0.010180998099846064),
    (0.35469103911290756, 0.01001382660185416),
    (0.43233431235561653, 0.00968222859739427),
    (0.5139409556276495, 0.009191649012941026),
    (0.5970818810574114, 0.00855014334792837),
    (0.6790531713887392, 0.007768245510168887),
    (0.7570080505292294, 0.006858795126849645),
    (0.8281018072372377, 0.005836727537485623),
    (0.8896408851308231, 0.0047188314538231324),
    (0.9392270597353486, 0.0035234866276206635),
    (0.9748882174421333, 0.0022704557667853433),
    (0.9951930107098607, 0.0009820838632504827),
)


def owens_t(m: Any, h: Any, a: Any) -> Any:
    """The integral of exp(-h² (1 + x²) / 2) / (1 + x²) from 0 to a, divided by 2π."""
    size, slope = abs(h), abs(a)
    steep = slope > 1.0
    # T(h, a) = Q(h)/2 + Q(ah)/2 - Q(h) Q(ah) - T(ah, 1/a), with Q the tail of the normal
    # distribution (Owen 1956). What remains has slopes up to 1, and x scaled to [0, 1].
    other = m.where(size == 0.0, 0.0, slope * size)
    height = m.where(steep, other, size)
    s = m.where(steep, 1.0 / m.where(steep, slope, 1.0), slope)
    width = m.where(steep, size, other)
    narrow = width < 8.7  # wider, the integral is that to infinity, to the last bit
    exponent = m.where(narrow, width * width * -0.5, 0.0)
    total = m.full_like(exponent, 0.0)
    for u, weight in _OWEN:
        total = total + m.exp(exponent * u) * weight / (s * s * u + 1.0)
    q_height, q_size = ndtr(m, -height), ndtr(m, -size)
    part = m.where(narrow, total * s * exp_of_square(m, height, -0.5), q_height * 0.5)
    y = m.where(steep, q_size * (0.5 - q_height) + (q_height * 0.5 - part), part)
    y = m.where(a < 0.0, -y, y)
    return m.where((a == a) & (h == h), y, math.nan)
