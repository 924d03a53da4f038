"""Read the arms of the analytic comparison from our catalogue, or from a peer's own figures if its model differs."""

from dataclasses import dataclass
from pathlib import Path

from bench.arms import Arm, chain_from_file, CHAINS, read_arm
from bench.peers.ssik_prebuilt import frames, OWN_MODEL, prebuilt
from ssik_ros.manipulator.kin_body import KinBody
from ssik_ros.model.catalogue import arm_data, make_urdf


@dataclass(frozen=True, slots=True)
class Goal:
    """Largest allowed median time for all branches of a pose [us of processor time]."""

    here: float
    """On the shared machine that the goals were set on."""
    design: float


CLOSED_FORM = Goal(8.0, 5.0)
ELIMINATION = Goal(200.0, 150.0)

GOALS = {
    'ur5e': CLOSED_FORM,
    'irb6700': CLOSED_FORM,
    'puma560': CLOSED_FORM,
    'jaco2': ELIMINATION,
    'xarm6': ELIMINATION,
    'crx10ial': ELIMINATION,
    'panda': Goal(100.0, 70.0),
    'iiwa14': Goal(180.0, 120.0),
    'gen3': Goal(500.0, 350.0),
    'rizon4': Goal(4000.0, 2500.0),
}
"""The arms that are measured."""

OF_SSIK = ('puma560', 'xarm6', 'rizon4')
"""Arms by whose name ssik means another model: everyone is asked about that one, too."""

ARMS = (*GOALS, *(f'{name}{OWN_MODEL}' for name in OF_SSIK))


def goal_of(name: str) -> Goal:
    """
    Return the goal of an arm.

    :param name: one of :data:`ARMS`.
    """
    return GOALS[name.removesuffix(OWN_MODEL)]


def write_urdf(name: str, folder: Path) -> tuple[Path, str, str]:
    """
    Write the URDF of an arm; return the file, the base link and the tip link.

    :param name: one of :data:`ARMS`.
    :param folder: where to; it is made.
    :raises NotComparable: when a peer's model is wanted that the peer does not have.
    """
    if name.endswith(OWN_MODEL):
        module = prebuilt(name)
        body = KinBody.from_transforms(frames(module), module._JOINT_AXES, module._JOINT_LIMITS)
        text, base, tip = body.to_urdf(), body.base_link, body.ee_link
    else:
        data = arm_data(name)
        text, base, tip = make_urdf(data), data.base_link, data.tip_link
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'{name}.urdf'
    path.write_text(text, encoding='utf-8')
    return path, base, tip


def make_arm(name: str, folder: Path) -> Arm:
    """
    Return an arm as the judge reads it from its URDF.

    :param name: one of :data:`ARMS`.
    :param folder: where the URDF is written.
    """
    path, base, tip = write_urdf(name, folder)
    return chain_from_file(path, name, base, tip)


def find_arm(name: str, output: Path) -> Arm:
    """
    Return an arm by its name: a shipped robot, or an arm of the catalogue.

    :param name: a key of :data:`bench.arms.CHAINS`, or one of :data:`ARMS`.
    :param output: where the URDF of an arm of the catalogue is written.
    """
    return read_arm(name) if name in CHAINS else make_arm(name, output / 'urdf')
