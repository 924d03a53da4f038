"""
Eight numbers that a kernel treats as one: a type of the compiler, for :mod:`ssik_ros.kernels.lanes`.

The type is a vector of the processor (or several, where its registers are shorter). The compiler is not asked to find
out that a loop over eight candidates can be done at once: the source says so. Every operation is the one of IEEE 754 on
each number, so that the results are those of plain Python to the last bit, on every machine.
"""

from collections.abc import Callable
import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate
from numba.core.typing.templates import infer_global
from numba.extending import intrinsic
from numba.extending import lower_builtin
from numba.extending import models
from numba.extending import register_model

LANES = 8
"""How many numbers stand side by side."""

_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)
_ALIGNMENT = 8
"""Of the arrays that are read and written: that of one number [bytes]."""


class LanesType(types.Type):
    """Eight numbers."""

    def __init__(self) -> None:
        """Name the type."""
        super().__init__(name='Lanes')


class MaskType(types.Type):
    """Eight truth values."""

    def __init__(self) -> None:
        """Name the type."""
        super().__init__(name='LaneMask')


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """How numbers are kept."""

    def __init__(self, manager: Any, type_: Any) -> None:
        """Keep a vector."""
        super().__init__(manager, type_, _NUMBERS)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):  # type: ignore[misc]
    """How truth values are kept."""

    def __init__(self, manager: Any, type_: Any) -> None:
        """Keep a vector."""
        super().__init__(manager, type_, _BITS)


lanes_type = LanesType()
mask_type = MaskType()


def _spread(builder: Any, type_: Any, value: Any) -> Any:
    """Return a value as lanes: a number becomes all of them."""
    if type_ == lanes_type:
        return value
    nothing = ir.Constant(_NUMBERS, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, same)


def _define_operator(function: Any, result: Any, build: Callable[[Any, Any, Any], Any]) -> None:
    """
    Teach the compiler an operator between lanes, or lanes and a number.

    :param function: of the module ``operator``.
    :param result: type of the result.
    :param build: emits the instruction for two vectors.
    """
    pairs = [
        (lanes_type, lanes_type),
        (lanes_type, types.float64),
        (types.float64, lanes_type),
    ]
    _teach(function, [signature(result, *pair) for pair in pairs])

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        values = [_spread(builder, *both) for both in zip(sig.args, arguments, strict=True)]
        return build(builder, *values)

    for pair in pairs:
        lower_builtin(function, *pair)(lower)


def _teach(function: Any, signatures: list[Any]) -> None:
    """Tell the compiler which types an operator takes."""
    infer_global(function)(type('_Lanes', (ConcreteTemplate,), {'cases': signatures}))


def _define_mask_operator(function: Any, build: Callable[[Any, Any, Any], Any]) -> None:
    """Teach the compiler an operator between truth values."""
    _teach(function, [signature(mask_type, mask_type, mask_type)])

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    lower_builtin(function, mask_type, mask_type)(lower)


_define_operator(operator.add, lanes_type, lambda builder, a, b: builder.fadd(a, b))
_define_operator(operator.sub, lanes_type, lambda builder, a, b: builder.fsub(a, b))
_define_operator(operator.mul, lanes_type, lambda builder, a, b: builder.fmul(a, b))
_define_operator(operator.truediv, lanes_type, lambda builder, a, b: builder.fdiv(a, b))
_define_operator(operator.lt, mask_type, lambda builder, a, b: builder.fcmp_ordered('<', a, b))
_define_operator(operator.le, mask_type, lambda builder, a, b: builder.fcmp_ordered('<=', a, b))
_define_operator(operator.gt, mask_type, lambda builder, a, b: builder.fcmp_ordered('>', a, b))
_define_operator(operator.ge, mask_type, lambda builder, a, b: builder.fcmp_ordered('>=', a, b))
_define_operator(operator.eq, mask_type, lambda builder, a, b: builder.fcmp_ordered('==', a, b))
_define_mask_operator(operator.and_, lambda builder, a, b: builder.and_(a, b))
_define_mask_operator(operator.or_, lambda builder, a, b: builder.or_(a, b))
_teach(operator.neg, [signature(lanes_type, lanes_type)])


@lower_builtin(operator.neg, lanes_type)
def _negate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    """Change the signs."""
    return builder.fneg(arguments[0])


def _address(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    """Return where in a flat array eight numbers begin."""
    array = context.make_array(sig.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), _NUMBERS.as_pointer())


@intrinsic
def load(typing_context: Any, array: Any, start: Any) -> Any:
    """Return eight numbers of a flat array, from ``start`` on."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, sig, arguments), align=_ALIGNMENT)

    return lanes_type(array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, start: Any, value: Any) -> Any:
    """Write eight numbers into a flat array, from ``start`` on."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address = _address(context, builder, sig, arguments)
        builder.store(_spread(builder, sig.args[2], arguments[2]), address, align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def spread(typing_context: Any, value: Any) -> Any:
    """Return the same number in all lanes."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _spread(builder, sig.args[0], arguments[0])

    return lanes_type(types.float64), generate


@intrinsic
def places(typing_context: Any) -> Any:
    """Return the place of each lane, from 0.0 on."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return ir.Constant(_NUMBERS, [float(lane) for lane in range(LANES)])

    return lanes_type(), generate


@intrinsic
def select(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Return a where the mask is true and b elsewhere."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        values = [_spread(builder, t, v) for t, v in zip(sig.args[1:], arguments[1:], strict=True)]
        return builder.select(arguments[0], *values)

    kinds = (a if a == lanes_type else types.float64, b if b == lanes_type else types.float64)
    return lanes_type(mask_type, *kinds), generate


@intrinsic
def bits_of(typing_context: Any, mask: Any) -> Any:
    """Return a mask as an integer, bit i for lane i."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        short = builder.bitcast(arguments[0], ir.IntType(LANES))
        return builder.zext(short, ir.IntType(64))

    return types.int64(mask_type), generate


def _unary(name: str) -> Any:
    """
    Return a function of one argument for every lane.

    :param name: of the compiler's own function for one number.
    """

    @intrinsic
    def function(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(_NUMBERS, [_NUMBERS])
            target = f'llvm.{name}.v{LANES}f64'
            return builder.call(
                cgutils.get_or_insert_function(builder.module, kind, target), arguments
            )

        return lanes_type(lanes_type), generate

    return function


floor = _unary('floor')
root = _unary('sqrt')
absolute = _unary('fabs')
