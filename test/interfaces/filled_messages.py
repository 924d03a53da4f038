"""Messages with a different value in every field, to compare messages before and after transport."""

from importlib import import_module
from itertools import count

ENTRIES = 2
"""Length of every list: two tell a list from a single value, and its order."""


class Filler:
    """Fill messages by their declared types; every number and text is used once."""

    def __init__(self):
        self._numbers = count(1)

    def message(self, message_class):
        """Return a message of a class, all fields filled, nested ones included."""
        names = message_class.get_fields_and_field_types()
        types = dict(zip(names, message_class.SLOT_TYPES))
        return message_class(**{name: self._value(kind) for name, kind in types.items()})

    def _value(self, kind):
        if hasattr(kind, 'value_type'):
            length = getattr(kind, 'size', None) or ENTRIES
            return [self._value(kind.value_type) for _ in range(length)]
        if hasattr(kind, 'namespaces'):
            return self.message(getattr(import_module('.'.join(kind.namespaces)), kind.name))
        return self._scalar(getattr(kind, 'typename', 'string'))

    def _scalar(self, typename):
        number = next(self._numbers)
        if typename == 'string':
            return f'läuft {number}'
        if typename in ('double', 'float'):
            return number + 0.5  # exact in both
        if typename == 'boolean':
            return True  # false is the value of an empty message
        return bytes([number % 256]) if typename == 'octet' else number % 128
