"""Warnings about faults in a maker's file that do not prevent the robot from being loaded."""


class FileNotes:
    """
    Collects warnings about faults in one file, as sentences in ``lines``.

    Each begins with the file (or a noun for a text) and the line, and says how the fault was interpreted.
    """

    def __init__(self, source: str) -> None:
        """
        Start without warnings.

        :param source: path of the file, or a noun for a text that is not a file.
        """
        self.source = source
        self.lines: list[str] = []

    def add(self, line: int, text: str) -> None:
        """
        Add a warning about a line of the file.

        :param line: line of the file, from 1.
        :param text: the fault, and how the reader interpreted it.
        """
        self.lines.append(f'{self.source}:{line}: {text}')
