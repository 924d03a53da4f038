"""The package's ``dataclass``: its classes behave like the classes of the standard decorator."""

import dataclasses
from dataclasses import field
from pathlib import Path
import pickle
import re

import pytest

from ssik_ros.value_class import dataclass

ROOT = Path(__file__).resolve().parents[1] / 'ssik_ros'


@dataclass(frozen=True, slots=True)
class Frozen:
    """Fields that never change."""

    name: str
    size: float = 1.0
    notes: list = field(default_factory=list, compare=False, repr=False)


@dataclass(slots=True)
class Changing:
    """Fields that may change."""

    name: str


@dataclass(frozen=True)
class Longer(Frozen):
    """One more field."""

    more: int = 0


@dataclass(frozen=True, eq=False)
class Itself:
    """Equal only to itself."""

    name: str


@dataclass
class Empty:
    """No fields."""


@dataclass
class Shown:
    """Shows itself in its own way."""

    name: str

    def __repr__(self):
        return 'own'


def test_objects_are_equal_when_their_compared_fields_are():
    assert Frozen('a', 2.0, [1]) == Frozen('a', 2.0, [2])
    assert Frozen('a', 2.0) != Frozen('a', 3.0)
    assert Empty() == Empty()


def test_objects_of_two_classes_are_never_equal():
    assert Frozen('a') != Longer('a') and Longer('a') != Frozen('a')
    assert Frozen('a').__eq__('a') is NotImplemented


def test_a_class_with_more_fields_compares_them_too():
    assert Longer('a', more=1) != Longer('a', more=2)


def test_equal_frozen_objects_have_one_hash():
    assert len({Frozen('a'), Frozen('a'), Frozen('b')}) == 2


def test_objects_that_change_have_no_hash():
    with pytest.raises(TypeError, match='unhashable'):
        hash(Changing('a'))


def test_without_eq_an_object_equals_itself_alone():
    one = Itself('a')
    assert one == one and one != Itself('a') and len({one, Itself('a')}) == 2


def test_a_frozen_field_cannot_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Frozen('a').name = 'b'
    changing = Changing('a')
    changing.name = 'b'
    assert changing == Changing('b')


def test_slots_leave_no_room_for_other_attributes():
    with pytest.raises((AttributeError, TypeError)):
        Changing('a').other = 1


def test_an_object_shows_its_fields_as_the_standard_one_does():
    standard = dataclasses.make_dataclass('Frozen', [('name', str), ('size', float)])
    assert repr(Frozen('a', 2.0)) == repr(standard('a', 2.0))
    assert repr(Shown('a')) == 'own'


def test_the_functions_of_the_standard_module_take_it():
    one = Frozen('a', 2.0)
    assert dataclasses.is_dataclass(one)
    assert dataclasses.replace(one, size=3.0) == Frozen('a', 3.0)
    assert dataclasses.asdict(one) == {'name': 'a', 'size': 2.0, 'notes': []}
    assert pickle.loads(pickle.dumps(one)) == one


def test_every_module_takes_this_decorator():
    pattern = re.compile(r'from dataclasses import dataclass\b|@dataclasses\.dataclass')
    modules = [path.name for path in ROOT.rglob('*.py') if pattern.search(path.read_text())]
    assert modules == ['value_class.py']
