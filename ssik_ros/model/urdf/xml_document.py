"""
Parse the XML of a URDF or an SRDF into elements that know their line; refuse documents that could exhaust memory.

The text between elements is not kept, because descriptions have no content there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
import math
import re
from typing import NoReturn, TypeVar
from xml.parsers import expat

from ssik_ros.errors import ModelError, quote, shorten
from ssik_ros.value_class import dataclass

Named = TypeVar('Named')

COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
MOST_ELEMENTS = 500_000
"""A document with more elements is refused; a robot of 2,000 joints has 15,000."""
MOST_LEVELS = 100
"""A document whose elements nest deeper is refused; robots have six levels, simulators' extensions a dozen."""


@dataclass(slots=True)
class XmlElement:
    """
    One XML element; its tag and the names of its attributes are as written, namespaces are not resolved.

    ``line`` is the line in the document at which the element begins. ``children`` are in document order.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list['XmlElement'] = field(default_factory=list)

    def find(self, tag: str) -> 'XmlElement | None':
        """
        Return the first child with a tag; None without one.

        :param tag: the tag as written.
        """
        return next(self.find_all(tag), None)

    def find_all(self, tag: str) -> Iterator['XmlElement']:
        """
        Iterate over the children with a tag in document order.

        :param tag: the tag as written.
        """
        return (child for child in self.children if child.tag == tag)

    def walk(self) -> Iterator['XmlElement']:
        """Iterate over the element and all elements below it in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def get(self, attribute: str, default: str = '') -> str:
        """
        Return the text of an attribute without surrounding blanks.

        :param attribute: the attribute's name.
        :param default: what to return when it is missing.
        """
        return self.attributes.get(attribute, default).strip()

    def fail(self, message: str, hint: str = '') -> NoReturn:
        """
        Raise a :class:`ModelError` that names the line of this element.

        :param message: the fault, without a full stop.
        :param hint: a sentence to end with.
        """
        raise ModelError(f'{message} (line {self.line}). {hint}'.rstrip(), line=self.line)

    def require(self, attribute: str) -> str:
        """
        Return the text of an attribute; raise ModelError if it is missing or empty.

        :param attribute: the attribute's name.
        """
        value = self.get(attribute)
        if not value:
            self.fail(f'<{self.tag}> has no {quote(attribute)}')
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """
        Return an attribute as a finite number; raise ModelError for any other text.

        :param attribute: the attribute's name.
        :param default: returned if the attribute is missing or empty; with None, ModelError is raised then.
        """
        if default is not None and not self.get(attribute):
            return default
        value = self.number_or_infinity(attribute)
        if not math.isfinite(value):
            self.fail(f'<{self.tag} {attribute}={quote(self.get(attribute))}> is not finite')
        return value

    def number_or_infinity(self, attribute: str) -> float:
        """
        Return an attribute as a number, which may be infinite but not NaN.

        :param attribute: the attribute's name.
        :raises ModelError: if it is missing or empty, or not such a number.
        """
        text = self.require(attribute)
        value = _to_float(text)
        if value is None or math.isnan(value):
            self.fail(f'<{self.tag} {attribute}={quote(text)}> is not a number')
        return value

    def vector(self, attribute: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """
        Return an attribute as a tuple of as many finite numbers as the default has.

        :param attribute: the attribute's name.
        :param default: returned if the attribute is missing.
        :raises ModelError: for any other text, the empty text included.
        """
        if attribute not in self.attributes:
            return default
        words = self.get(attribute).split()
        values = [_to_float(word) for word in words]
        if len(values) != len(default) or not all(
            value is not None and math.isfinite(value) for value in values
        ):
            self.fail(
                f'<{self.tag} {attribute}={quote(self.get(attribute))}> is not {len(default)} '
                'finite numbers'
            )
        return tuple(float(word) for word in words)


def _to_float(text: str) -> float | None:
    """Return the number that a text spells, or None (Python's underscores are not numbers)."""
    try:
        return None if '_' in text else float(text)
    except ValueError:
        return None


class _Builder:
    """
    Builds a tree of XmlElement from the events of the expat parser.

    It refuses documents that have too many elements, nest them too deeply, or may declare entities.
    """

    def __init__(self, noun: str, lines_before: int, most: Mapping[str, int], hint: str) -> None:
        """
        Start with an empty document.

        :param lines_before: number of blank lines that were cut off before the text, added to line numbers.
        :param most: by tag, the largest number of such elements directly below the root.
        :param hint: sentence that ends the error about too many of them.
        :param noun: word for the document in messages.
        """
        self.noun = noun
        self.lines_before = lines_before
        self.left = MOST_ELEMENTS
        self.most, self.hint = most, hint
        self.left_below_root = dict(most)
        self.parser = expat.ParserCreate()
        self.root: XmlElement | None = None
        self.stack: list[XmlElement] = []
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype

    def line(self) -> int:
        """Return the line that the parser is at."""
        return self.parser.CurrentLineNumber + self.lines_before

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element below the innermost open one."""
        element = XmlElement(tag, attributes, self.line())
        self.left -= 1
        if self.left < 0:
            element.fail(f'The {self.noun} has more than {MOST_ELEMENTS} elements')
        if len(self.stack) == MOST_LEVELS:
            element.fail(f'The {self.noun} nests elements more than {MOST_LEVELS} deep')
        if len(self.stack) == 1 and tag in self.most:
            self.left_below_root[tag] -= 1
            if self.left_below_root[tag] < 0:
                text = f'The {self.noun} has more than {self.most[tag]} <{tag}> elements'
                element.fail(text, self.hint)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, tag: str) -> None:
        """Close the innermost element."""
        self.stack.pop()

    def refuse_doctype(self, name: str, system: object, public: object, inside: int) -> None:
        """Raise ModelError for a DOCTYPE that may declare entities, before any of them is read."""
        if not inside:
            return
        raise ModelError(
            f'The {self.noun} declares a DOCTYPE (line {self.line()}); document types and '
            'entities are refused because they can exhaust memory or read files.',
            line=self.line(),
        )


def parse_xml(
    text: str, noun: str, most: Mapping[str, int] | None = None, hint: str = ''
) -> XmlElement:
    """
    Return the root element of a document, which is ``<robot>``.

    :param text: the document.
    :param noun: word for the document in messages ("robot description").
    :param most: how many elements of a tag the root may have; reading ends at the first one more.
    :param hint: sentence about what to do if there are too many elements.
    :raises ModelError: when it is not well-formed XML, declares a document type, has too many elements, nests them too
        deeply, or has another root element.
    """
    body = text.lstrip('\ufeff \t\r\n')
    lines_before = text[: len(text) - len(body)].count('\n')
    try:
        root = _parse(body, _Builder(noun, lines_before, most or {}, hint))
    except expat.ExpatError as error:
        # MoveIt's parser accepts two hyphens inside a comment, expat does not: without comments it may do.
        plain = COMMENT.sub(lambda comment: '\n' * comment[0].count('\n'), body)
        try:
            root = _parse(plain, _Builder(noun, lines_before, most or {}, hint))
        except expat.ExpatError:
            line = error.lineno + lines_before
            reason = f'{expat.ErrorString(error.code)} (line {line})'
            raise ModelError(f'The {noun} is not well-formed XML: {reason}.', line=line) from error
    except (UnicodeError, LookupError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        # A declaration may name an unknown encoding.
        raise ModelError(f'The {noun} cannot be read as text: {error}.') from error
    if root.tag != 'robot':
        root.fail(f'The root element of a {noun} is <robot>, not <{shorten(root.tag)}>')
    return root


def _parse(body: str, builder: _Builder) -> XmlElement:
    """Return the root element that a builder grows from a text."""
    try:
        builder.parser.Parse(body, True)
    finally:
        # Parser and builder hold each other: let the elements of a refused document go at once.
        del builder.parser
    assert builder.root is not None
    return builder.root


def by_name(named: Iterable[tuple[XmlElement, str, Named]], noun: str) -> dict[str, Named]:
    """
    Return the values of elements by name, in the order of the elements.

    :param named: elements, names, and values.
    :param noun: word for the elements in messages ("Link").
    :raises ModelError: when a name comes twice.
    """
    values: dict[str, Named] = {}
    lines: dict[str, int] = {}
    for element, name, value in named:
        if name in values:
            element.fail(f'{noun} {quote(name)} is declared twice, first in line {lines[name]}')
        values[name], lines[name] = value, element.line
    return values
