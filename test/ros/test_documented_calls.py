"""Every ``ros2 service call`` of README and docs is a request of its type: no unknown field, no placeholder."""

from array import array
import importlib
from pathlib import Path
import re
import shlex

from test.ros.server_client import KINDS

import pytest
from rclpy.serialization import deserialize_message, serialize_message
import yaml

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])
START = 'ros2 service call '


def documented_calls():
    """Return page, service, type and YAML of each call, as a shell would hand them over."""
    calls = []
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        for place in re.finditer(re.escape(START), text):
            rest = text[place.end() :]
            match = re.match(r'(\S+) (\S+) (?:"([^"]*)"|\'([^\']*)\')', rest)
            assert match, f'{page.name}: {rest.splitlines()[0]}'
            line = rest[: match.end()]
            calls.append((page.name, *shlex.split(line)))
    return calls


def fill(message, values):
    """Write YAML values into a message; an unknown field or a value of another kind fails."""
    assert isinstance(values, dict), f'{values!r} is no mapping'
    kinds = message.get_fields_and_field_types()
    for name, value in values.items():
        assert name in kinds, f'{type(message).__name__} has no field {name}'
        present = getattr(message, name)
        if hasattr(present, 'get_fields_and_field_types'):
            fill(present, value)
        elif kinds[name].startswith('sequence<') and '/' in kinds[name]:
            package, kind = re.match(r'sequence<(\w+)/(\w+)', kinds[name]).groups()
            element = getattr(importlib.import_module(f'{package}.msg'), kind)
            setattr(message, name, [fill(element(), entry) for entry in value])
        elif isinstance(present, array):
            setattr(message, name, array(present.typecode, value))
        else:
            assert not isinstance(value, (dict, list)) or isinstance(present, list)
            setattr(message, name, float(value) if isinstance(present, float) else value)
            assert type(getattr(message, name)) is type(present), f'{name}: {value!r}'
    return message


def test_there_are_calls_in_the_readme_and_the_docs():
    pages = {page for page, *_ in documented_calls()}
    assert {'README.md', 'ros2.md', 'ros2_walkthrough.md', 'closed_chain.md'} <= pages


@pytest.mark.parametrize(
    ('page', 'service', 'kind', 'text'),
    documented_calls(),
    ids=lambda value: value.rpartition('/')[2][:20],
)
def test_a_documented_call_is_a_request_of_its_service(page, service, kind, text):
    name = service.removeprefix('/')
    if name not in KINDS:  # in a namespace
        name = name.partition('/')[2]
    package, _, short = kind.split('/')
    offered = KINDS[name]
    assert (offered.__module__.partition('.')[0], offered.__name__) == (package, short)
    request = fill(offered.Request(), yaml.safe_load(text) or {})
    assert deserialize_message(serialize_message(request), offered.Request) == request
