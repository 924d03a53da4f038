"""Doubles of launch and launch_ros, which most machines of developers do not have."""

from pathlib import Path
import runpy
import sys
import types

FOLDER = Path(__file__).resolve().parents[2] / 'launch'
CONTENTS = {
    'launch': ('LaunchDescription',),
    'launch.actions': (
        'DeclareLaunchArgument',
        'LogInfo',
        'OpaqueFunction',
        'RegisterEventHandler',
        'Shutdown',
    ),
    'launch.conditions': ('IfCondition',),
    'launch.event_handlers': ('OnProcessExit',),
    'launch.substitutions': (),
    'launch_ros': (),
    'launch_ros.actions': ('Node',),
    'launch_ros.parameter_descriptions': ('ParameterFile', 'ParameterValue'),
}


class Recorded:
    """Keeps the arguments of its construction."""

    def __init__(self, *arguments, **keywords):
        self.arguments, self.keywords = arguments, keywords


class Configuration(Recorded):
    """A substitution whose value the context knows."""

    def perform(self, context):
        """Return the value."""
        return context[self.arguments[0]]


def load_launch_file(name, monkeypatch):
    """
    Return the names that a launch file defines.

    :param name: of the file.
    :param monkeypatch: installs the doubles.
    """
    for module_name, classes in CONTENTS.items():
        module = types.ModuleType(module_name)
        for kind in classes:
            setattr(module, kind, type(kind, (Recorded,), {}))
        monkeypatch.setitem(sys.modules, module_name, module)
    sys.modules['launch.substitutions'].LaunchConfiguration = Configuration
    # It imports launch, so that it has to be imported again.
    monkeypatch.delitem(sys.modules, 'ssik_ros.ros.launch_nodes', raising=False)
    return runpy.run_path(str(FOLDER / name))


def declared_arguments(loaded):
    """
    Return the keywords of each declared argument by its name.

    :param loaded: the names that a launch file defines.
    """
    (entries,) = loaded['generate_launch_description']().arguments
    return {
        entry.arguments[0]: entry.keywords
        for entry in entries
        if type(entry).__name__ == 'DeclareLaunchArgument'
    }
