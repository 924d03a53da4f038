"""
Teach numba lanes and masks of lanes: eight numbers, or four, that a kernel treats as one.

:mod:`ssik_ros.kernels.geometry.lanes` offers them to kernels.

The type is a vector of the processor, or several if its registers are shorter. So the compiler need not detect that a
loop over eight candidates can be vectorized: the source says so. Every operation follows IEEE 754 for each number. So
the results are bitwise equal to plain Python's on every machine.
"""

from collections.abc import Callable
import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from ssik_ros.kernels.native.compiler import check_part

LANES = 8
"""Number of lanes."""

HALF_LANES = 4
"""Half the number of lanes."""

_ALIGNMENT = 8
"""Alignment of arrays that are read and written: the alignment of one number [bytes]."""


class LanesType(types.Type):
    """numba type of four or eight 64-bit floats that are computed together, a vector of LLVM."""

    def __init__(self, count: int) -> None:
        """
        Make the numba type of ``count`` 64-bit floats; its name is ``Lanes8`` or ``Lanes4``.

        Attribute ``vector`` is the LLVM vector type that represents it.

        :param count: number of floats: LANES (8) or HALF_LANES (4).
        """
        self.count = count
        self.vector = ir.VectorType(ir.DoubleType(), count)
        super().__init__(name=f'Lanes{count}')


class MaskType(types.Type):
    """numba type of four or eight truth values, one for each lane: the result of a comparison of lanes."""

    def __init__(self, count: int) -> None:
        """
        Make the numba type of ``count`` truth values of one bit; its name is ``LaneMask8`` or ``LaneMask4``.

        Attribute ``vector`` is the LLVM vector type that represents it.

        :param count: number of truth values: LANES (8) or HALF_LANES (4).
        """
        self.count = count
        self.vector = ir.VectorType(ir.IntType(1), count)
        super().__init__(name=f'LaneMask{count}')


@register_model(LanesType)
@register_model(MaskType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    """numba's data model of :class:`LanesType` and :class:`MaskType`: their values are LLVM vectors."""

    def __init__(self, manager: Any, type_: Any) -> None:
        """
        Represent values of a numba type by its LLVM vector type.

        :param manager: numba's manager of data models.
        :param type_: a :class:`LanesType` or :class:`MaskType`.
        """
        super().__init__(manager, type_, type_.vector)


_LANES = {count: LanesType(count) for count in (LANES, HALF_LANES)}
_MASKS = {count: MaskType(count) for count in (LANES, HALF_LANES)}


def _spread(builder: Any, count: int, type_: Any, value: Any) -> Any:
    """
    Return an LLVM vector of ``count`` lanes from a value that is lanes already or a number.

    Lanes are returned unchanged; a number is copied into all lanes.

    :param type_: numba's type of the value.
    """
    if isinstance(type_, LanesType):
        return value
    nothing = ir.Constant(_LANES[count].vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(first, nothing, same)


def _define_operator(
    function: Any, results: dict[int, Any], build: Callable[[Any, Any, Any], Any]
) -> None:
    """
    Tell numba how to compile an operator between lanes and lanes, or lanes and a number.

    :param function: the operator, from the module ``operator``.
    :param results: numba's type of the result, by number of lanes.
    :param build: emits the LLVM instruction for two vectors.
    """
    triples = []
    for count, lanes_type in _LANES.items():
        pairs = (lanes_type, lanes_type), (lanes_type, types.float64), (types.float64, lanes_type)
        triples += [(results[count], *pair) for pair in pairs]
    _teach(function, [signature(*triple) for triple in triples])

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        count = sig.return_type.count
        values = [_spread(builder, count, *both) for both in zip(sig.args, arguments, strict=True)]
        return build(builder, *values)

    for _, a, b in triples:
        lower_builtin(function, a, b)(lower)


def _teach(function: Any, signatures: list[Any]) -> None:
    """
    Tell numba for which argument types an operator exists, and the types of its results.

    :param function: the operator, from the module ``operator``.
    :param signatures: numba's signatures.
    """
    infer_global(function)(type('_Lanes', (ConcreteTemplate,), {'cases': signatures}))


def _define_mask_operator(function: Any, build: Callable[[Any, Any, Any], Any]) -> None:
    """
    Tell numba how to compile an operator between two masks of lanes.

    :param function: the operator, from the module ``operator``.
    :param build: emits the LLVM instruction for two masks.
    """
    _teach(function, [signature(mask, mask, mask) for mask in _MASKS.values()])

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    for mask in _MASKS.values():
        lower_builtin(function, mask, mask)(lower)


_define_operator(operator.add, _LANES, lambda builder, a, b: builder.fadd(a, b))
_define_operator(operator.sub, _LANES, lambda builder, a, b: builder.fsub(a, b))
_define_operator(operator.mul, _LANES, lambda builder, a, b: builder.fmul(a, b))
_define_operator(operator.truediv, _LANES, lambda builder, a, b: builder.fdiv(a, b))
_define_operator(operator.lt, _MASKS, lambda builder, a, b: builder.fcmp_ordered('<', a, b))
_define_operator(operator.le, _MASKS, lambda builder, a, b: builder.fcmp_ordered('<=', a, b))
_define_operator(operator.gt, _MASKS, lambda builder, a, b: builder.fcmp_ordered('>', a, b))
_define_operator(operator.ge, _MASKS, lambda builder, a, b: builder.fcmp_ordered('>=', a, b))
_define_operator(operator.eq, _MASKS, lambda builder, a, b: builder.fcmp_ordered('==', a, b))
_define_mask_operator(operator.and_, lambda builder, a, b: builder.and_(a, b))
_define_mask_operator(operator.or_, lambda builder, a, b: builder.or_(a, b))
_teach(operator.neg, [signature(lanes_type, lanes_type) for lanes_type in _LANES.values()])


@lower_builtin(operator.neg, _LANES[LANES])
@lower_builtin(operator.neg, _LANES[HALF_LANES])
def _negate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    """Emit the LLVM instruction that changes the sign of each lane."""
    return builder.fneg(arguments[0])


def _address(context: Any, builder: Any, sig: Any, arguments: Any, count: int) -> Any:
    """
    Return an LLVM pointer to ``count`` neighbouring numbers of a flat array, after a bounds check if checks are on.

    :param arguments: LLVM values of the array and of the index of the first number.
    """
    array = context.make_array(sig.args[0])(context, builder, arguments[0])
    check_part(context, builder, array, arguments[1], [ir.IntType(64)(count)])
    pointer = _LANES[count].vector.as_pointer()
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), pointer)


