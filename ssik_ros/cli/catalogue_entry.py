"""Catalogue entry of an arm: its dimensions from a loaded robot, and the text of the entry."""

import math
import re

import numpy as np

from ssik_ros.arrays import finite_range, FloatArray
from ssik_ros.cli.arm_class import classify_arm
from ssik_ros.cli.robot_choice import ChosenGroup
from ssik_ros.errors import counted, InvalidOption, ModelError, quote
from ssik_ros.kernels.geometry.rotations import invert_pose, matrix_of_rpy, rpy_of_matrix
from ssik_ros.model.catalogue import CatalogueArm, CatalogueJoint, make_urdf, Vector
from ssik_ros.model.kinematic_tree import JointKind
from ssik_ros.model.loader import load_robot
from ssik_ros.model.serial_chain import SerialChain

MOST_JOINTS = 7
_PLAIN_TEXT = re.compile(r'[A-Za-z](?:[\w ./-]*\w)?', re.ASCII)
_WORDS_OF_YAML = ('yes', 'no', 'on', 'off', 'true', 'false', 'null', 'y', 'n')
CATALOGUE_DEVIATION = 1e-12
"""Largest deviation of an entry of FK between an arm of the catalogue and its description [m or 1]."""
POSTURES = 20
POSTURE_SEED = 20_250_901


def describe_arm(
    chosen: ChosenGroup, name: str, vendor: str, title: str, source: str
) -> CatalogueArm:
    """
    Return the catalogue entry of an arm, after a check that the entry moves like the robot.

    :param chosen: the arm.
    :param name: its key in the catalogue.
    :param vendor, title, source: texts of the entry.
    :raises InvalidOption: for an arm of more than seven joints.
    :raises ModelError: when the entry does not move like the description at 20 random postures, or the group is not a
        serial chain (UnsupportedJoint).
    """
    chain = chosen.chain()
    if len(chain.joint_names) > MOST_JOINTS:
        raise InvalidOption(
            f"'{chain.base_link}' to '{chain.tip_link}' has {counted(len(chain.joint_names), 'joint')}; the "
            f'catalogue has classes for at most {MOST_JOINTS}.'
        )
    tree = chosen.robot.tree
    base = invert_pose(tree.link_placements[tree.link(chain.base_link)])
    frames = [tree.placements[joint] for joint in chain.joint_indices]
    frames[0] = base @ frames[0]
    flange = tree.link_placements[tree.link(chain.tip_link)]
    arm_class, near_miss = classify_arm(chain)
    arm = CatalogueArm(
        name=name,
        vendor=vendor,
        title=title,
        source=source,
        base_link=chain.base_link,
        tip_link=chain.tip_link,
        expected_class=arm_class,
        near_miss=near_miss,
        joints=tuple(
            _describe_joint(chosen, chain, index, frame) for index, frame in enumerate(frames)
        ),
        flange_xyz=_vector(flange[:3, 3]),
        flange_rpy=_vector(rpy_of_matrix(flange[:3, :3])),
    )
    _compare(arm, chain)
    return arm


def _describe_joint(
    chosen: ChosenGroup, chain: SerialChain, index: int, frame: FloatArray
) -> CatalogueJoint:
    """
    Return one joint of a catalogue entry; ``frame`` (4, 4) is its pose in the joint before at zero position.

    If the angles of the description give the rotation of ``frame``, they are copied without change.
    """
    name, kind = chain.joint_names[index], JointKind(chain.kinds[index])
    written = chosen.robot.urdf.joints[name]
    rpy = _vector(rpy_of_matrix(frame[:3, :3]))
    if np.abs(matrix_of_rpy(*written.rpy) - frame[:3, :3]).max() < CATALOGUE_DEVIATION / 100:
        rpy = _vector(written.rpy)
    lower, upper = float(chain.lower[index]), float(chain.upper[index])
    if kind != JointKind.CONTINUOUS and not math.isfinite(upper - lower):
        raise ModelError(
            f'Joint {quote(name)} lacks a limit, which an entry of the catalogue needs: add '
            '<limit lower="..." upper="..."> to the URDF.',
            joint=name,
        )
    return CatalogueJoint(
        name=name,
        type=kind.name.lower(),
        xyz=_vector(frame[:3, 3]),
        rpy=rpy,
        axis=_vector(chosen.robot.tree.axes[chain.joint_indices[index]]),
        lower=lower if kind != JointKind.CONTINUOUS else -math.inf,
        upper=upper if kind != JointKind.CONTINUOUS else math.inf,
    )


