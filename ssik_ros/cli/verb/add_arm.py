"""``ssik add-arm``: add the dimensions of an arm, taken from its URDF, to a catalogue."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from ssik_ros.cli.catalogue_entry import describe_arm, entry_text, with_entry
from ssik_ros.cli.options import add_option
from ssik_ros.cli.robot_choice import add_robot_options, choose_arm
from ssik_ros.errors import InvalidOption, ModelError, writing
from ssik_ros.model.catalogue import catalogue_path, CatalogueArm, parse_catalogue
from ssik_ros.strict_yaml import parse_yaml

EXAMPLES = (
    'ssik add-arm arm.urdf --base base_link --ee tool0 --name my_arm --dry-run',
    "ssik add-arm arm.urdf --name my_arm --vendor 'My Company' --catalogue my_arms.yaml",
    "ssik add-arm arm.urdf.xacro --name my_arm --source 'owner/repository, my_arm'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Declare the arguments of the verb.

    :param parser: the verb's parser.
    """
    add_robot_options(parser)
    group = parser.add_argument_group('entry')
    text = 'key of the entry: lower case with underscores'
    add_option(group, '--name NAME', text, required=True)
    add_option(group, '--vendor TEXT', 'the maker of the arm', default='unknown')
    add_option(group, '--title TEXT', "default: the robot's name")
    text = 'where the figures come from: owner/repository, robot (default: the name of the file)'
    add_option(group, '--source TEXT', text)
    text = 'the catalogue file; a missing file is created (default: the shipped catalogue)'
    add_option(group, '--catalogue FILE', text, type=Path)
    add_option(group, '--force', 'replace an existing arm of that name')
    add_option(group, '--dry-run', 'print the entry and write nothing')


def run(arguments: argparse.Namespace) -> int:
    """
    Add the arm to the catalogue and print its entry; return 0. With ``--dry-run``, only print the entry.

    :param arguments: the parsed arguments.
    :raises SsikError: when the arm cannot be loaded, the entry cannot be written, or an arm of that name exists and
        ``--force`` is not given.
    """
    chosen = choose_arm(arguments)
    arm = describe_arm(
        chosen,
        arguments.name,
        arguments.vendor,
        arguments.title or chosen.robot.name,
        arguments.source or _file_or_robot(arguments),
    )
    path = arguments.catalogue or catalogue_path()
    before = path.read_text(encoding='utf-8') if path.is_file() else ''
    present = _read(before, path) if before.strip() else {}
    if arm.name in present and not arguments.force:
        raise InvalidOption(f"'{path}' has an arm '{arm.name}' already; --force replaces it.")
    after = with_entry(before, arm)
    _check(_read(after, path), present, arm)
    print(entry_text(arm), end='')
    if arguments.dry_run:
        return 0
    with writing(path):
        path.write_text(after, encoding='utf-8')
    done = 'replaced in' if arm.name in present else 'added to'
    print(f"\n'{arm.name}' was {done} {path}; read back, it moves like its description.")
    if arguments.catalogue is None:
        print(
            'The tests of the catalogue take it up by its name:\n'
            f'  pytest test/model/test_catalogue.py -k {arm.name}'
        )
    return 0


def _file_or_robot(arguments: argparse.Namespace) -> str:
    """Return the name of the robot or package that the options name, or of the file."""
    path = arguments.path or arguments.urdf
    return str(arguments.robot or arguments.moveit_config or path.name)


def _read(text: str, path: Path) -> dict[str, CatalogueArm]:
    """Return the arms in the text of a catalogue by name; ``path`` is for messages."""
    return parse_catalogue(parse_yaml(text, str(path)), str(path))


def _check(
    now: Mapping[str, CatalogueArm], before: Mapping[str, CatalogueArm], arm: CatalogueArm
) -> None:
    """
    Raise ModelError unless the new catalogue has exactly the old arms and the new one.

    :param now, before: arms of the new and the old catalogue, by name.
    """
    if dict(now) != {**before, arm.name: arm}:
        raise ModelError(f"The entry of '{arm.name}' is not read back as it was written.")
