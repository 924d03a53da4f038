"""The class ``Solver``, which moves joints so that loops close, links reach goals and joints reach their targets."""

from collections.abc import Iterable, Sequence
from typing import Any

from ssik_ros.arguments import read_count, read_flag, read_number, refuse, shown
from ssik_ros.arrays import FloatArray
from ssik_ros.errors import InvalidClosure
from ssik_ros.kernels.mechanisms import layout
from ssik_ros.mechanisms.frame import Frame
from ssik_ros.mechanisms.graph import as_frames
from ssik_ros.mechanisms.joint import Joint
from ssik_ros.mechanisms.mechanism import Mechanism
from ssik_ros.mechanisms.names import CamelCaseNames
from ssik_ros.mechanisms.result import ChainResult
from ssik_ros.solvers.mechanisms.options import ClosedChainOptions, NAMES, REMOVED


class OptionAttributes(CamelCaseNames):
    """
    Base of solvers: every option of :class:`ClosedChainOptions` as an attribute, in snake_case and camelCase.

    ``roots`` is a list with at least one frame of each mechanism to solve.
    """

    roots: Any = None

    def __init__(self, roots: Frame | Iterable[Frame], **options: Any) -> None:
        """
        Choose the mechanisms and the options.

        :param roots: a frame, or several: at least one of each connected mechanism.
        :param options: of :class:`~ssik_ros.solvers.mechanisms.options.ClosedChainOptions`; ``compatible=True``
            starts from the defaults of closed-chain-ik-js.
        :raises InvalidClosure: if ``roots`` has anything but frames.
        :raises InvalidOption: for an unknown option, or a value out of range.
        """
        self.roots = as_frames('roots', roots)
        is_compatible = read_flag('compatible', options.pop('compatible', False))
        self._options = ClosedChainOptions.compatible() if is_compatible else ClosedChainOptions()
        self.configure(**options)

    @property
    def options(self) -> ClosedChainOptions:
        """The options as one frozen object."""
        return self._options

    def configure(self, **options: Any) -> None:
        """
        Change some options of later solves.

        :param options: by name.
        :raises InvalidOption: for an unknown name, or a value out of range; nothing is changed then.
        """
        self._options = self._options.changed(**options)


def _option(name: str) -> property:
    def read(self: OptionAttributes) -> Any:
        if name == 'use_svd':
            return self._options.method == 'svd'
        return None if name in REMOVED else getattr(self._options, name)

    def write(self: OptionAttributes, value: Any) -> None:
        self.configure(**{name: value})

    return property(read, write, doc=f'The option ``{name}``.')


for _name in (*NAMES, *REMOVED, 'use_svd'):
    setattr(OptionAttributes, _name, _option(_name))


