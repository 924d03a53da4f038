"""
Read from a failed result why it failed; nothing has to be asked a second time.

``cause`` is one word for a program, ``summary()`` a sentence for a person.
"""

import numpy as np

from ssik_ros import Manipulator, SsikError
from ssik_ros.model.description_files import find_moveit_config

arm = Manipulator.from_urdf(
    find_moveit_config('panda').urdf_path, base='panda_link0', ee='panda_link8'
)
looking_down = np.diag([1.0, -1.0, -1.0, 1.0])


def ask(title: str, position: tuple[float, float, float], **options: float | str) -> None:
    """Solve for a position and print the cause and the summary of the result."""
    target = looking_down.copy()
    target[:3, 3] = position
    _, result = arm.solve(target, explain=True, **options)
    print(f'{title}: {result.cause.name}')
    print(f'  {result.summary()}')


ask('in the middle of the workspace', (0.5, 0.0, 0.5))
ask('further away than the arm is long', (2.0, 0.0, 0.0))
ask('just beyond the reach', (0.8, 0.0, 0.4))
ask('in the base', (0.0, 0.0, 0.05))
ask('no time to look', (0.0, 0.0, 0.05), timeout=1e-6, method='ssik_ros/PoseIK')

# A request that makes no sense is an error, not an outcome.
for wrong in ({'target_tolerence': 1e-4}, {'gd_max_iters': 0}, {'method': 'ssik_ros/PoseI'}):
    try:
        arm.solve(looking_down, **wrong)
    except SsikError as error:
        print(f'{type(error).__name__}: {error}')
