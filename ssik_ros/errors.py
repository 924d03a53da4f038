"""
Exceptions of the package: each misuse has a class, and the error keeps the data that a caller needs as attributes.

An outcome of a solve is never an exception (see :mod:`ssik_ros.results`). An exception means that a request is not
valid (a malformed model, an unknown name, a value out of range), or that a file, package or service is missing. Every
class inherits from :class:`SsikError`, and from a built-in class that users of other kinematics libraries catch.
"""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import difflib
import functools
from typing import Any, NoReturn, ParamSpec, TypeVar

from ssik_ros.other_words import OTHER_WORDS

LONGEST_QUOTE = 200
"""Longest text from outside in a message [characters]."""
LONGEST_MESSAGE = 3000
"""Longest message of an error about a file [characters]."""
MOST_NAMES = 20
"""Longest list of names in a message."""
_T = TypeVar('_T')
_MISSPELT = 0.8
"""Least similarity [0 to 1] of an unknown key that counts as a misspelling."""


def shorten(text: object) -> str:
    """
    Return a user's name, path or value as text on one line for a message, cut after 200 characters.

    Line breaks and other characters that cannot be printed are written as escapes. A cut text ends with its full
    length.

    :param text: any object; its type is named if it has no text.
    """
    try:
        shown = str(text)
    except (RecursionError, ValueError):
        return f'an object of type {type(text).__name__}'
    length = len(shown)
    shown = shown[:LONGEST_QUOTE]
    if not shown.isprintable():
        shown = ''.join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    return shown if length <= LONGEST_QUOTE else f'{shown}... ({length} characters)'


def quote(text: object) -> str:
    """
    Return a user's name, path or value in quotes for a message, on one line and cut after 200 characters.

    :param text: any object, as for :func:`shorten`.
    """
    return f"'{shorten(text)}'"


def list_names(names: Iterable[object], separator: str = ', ') -> str:
    """
    Return names as one text: at most 20 of them, and the number of all names if there are more.

    :param names: the names.
    :param separator: text between two names.
    """
    listed = list(names)
    shown = separator.join(map(shorten, listed[:MOST_NAMES]))
    more = len(listed) > MOST_NAMES
    return f'{shown}{separator}... ({len(listed)} in all)' if more else shown


@functools.lru_cache(maxsize=4096)
def counted(number: int, noun: str, plural: str = '') -> str:
    """
    Return a number with its noun: ``1 search``, ``2 searches``.

    :param number: number of things.
    :param noun: noun in the singular.
    :param plural: noun in the plural; empty for the regular plural.
    """
    if number == 1:
        return f'{number} {noun}'
    ending = 'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'
    return f'{number} {plural or noun + ending}'


def short(value: float) -> str:
    """
    Return a number as text with at most four significant digits, rounded to 1e-9.

    :param value: the number, such as a joint value [rad or m].
    """
    return f'{round(float(value), 9) + 0.0:.4g}'


def percent(share: float) -> str:
    """
    Return a share as text in per cent, such as ``12.5 %``, with at most four significant digits.

    A share below 1 never becomes ``100 %`` but at most ``99.99 %``.

    :param share: from 0 to 1.
    """
    value = 100.0 * share
    return f'{value if value >= 100.0 else min(value, 99.99):.4g} %'


def nearest_name(name: str, candidates: Iterable[str]) -> str | None:
    """
    Return the existing name that a wrong name most likely means, or None if no name is similar.

    A name that another library uses for the same thing counts as well (``OTHER_WORDS``).

    :param name: the name as the user wrote it.
    :param candidates: the names that exist.
    """
    if not isinstance(name, str):
        return None
    by_lower_case = {str(candidate).lower(): str(candidate) for candidate in candidates}
    for word in OTHER_WORDS.get(name.lower(), ()):
        if word.lower() in by_lower_case:
            return by_lower_case[word.lower()]
    close = _close_matches(name.lower(), by_lower_case, 0.6)
    return by_lower_case[close[0]] if close else None


