"""Promise 5, nothing silent: a misspelt name is an error with the nearest name, and unused parameters are reported."""

import logging
import string
from typing import Any

from test.promises.shipped_arms import load_arm

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

from ssik_ros.errors import (
    ConfigError,
    DimensionMismatch,
    InvalidLimits,
    InvalidOption,
    InvalidParameter,
    JointNotFound,
    UnknownSolver,
)
from ssik_ros.problem.contract import SolveRequest
from ssik_ros.solvers.kinematics_yaml import GroupKinematics, parse_kinematics
from ssik_ros.solvers.registry import create_solver, make_options, solver_spec
from ssik_ros.solvers.search.pose_ik.options import PoseIkOptions

SOLVER = 'ssik_ros/PoseIK'
OWN_KEYS = tuple(PoseIkOptions.__dataclass_fields__)
COMMON_KEYS = (
    'kinematics_solver_timeout',
    'kinematics_solver_search_resolution',
    'position_only_ik',
)
FEW = settings(derandomize=True, deadline=None, max_examples=300)


class Records(logging.Handler):
    """Keeps the text of every warning."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.texts.append(record.getMessage())


def read_group(**keys: Any) -> tuple[GroupKinematics, list[str]]:
    """Return the group that a kinematics.yaml with these keys describes, and the warnings."""
    records = Records()
    logger = logging.getLogger('ssik_ros')
    logger.addHandler(records)
    try:
        content = {'arm': {'kinematics_solver': SOLVER, **keys}}
        return parse_kinematics(content, source='k.yaml')['arm'], records.texts
    finally:
        logger.removeHandler(records)


def create(**parameters: Any) -> Any:
    """Return a solver of the Panda with parameters."""
    arm = load_arm('panda')
    return create_solver(SOLVER, arm.robot, arm.group, parameters)


@st.composite
def misspelt(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[str, str]:
    """Return a name and the same with one letter missing, doubled, changed, or two exchanged."""
    name = draw(st.sampled_from(names))
    at = draw(st.integers(0, len(name) - 2))
    letter = draw(st.sampled_from(string.ascii_lowercase))
    other = draw(
        st.sampled_from(
            [
                name[:at] + name[at + 1 :],
                name[:at] + letter + name[at:],
                name[:at] + letter + name[at + 1 :],
                name[:at] + name[at + 1] + name[at] + name[at + 2 :],
                name.replace('_', '-'),
                name.upper(),
            ]
        )
    )
    return name, other


@given(names=misspelt(OWN_KEYS))
@FEW
def test_a_misspelt_option_is_an_error_with_the_right_name(names: tuple[str, str]) -> None:
    name, wrong = names
    if wrong in OWN_KEYS:
        return
    with pytest.raises(InvalidParameter, match='has no parameter') as caught:
        make_options(solver_spec(SOLVER), {wrong: 1})
    assert wrong in str(caught.value) and name in str(caught.value)


@given(names=misspelt((*OWN_KEYS, *COMMON_KEYS)))
@FEW
def test_a_misspelt_key_of_a_file_is_an_error_with_the_right_name(names: tuple[str, str]) -> None:
    name, wrong = names
    if wrong in (*OWN_KEYS, *COMMON_KEYS):
        return
    with pytest.raises(InvalidParameter) as caught:
        read_group(**{wrong: 1})
    assert wrong in str(caught.value) and name in str(caught.value)


@given(key=st.text(string.ascii_lowercase + '_', min_size=1, max_size=30))
@FEW
def test_no_key_of_a_file_is_dropped_in_silence(key: str) -> None:
    try:
        group, warnings = read_group(**{key: 1.0})
    except ConfigError as error:
        assert key in str(error)
    else:
        used = key in (*OWN_KEYS, *COMMON_KEYS) or key in solver_spec(SOLVER).parameter_aliases
        assert used or (key in group.unused and any(key in text for text in warnings))


@pytest.mark.parametrize('key', ['max_solver_iterations', 'solve_type', 'memetic_num_threads'])
def test_keys_of_other_solvers_get_one_line(key: str) -> None:
    group, warnings = read_group(**{key: 1})
    assert group.unused == (key,)
    assert len(warnings) == 1 and key in warnings[0] and SOLVER in warnings[0]


def test_the_keys_of_moveit_are_honoured() -> None:
    group, warnings = read_group(
        kinematics_solver_timeout=0.2,
        kinematics_solver_search_resolution=0.01,
        position_only_ik=True,
        epsilon=1e-4,
    )
    assert (group.timeout, group.search_resolution, group.position_only) == (0.2, 0.01, True)
    assert group.parameters == {'target_tolerance': 1e-4}
    assert not warnings and not group.unused


def test_another_name_of_an_option_reaches_the_solver() -> None:
    assert create(epsilon=1e-5, damping=1e-3).options == PoseIkOptions(
        target_tolerance=1e-5, gd_jacobian_damping=1e-3
    )


def test_one_parameter_under_two_names_must_agree() -> None:
    with pytest.raises(InvalidParameter, match='same parameter'):
        create(epsilon=1e-5, target_tolerance=1e-4)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('solve_mode', 'first_fuond'),
        ('target_tolerance', 0.0),
        ('target_tolerance', -1e-3),
        ('target_tolerance', '1e-3 m'),
        ('target_tolerance', float('nan')),
        ('gd_max_iters', 0),
        ('gd_max_iters', 2.5),
        ('gd_max_iters', True),
        ('gd_jacobian_damping', -1.0),
        ('gd_step_multiplier', 1.5),
        ('gd_adaptive_threshold', 0.0),
        ('optimization_timeout', 0.0),
        ('optimization_distance_gain', -0.1),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_both(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        create(**{name: value})
    assert name in str(caught.value) and str(value) in str(caught.value)


@pytest.mark.parametrize('name', ['ssik_ros/PoseIk', 'ssik_ros/poseik', 'ssikros/PoseIK'])
def test_a_misspelt_solver_is_an_error_with_the_right_name(name: str) -> None:
    arm = load_arm('panda')
    with pytest.raises(UnknownSolver, match=SOLVER):
        create_solver(name, arm.robot, arm.group)
    with pytest.raises(UnknownSolver, match=SOLVER):
        read_group(kinematics_solver=name)


def test_a_misspelt_field_of_a_request_is_an_error() -> None:
    with pytest.raises(TypeError, match='timout'):
        SolveRequest(targets=np.eye(4), timout=1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ('fields', 'error', 'said'),
    [
        ({'locked': {'panda_joint8': None}}, JointNotFound, 'panda_joint'),
        ({'locked': {'panda_jont1': 0.0}}, JointNotFound, 'panda_joint1'),
        ({'locked': {'panda_joint1': 9.0}}, InvalidLimits, 'panda_joint1'),
        ({'locked': {'panda_joint1': float('nan')}}, InvalidLimits, 'panda_joint1'),
        ({'seed': np.zeros(6)}, DimensionMismatch, '7'),
        ({'seed': np.zeros((1, 7))}, DimensionMismatch, '7'),
        ({'state': np.zeros(3)}, DimensionMismatch, 'positions'),
        ({'targets': np.eye(3)}, DimensionMismatch, '4'),
        ({'targets': np.zeros((2, 4, 4))}, DimensionMismatch, '4'),
        ({'tool_offsets': np.eye(3)}, DimensionMismatch, '4'),
        ({'lower': np.zeros(3)}, DimensionMismatch, '7'),
        ({'upper': np.full(7, np.nan)}, DimensionMismatch, 'NaN'),
        ({'lower': np.full(7, 3.0)}, InvalidLimits, 'panda_joint'),
        ({'consistency_limits': np.ones(2)}, DimensionMismatch, '7'),
        ({'max_solutions': 0}, InvalidOption, 'max_solutions'),
        ({'max_solutions': -3}, InvalidOption, 'max_solutions'),
        ({'tolerance': 0.0}, InvalidOption, 'tolerance'),
        ({'tolerance': float('nan')}, InvalidOption, 'tolerance'),
        ({'tolerance': np.ones(2)}, InvalidOption, 'tolerance'),
    ],
)
def test_a_request_that_makes_no_sense_is_an_error_that_says_why(
    fields: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        load_arm('panda').solver.solve(SolveRequest(**{'targets': np.eye(4), **fields}))
