"""Get the XML text of a URDF or SRDF from a string, a file, or a xacro file, which is expanded."""

from collections.abc import Mapping
import importlib
import os
from pathlib import Path
import re

from ssik_ros.arguments import refuse
from ssik_ros.errors import DescriptionNotFound, list_names, ModelError, quote
from ssik_ros.value_class import dataclass

COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
DECLARED_ENCODING = re.compile(rb'^\s*<\?xml[^>]*encoding=["\']([A-Za-z0-9._-]+)["\']')
ROBOT_NAME = re.compile(r'<robot\b[^>]*?\bname\s*=\s*["\']([^"\']*)')
DECLARED_ARGUMENT = re.compile(r'<xacro:arg\b[^>]*?\bname\s*=\s*["\']([^"\']+)')
USED_ARGUMENT = re.compile(r'\$\(arg\s+([^)\s]+)\s*\)')
INCLUDED_FILE = re.compile(r'<xacro:include\b[^>]*?\bfilename\s*=\s*["\']([^"\']+)')
MOST_INCLUDES = 50
"""Files that are looked into for arguments."""
XACRO_TIMEOUT = 120.0  # [s]

TextSource = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class SourceText:
    """The XML text of a description, with the file that it came from and whether xacro made it."""

    text: str
    path: Path | None
    """The file, None for text that was given itself."""
    expanded: bool
    """Whether xacro made the text."""
    noun: str = 'description'
    """Noun for the text in messages ("robot description")."""
    warnings: tuple[str, ...] = ()
    """A sentence if the file is not text in its encoding and was read as Latin-1; else empty."""

    @property
    def origin(self) -> str:
        """Return the words that messages put before a line number: the file, or a noun for the text."""
        if self.path is None:
            return self.noun
        return f'{self.path} (expanded)' if self.expanded else str(self.path)


def is_xml_text(source: TextSource) -> bool:
    """
    Return whether a source is the document itself rather than a path.

    :param source: a path or XML text.
    """
    return isinstance(source, str) and source.lstrip('\ufeff \t\r\n').startswith('<')


def require_xml_text(text: str, noun: str) -> str:
    """
    Return a text unchanged if it begins like XML, with ``<`` after blanks; raise ModelError otherwise, as for a path.

    The rest of the text is not checked.

    :param text: the text of a message.
    :param noun: word for the text in messages ("robot description").
    :raises ModelError: if it does not begin with ``<``.
    """
    if not is_xml_text(text):
        raise ModelError(
            f"The {noun} is not XML text, which starts with '<'. A message cannot name a file: "
            'give a path as a parameter of the node instead.'
        )
    return text


def robot_name_of(text: str) -> str:
    """
    Return the robot's name in the text of a URDF or SRDF without parsing the rest; empty if the name is missing.

    :param text: the XML text.
    """
    match = ROBOT_NAME.search(COMMENT.sub('', text))
    return match[1] if match else ''


def read_source(
    source: TextSource, noun: str, xacro_args: Mapping[str, object] | None = None
) -> SourceText:
    """
    Return the XML text of a description.

    :param source: a path, or XML text (it starts with ``<``).
    :param noun: word for the description in messages ("robot description").
    :param xacro_args: arguments for xacro, by name.
    :raises DescriptionNotFound: if the file does not exist.
    :raises ModelError: when the text still contains xacro, xacro fails, or the file is not text.
    :raises InvalidOption: when the source is neither text nor a path.
    """
    if not isinstance(source, str | os.PathLike):
        refuse(f'The {noun}', source, 'a path or XML text')
    if is_xml_text(source):
        text = str(source)
        if _contains_xacro(text):
            raise ModelError(
                f'The {noun} contains xacro elements; expand it first, or give the path of its '
                'file.'
            )
        return SourceText(text, None, False, noun)
    path = _existing_file(source, noun)
    text, warnings = _decode(path)
    if path.suffix == '.xacro' or _contains_xacro(text):
        return SourceText(expand_xacro(path, xacro_args or {}), path, True, noun, warnings)
    return SourceText(text, path, False, noun, warnings)


def _contains_xacro(text: str) -> bool:
    """Return whether there are xacro elements outside comments."""
    return '<xacro:' in text and '<xacro:' in COMMENT.sub('', text)