def tells_near_names(cls: type[_T]) -> type[_T]:
    """
    Decorate a class: its error about an unknown attribute names the most similar attribute, or else up to 20 of them.

    For a name with a leading underscore, the error names none.

    :param cls: the class.
    """
    # Python calls this for unknown names only. A type checker does not see it, and still finds wrong attributes.
    cls.__getattr__ = _refuse_name  # type: ignore[attr-defined]
    return cls


def _refuse_name(owner: object, name: str) -> NoReturn:
    """
    Raise AttributeError for an unknown attribute; the text suggests the most similar one, or lists at most 20 of them.

    For a name with a leading underscore, it does neither.
    """
    text = f'{type(owner).__name__!r} object has no attribute {name!r}.'
    if not name.startswith('_'):
        # A named tuple also has a tuple's ``count`` and ``index``, which nobody means.
        attributes = [word for word in dir(owner) if word[0] != '_' and not hasattr(tuple, word)]
        nearest = nearest_name(name, attributes)
        text += f' Did you mean {nearest!r}?' if nearest else f' Known: {list_names(attributes)}.'
    raise AttributeError(text)


def misspelt_name(name: str, candidates: Iterable[str]) -> str | None:
    """
    Return the existing name that differs from a given name by a small misspelling, or None.

    Upper case, underscores and hyphens are ignored. The names must be more similar than for :func:`nearest_name`.

    :param name: the name as the user wrote it.
    :param candidates: the names that exist.
    """
    plain = {_plain(candidate): candidate for candidate in candidates}
    close = _close_matches(_plain(name), plain, _MISSPELT)
    return plain[close[0]] if close else None


def _close_matches(name: str, candidates: Iterable[str], similarity: float) -> list[str]:
    """
    Return a list with only the most similar candidate; empty if none has at least ``similarity``, from 0 to 1.

    Names of more than 200 characters match nothing.
    """
    if len(name) > LONGEST_QUOTE:
        return []
    short = [candidate for candidate in candidates if len(candidate) <= LONGEST_QUOTE]
    return difflib.get_close_matches(name, short, n=1, cutoff=similarity)


def _plain(name: str) -> str:
    """Return a name in lower case without underscores and hyphens."""
    return name.lower().replace('_', '').replace('-', '')


def describe_choices(name: str, candidates: Iterable[str]) -> str:
    """
    Return the sentence that ends an "unknown name" message: the nearest name, if any, and at most 20 known names.

    Without candidates, the sentence is "There are none.".

    :param name: the name as the user wrote it.
    :param candidates: the names that exist.
    """
    choices = sorted(str(candidate) for candidate in candidates)
    if not choices:
        return 'There are none.'
    nearest = nearest_name(name, choices)
    hint = f'Did you mean {quote(nearest)}? ' if nearest else ''
    return f'{hint}Known: {list_names(choices)}.'


