"""
Scripts of the executables in a workspace: a signal ends them properly from their first moment on.

The script that setuptools writes imports for a tenth of a second and more before the package is reached. A signal within
that time ends the process with a traceback or a code that says "killed". The command ``ssik`` gets a script that reaches
the package at once, too. pip writes scripts of its own.
"""

import functools
import subprocess

EXIT_CODES = {
    'ik_server': 0,
    'ik_stream': 0,
    'ik_view': 0,
    'joint_state_relay': 0,
    'ik_benchmark': 1,
}
"""Exit code of each executable that a signal ends while it starts."""
BLOCKED = '/usr/bin/env -S --block-signal=INT,TERM'
"""Starts a program that gets no signal before it asks for it: GNU coreutils from 8.31 on."""
LONGEST_SHEBANG = 127
"""Characters of a first line that every Linux reads."""

# Signals wait while the interpreter starts. -S leaves the folders of installed packages to site.main, as their .pth files
# may import modules; _signal and posix are part of the interpreter and take no time.
TEXT = """\
{shebang}
import _signal, posix
for number in (_signal.SIGINT, _signal.SIGTERM):
    _signal.signal(number, lambda *_: posix._exit({code}))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGINT, _signal.SIGTERM))
import site
site.main()
import sys
from ssik_ros.ros.executables import {name}
sys.exit({name}())
"""
COMMAND = """\
{shebang}
import sys
if __name__ == '__main__':
    from ssik_ros.cli.command import main
    sys.exit(main())
"""


@functools.lru_cache
def can_block() -> bool:
    """Return whether this machine has the program of :data:`BLOCKED`."""
    program, options = BLOCKED.split(' ', 1)
    # All options in one word, as Linux passes them from a first line: the env of Ubuntu 26.04 reads no other form.
    words = [program, f'{options} true']
    try:
        return not subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode
    except OSError:
        return False


def early_script(name: str, contents: str) -> str:
    """
    Return the script of an executable or of the command ``ssik``; the given one for any other name.

    :param name: of the executable.
    :param contents: the script that setuptools has made; its first line names the interpreter.
    """
    shebang = contents.partition('\n')[0].strip()
    if not shebang.startswith('#!'):
        return contents
    if name == 'ssik':
        return COMMAND.format(shebang=shebang)
    if name not in EXIT_CODES or ' ' in shebang:
        return contents
    first = f'#!{BLOCKED} {shebang[2:]} -S'
    if len(first) > LONGEST_SHEBANG or not can_block():
        first = f'{shebang} -S'
    return TEXT.format(shebang=first, code=EXIT_CODES[name], name=name)


class WritesEarlyScripts:
    """Mixed into a command of setuptools that writes scripts."""

    def write_script(self, script_name, contents, mode='t', *ignored):
        """
        Write a script.

        :param script_name, contents, mode, ignored: as for commands of setuptools.
        """
        super().write_script(script_name, early_script(script_name, contents), mode, *ignored)
