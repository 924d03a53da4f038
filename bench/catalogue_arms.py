"""Read the arms of the analytic comparison from our catalogue, or from a peer's own figures if its model differs."""

from pathlib import Path

from bench.arms import Arm, chain_from_file, CHAINS, read_arm
from bench.peers.ssik_prebuilt import frames, OWN_MODEL, prebuilt
from ssik_ros.manipulator.kin_body import KinBody
from ssik_ros.model.catalogue import arm_data, make_urdf

CLOSED_FORMS = ('ur5e', 'irb6700', 'puma560')
ELIMINATIONS = ('jaco2', 'xarm6', 'crx10ial')
SEVEN_JOINTS = ('panda', 'iiwa14', 'gen3', 'rizon4')
MEASURED = (*CLOSED_FORMS, *ELIMINATIONS, *SEVEN_JOINTS)
OF_SSIK = ('puma560', 'xarm6', 'rizon4')
"""Arms by whose name ssik means another model: everyone is asked about that one, too."""

ARMS = (*MEASURED, *(f'{name}{OWN_MODEL}' for name in OF_SSIK))


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