class Solver(OptionAttributes):
    """
    Solves mechanisms: moves joints so that loops close, links reach goals and joints reach their targets.

    :meth:`solve` sets the values of the joints and returns a result for each chain, a set of joints that must be solved
    together. One thread may use a solver at a time.

    A changed structure is compiled again by the next method that solves or measures. This method raises InvalidClosure
    if a leader has lost the degree of freedom that a joint follows, or if ``roots`` has anything but frames.
    """

    def __init__(self, roots: Frame | Iterable[Frame], **options: Any) -> None:
        """
        Make a solver; the first use compiles the mechanism.

        :param roots: a frame, or several: at least one of each connected mechanism.
        :param options: of :class:`~ssik_ros.solvers.mechanisms.options.ClosedChainOptions`; ``compatible=True`` starts
            from the defaults of closed-chain-ik-js.
        :raises InvalidClosure: if ``roots`` has anything but frames.
        :raises InvalidOption: for an unknown option, or a value out of range.
        """
        super().__init__(roots, **options)
        self._mechanism: Mechanism | None = None
        self._compiled_roots: list[Frame] = []

    @property
    def mechanism(self) -> Mechanism:
        """The compiled mechanism; it is compiled again if its structure has changed."""
        mechanism = self._mechanism
        if mechanism is None or mechanism.storage.stale or self.roots != self._compiled_roots:
            self.update_structure()
            mechanism = self._mechanism
        assert mechanism is not None
        return mechanism

    def update_structure(self) -> None:
        """Compile the mechanism anew; :meth:`solve` does so by itself after changes."""
        self._mechanism = Mechanism(self.roots)
        self._compiled_roots = list(self.roots)

    def solve(self) -> list[ChainResult]:
        """
        Solve every independent chain from the values of its joints, and set the joints to the solved values.

        Joints with ``target_set`` that are in no chain are set to their targets, clamped to their limits.

        :returns: one result per chain, in the order of ``mechanism.chains``; each equals its status and has errors and
            values.
        :raises InvalidTarget: when a pose or a value is not finite, or a quaternion is zero.
        """
        mechanism = self._mechanism
        # The condition of :attr:`mechanism`, inlined (docs/explanation/performance.md).
        if mechanism is None or mechanism.storage.stale or self.roots != self._compiled_roots:
            mechanism = self.mechanism
        storage = mechanism.storage
        return mechanism.solve(self._options, storage.reals, storage.flags)

    def exclude(self, *frames: Joint) -> None:
        """
        Ignore closures and goals in later solves, of any solver.

        :param frames: closure joints or goals.
        :raises InvalidClosure: for anything else; the frames before it are excluded.
        """
        self._exclude(frames, True)

    def include(self, *frames: Joint) -> None:
        """
        Undo :meth:`exclude`: later solves use the closures and goals again.

        :param frames: closure joints or goals.
        :raises InvalidClosure: for anything else; the frames before it are included.
        """
        self._exclude(frames, False)

    def _exclude(self, frames: Sequence[Joint], value: bool) -> None:
        for frame in frames:
            if not (isinstance(frame, Joint) and frame.is_closure):
                raise InvalidClosure(
                    f'frames holds {shown(frame)}, which is no closure and no goal.', frame=frame
                )
            frame._set_flag(layout.EXCLUDED, value)

    def residual(self, chain: int = 0) -> FloatArray:
        """
        Return the weighted errors (m,) of a chain at the present values of its joints.

        They are errors of closures and goals, a row for each degree of freedom that one fixes; joint targets are left
        out.

        :param chain: index of the chain in the results of :meth:`solve`.
        :raises InvalidOption: for an index that no chain has.
        :raises InvalidTarget: when a pose or a value is not finite.
        """
        return self._measure(chain, True)[0]

    def jacobian(self, chain: int = 0, *, exact: bool = True) -> FloatArray:
        """
        Return the Jacobian J = -de/dq of the weighted errors e of :meth:`residual` at the present values of the joints.

        :param chain: index of the chain in the results of :meth:`solve`.
        :param exact: False leaves out the derivative of the logarithm; the result is then exact only at zero error.
        :returns: (m, n); columns are the ``variables`` of the chain's result, of ball joints the rotations about their
            own axes.
        :raises InvalidOption: for an index that no chain has.
        :raises InvalidTarget: when a pose or a value is not finite.
        """
        return self._measure(chain, exact)[1]

    def _measure(self, chain: int, exact: bool) -> tuple[FloatArray, FloatArray]:
        mechanism = self.mechanism
        if read_count('chain', chain) >= len(mechanism.chains):
            refuse('chain', chain, f'below {len(mechanism.chains)}, the number of chains')
        exact = read_flag('exact', exact)
        program = mechanism.chains[chain].program
        storage = mechanism.storage
        return program.measure(storage.reals, storage.flags, self._options.packed, exact=exact)

    def check_jacobian(self, eps: float = 1e-6) -> float:
        """
        Return the largest difference between the Jacobians of all chains and central differences; 0 without chains.

        :param eps: motion of each degree of freedom [m or rad].
        :raises InvalidOption: when ``eps`` is not above zero.
        :raises InvalidTarget: when a pose or a value is not finite.
        """
        if not read_number('eps', eps) > 0.0:
            refuse('eps', eps, 'above zero')
        mechanism = self.mechanism
        storage = mechanism.storage
        return max(
            (
                chain.program.check_jacobian(
                    storage.reals, storage.flags, self._options.packed, eps
                )
                for chain in mechanism.chains
            ),
            default=0.0,
        )