def _vector(values: FloatArray | tuple[float, ...]) -> Vector:
    """Return three numbers as floats, with 0.0 instead of a negative zero."""
    x, y, z = (float(value) + 0.0 for value in values)
    return x, y, z


def _compare(arm: CatalogueArm, chain: SerialChain) -> None:
    """
    Raise ModelError if forward kinematics of the entry and of the chain differ at one of 20 random postures.

    An element of the (4, 4) poses may differ by 1e-12 [m or 1].
    """
    other = SerialChain.from_robot(load_robot(make_urdf(arm)), arm.base_link, arm.tip_link)
    rng = np.random.default_rng(POSTURE_SEED)
    lower, upper = finite_range(chain.lower, chain.upper)
    for _ in range(POSTURES):
        q = rng.uniform(lower, upper)
        difference = float(np.abs(other.pose(q) - chain.pose(q)).max())
        if not difference <= CATALOGUE_DEVIATION:
            raise ModelError(
                f"The entry of '{arm.name}' misses its description by {difference:.3g}."
            )


def entry_text(arm: CatalogueArm) -> str:
    """
    Return the text of an arm in a catalogue, in YAML.

    :param arm: the arm.
    """
    lines = [
        f'  {arm.name}:',
        f'    vendor: {_quoted(arm.vendor)}',
        f'    title: {_quoted(arm.title)}',
        f'    dof: {arm.dof}',
        f'    source: {_quoted(arm.source)}',
        f'    base_link: {_quoted(arm.base_link)}',
        f'    tip_link: {_quoted(arm.tip_link)}',
        f'    expected_class: {arm.expected_class}',
    ]
    if arm.near_miss is not None:
        near = arm.near_miss
        lines.append(
            f'    near_miss: {{class: {near.arm_class}, distance: {_number(near.distance)}, '
            f'angle: {_number(near.angle)}}}'
        )
    lines.append('    joints:')
    lines += [f'      - {_joint_text(joint)}' for joint in arm.joints]
    flange = f'xyz: {_list(arm.flange_xyz)}, rpy: {_list(arm.flange_rpy)}'
    return '\n'.join([*lines, f'    flange: {{{flange}}}', ''])


def _joint_text(joint: CatalogueJoint) -> str:
    """Return one joint of an entry as YAML on one line."""
    limits = ''
    if joint.type != 'continuous':
        limits = f', limits: {_list((joint.lower, joint.upper))}'
    return (
        f'{{name: {_quoted(joint.name)}, type: {joint.type}, xyz: {_list(joint.xyz)}, '
        f'rpy: {_list(joint.rpy)}, axis: {_list(joint.axis)}{limits}}}'
    )


def _quoted(text: str) -> str:
    """Return a text as a YAML scalar, in quotes if it needs them."""
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    return "'" + text.replace("'", "''") + "'"


def _list(values: tuple[float, ...]) -> str:
    return f'[{", ".join(map(_number, values))}]'


def _number(value: float) -> str:
    """
    Return a finite number as text that YAML reads back to an equal number.

    YAML needs a decimal point before an exponent, so ``1e-05`` becomes ``1.0e-05``.
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    digits, e, exponent = repr(value).partition('e')
    if not e:
        return digits
    return f'{digits}{"" if "." in digits else ".0"}e{exponent}'


def with_entry(text: str, arm: CatalogueArm) -> str:
    """
    Return a catalogue with an arm added at the end, or in place of the entry of the same name.

    Text outside this entry, comments included, stays unchanged. Only the number of blank lines around the entry may
    change.

    :param text: the catalogue; empty for a new one.
    :param arm: the arm.
    """
    entry = entry_text(arm)
    if text and not text.endswith('\n'):
        text += '\n'
    match = re.search(rf'^  {re.escape(arm.name)}:.*\n(?:(?:    .*)?\n)*', text, re.MULTILINE)
    if match is not None:
        gap = '\n' if match[0].endswith('\n\n') else ''
        return text[: match.start()] + entry + gap + text[match.end() :]
    if not text.strip():
        return f'arms:\n{entry}'
    return text.rstrip('\n') + '\n\n' + entry