class SsikError(Exception):
    """Root of all errors of this package; ``str()`` is one complete sentence or more."""

    def __init__(self, message: str, **evidence: object) -> None:
        """
        Keep the message, and each piece of evidence as an attribute.

        :param message: the fault, with the wrong value.
        :param evidence: the data a caller needs to react, by name.
        """
        super().__init__(message)
        self.message = message
        self.evidence = evidence

    @classmethod
    def unknown(cls, message: str, name: str, candidates: Iterable[str]) -> 'SsikError':
        """
        Return the error for a name that does not exist; its text ends with a similar name, if any, and up to 20 names.

        :param message: the fault, without the full stop.
        :param name: the name as the user wrote it.
        :param candidates: the names that exist.
        """
        available = tuple(candidates)
        choices = describe_choices(name, available)
        return cls(f'{message}. {choices}', name=name, available=available)

    def __getattr__(self, name: str) -> object:
        """
        Return the value that the constructor got under a keyword, such as ``error.path``.

        Raise AttributeError for any other name.
        """
        try:
            return self.__dict__['evidence'][name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        """Return the message (plain KeyError would quote it)."""
        return self.message


class ModelError(SsikError, ValueError):
    """A robot model is malformed, or a name is missing in it."""


class FrameNotFound(ModelError, KeyError):
    """A link or frame name is not in the model."""


class JointNotFound(ModelError, KeyError):
    """A joint name is not in the model or not in the group."""


class GroupNotFound(ModelError, KeyError):
    """The robot has no planning group of that name."""


class UnsupportedJoint(ModelError, NotImplementedError):
    """A joint is of a kind, or part of a mimic relation, that the requested operation cannot handle."""


class InvalidLimits(ModelError):
    """Limits are missing, inverted, not finite where they must be, or do not suit the joint or the values asked for."""


class InvalidClosure(ModelError):
    """A loop closure, or a change of a mechanism's frames, does not fit the model."""


class DescriptionNotFound(SsikError, FileNotFoundError):
    """A robot description, a configuration file or another input file does not exist or cannot be read."""


class RequestError(SsikError, ValueError):
    """A solve request is not well formed."""


class InvalidTarget(RequestError):
    """A target pose is not a finite rigid transform."""


class DimensionMismatch(RequestError):
    """An array has another shape than required, or numbers that are not finite where they must be."""


class InvalidOption(RequestError, TypeError):
    """
    A keyword or option does not exist, or its value has a wrong type or is out of range.

    Also raised if a file that an option names cannot be written, or a program that is needed for it fails.
    """


class SolverError(SsikError, RuntimeError):
    """A valid request cannot be done: a solver does not load or suit the chain, or a package or service is missing."""


class UnknownSolver(SolverError, KeyError):
    """No solver of that name is registered."""


class TopologyMismatch(SolverError, ValueError):
    """The chain does not have the structure that the solver needs."""


class PluginLoadError(SolverError, ImportError):
    """
    A registered solver cannot be used: its import or its construction failed, or its registration is wrong.

    After an exception of the solver, this exception is the cause.
    """


class NativeLibraryError(SsikError, ImportError):
    """The library of compiled kernels is missing, lacks a kernel, or does not fit the machine or the sources."""


class ConfigError(SsikError, ValueError):
    """A configuration file is malformed."""


class InvalidParameter(ConfigError):
    """A parameter is misspelt, has the wrong type, or lies outside its range."""


class UnknownGroup(ConfigError, KeyError):
    """A kinematics file has no settings for the requested group."""


class LocatedMapping(dict[str, Any]):
    """A dictionary read from a file; ``places`` has the place of each key in the file, as ``file:line``."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.places: dict[str, str] = {}


MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    UnicodeError,
    ValueError,
)
"""Exceptions that a parser may raise for malformed content, in addition to its own."""
_Parameters = ParamSpec('_Parameters')
_Content = TypeVar('_Content')


def _one_line(message: str) -> str:
    """Return a message on one line, cut after LONGEST_MESSAGE characters."""
    if len(message) > LONGEST_MESSAGE:
        message = f'{message[:LONGEST_MESSAGE]}... ({len(message)} characters)'
    return ' '.join(message.split('\n')) if '\n' in message else message


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """
    Turn an OSError in the ``with`` block into an InvalidOption that names a file or folder and the reason.

    :param path: the file or folder that is written.
    """
    try:
        yield
    except OSError as error:
        raise InvalidOption(f"'{path}' cannot be written: {error.strerror or error}.") from error


def reads_file(
    kind: type[SsikError],
) -> Callable[[Callable[_Parameters, _Content]], Callable[_Parameters, _Content]]:
    """
    Return a decorator for functions that read a file: malformed content and OSError become one error of a given class.

    The new error names the file, which is the first argument of the function. Errors of this package are raised again,
    with their message put on one line.

    :param kind: class of the error.
    """

    def decorate(read: Callable[_Parameters, _Content]) -> Callable[_Parameters, _Content]:
        @functools.wraps(read)
        def reader(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Content:
            try:
                return read(*args, **kwargs)
            except SsikError as error:
                # The messages of other libraries have several lines.
                error.message = _one_line(error.message)
                raise
            except (OSError, *MALFORMED) as error:
                # A file may name other files, with names that the system does not take.
                source = args[0] if args else next(iter(kwargs.values()), 'file')
                reason = f'{type(error).__name__}: {shorten(error)}'
                raise kind(f'{quote(source)} is malformed: {reason}.', source=source) from error

        return reader

    return decorate