def _existing_file(source: TextSource, noun: str) -> Path:
    """Return the path of a file that exists; raise DescriptionNotFound for any other path or text."""
    shown = str(source) if len(str(source)) < 200 else str(source)[:200] + '...'
    try:
        if str(source).strip() and Path(source).expanduser().is_file():
            return Path(source).expanduser()
    except (OSError, ValueError):
        pass
    raise DescriptionNotFound(
        f"The {noun} {quote(shown)} is neither a file nor XML text (which starts with '<').",
        path=str(source),
    )


def _decode(path: Path) -> tuple[str, tuple[str, ...]]:
    """
    Return a file's text in its declared encoding, UTF-8 by default, and a tuple of warnings.

    If the file is not such text, or the encoding is unknown, it is read as Latin-1, with a warning. Raise ModelError
    instead if it does not begin with ``<`` or has zero bytes. Raise OSError if it cannot be read.
    """
    data = path.read_bytes()
    declared = DECLARED_ENCODING.match(data)
    encoding = declared.group(1).decode() if declared else 'utf-8'
    try:
        return data.decode('utf-8-sig' if encoding.lower() == 'utf-8' else encoding), ()
    except (UnicodeDecodeError, LookupError) as error:
        if not data.lstrip().startswith(b'<') or b'\0' in data:
            raise ModelError(
                f'{quote(path)} is not {encoding} text: {error}.', path=str(path)
            ) from error
        line = data[: getattr(error, 'start', 0)].count(b'\n') + 1
        text = f'{path}:{line}: The file is not {encoding} text ({error}); it is read as Latin-1.'
        return data.decode('latin-1'), (text,)


def expand_xacro(path: Path, arguments: Mapping[str, object]) -> str:
    """
    Return the expanded text of a xacro file, by xacro's Python module or else its program.

    :param path: the file.
    :param arguments: xacro arguments by name.
    :raises ModelError: when xacro is not installed or refuses the file.
    """
    mappings = {name: _xacro_value(value) for name, value in arguments.items()}
    try:
        xacro = importlib.import_module('xacro')
    except ImportError:
        return _expand_by_executable(path, mappings)
    try:
        return str(xacro.process_file(str(path), mappings=mappings).toxml())
    except Exception as error:
        raise _xacro_failure(path, str(error), mappings) from error


def _xacro_failure(path: Path, reason: str, mappings: Mapping[str, str]) -> ModelError:
    """Return the error for a file that xacro refuses, with the arguments that the file declares."""
    declared = declared_arguments(path)
    given = list_names(f'{name}:={value}' for name, value in mappings.items()) or 'none'
    arguments_text = list_names(declared) or 'none'
    return ModelError(
        f'xacro failed on {quote(path)}: {reason.strip().rstrip(".")}. Its arguments: '
        f'{arguments_text}; given (xacro_args, --xacro-arg): {given}.',
        path=str(path),
        declared=tuple(declared),
    )


def declared_arguments(path: Path) -> list[str]:
    """
    Return the names of the arguments that a xacro file declares or uses, without those in comments.

    Files that it includes by a plain path are searched too, and those that they include. The search ends once it knows
    50 files, read or not. Files that cannot be read are left out.

    :param path: the file.
    """
    names: dict[str, None] = {}
    waiting, seen = [path], {path}
    while waiting and len(seen) < MOST_INCLUDES:
        file = waiting.pop()
        try:
            text = COMMENT.sub('', file.read_text(encoding='utf-8', errors='replace'))
        except OSError:
            continue
        names.update(dict.fromkeys(DECLARED_ARGUMENT.findall(text)))
        names.update(dict.fromkeys(USED_ARGUMENT.findall(text)))
        included = {file.parent / name for name in INCLUDED_FILE.findall(text) if '$' not in name}
        waiting += included - seen
        seen |= included
    return list(names)


def _xacro_value(value: object) -> str:
    """Return a value as the text that xacro reads; true and false are in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _expand_by_executable(path: Path, mappings: Mapping[str, str]) -> str:
    """
    Return the text that the ``xacro`` program prints for a file.

    Raise ModelError if the program is missing, fails, or takes longer than XACRO_TIMEOUT.
    """
    import shutil
    import subprocess

    program = shutil.which('xacro')
    if program is None:
        raise ModelError(
            f'{quote(path)} is a xacro file, and xacro is not installed (neither the Python module nor '
            'the program). `pip install xacro` brings it; or expand the file elsewhere and give the URDF.',
            path=str(path),
        )
    command = [program, str(path), *(f'{name}:={value}' for name, value in mappings.items())]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=XACRO_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _xacro_failure(path, str(error), mappings) from error
    if done.returncode:
        raise _xacro_failure(path, done.stderr, mappings)
    return done.stdout