def _loader(count: int) -> Any:
    """Return the numba intrinsic ``(array, start)`` that reads ``count`` lanes from a flat array."""

    @intrinsic
    def load_lanes(typing_context: Any, array: Any, start: Any) -> Any:
        """
        Return ``count`` lanes, the numbers ``start`` to ``start + count - 1`` of a flat array.

        ``count`` is eight or four, as given to the factory. Bounds are checked only if checks are on.
        """

        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            address = _address(context, builder, sig, arguments, count)
            return builder.load(address, align=_ALIGNMENT)

        return _LANES[count](array, types.intp), generate

    return load_lanes


def _spreader(count: int) -> Any:
    """Return the numba intrinsic ``(value)`` that copies a number into ``count`` lanes."""

    @intrinsic
    def spread_number(typing_context: Any, value: Any) -> Any:
        """Return lanes that all hold ``value``."""

        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            return _spread(builder, count, sig.args[0], arguments[0])

        return _LANES[count](types.float64), generate

    return spread_number


def _counter(count: int) -> Any:
    """Return the numba intrinsic ``()`` that returns ``count`` lanes with the indices of the lanes: 0.0, 1.0, and so on."""

    @intrinsic
    def places_of_lanes(typing_context: Any) -> Any:
        """Return the index of each lane as a float, beginning with 0.0."""

        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            return ir.Constant(_LANES[count].vector, [float(lane) for lane in range(count)])

        return _LANES[count](), generate

    return places_of_lanes


load, load_half = _loader(LANES), _loader(HALF_LANES)
spread, spread_half = _spreader(LANES), _spreader(HALF_LANES)
places, places_half = _counter(LANES), _counter(HALF_LANES)


@intrinsic
def store(typing_context: Any, array: Any, start: Any, value: Any) -> Any:
    """
    Write the lanes of ``value`` into neighbouring places of a flat array, from index ``start`` on.

    If ``value`` is a plain number, it is written into eight places.
    """
    count = value.count if isinstance(value, LanesType) else LANES

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address = _address(context, builder, sig, arguments, count)
        values = _spread(builder, count, sig.args[2], arguments[2])
        builder.store(values, address, align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def in_pairs(typing_context: Any, value: Any) -> Any:
    """Return eight lanes from four: the number of lane i is copied into the lanes 2 i and 2 i + 1."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        order = [lane // 2 for lane in range(LANES)]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), order)
        nothing = ir.Constant(_LANES[HALF_LANES].vector, ir.Undefined)
        return builder.shuffle_vector(arguments[0], nothing, mask)

    return _LANES[LANES](_LANES[HALF_LANES]), generate


@intrinsic
def select(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Return, lane by lane, ``a`` where the mask is true and ``b`` elsewhere."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        pairs = zip(sig.args[1:], arguments[1:], strict=True)
        values = [_spread(builder, mask.count, t, v) for t, v in pairs]
        return builder.select(arguments[0], *values)

    kinds = (x if isinstance(x, LanesType) else types.float64 for x in (a, b))
    return _LANES[mask.count](mask, *kinds), generate


@intrinsic
def bits_of(typing_context: Any, mask: Any) -> Any:
    """Return a mask as an integer: bit i is 1 if lane i is true."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        short = builder.bitcast(arguments[0], ir.IntType(mask.count))
        return builder.zext(short, ir.IntType(64))

    return types.int64(mask), generate


def _unary(name: str) -> Any:
    """
    Return a numba intrinsic that applies an LLVM function of one argument to every lane.

    :param name: of LLVM's intrinsic, such as ``sqrt``.
    """

    @intrinsic
    def function(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(value.vector, [value.vector])
            target = f'llvm.{name}.v{value.count}f64'
            return builder.call(
                cgutils.get_or_insert_function(builder.module, kind, target), arguments
            )

        return value(value), generate

    return function


floor = _unary('floor')
root = _unary('sqrt')
absolute = _unary('fabs')
