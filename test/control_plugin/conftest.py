"""The program of chains and solvers, and arms with it."""

from test.control_plugin.chain_programs import ARMS, build, ChainProgram, missing_tool, urdf_of

import pytest

from ssik_ros import Manipulator
from ssik_ros.cli.command import main


@pytest.fixture(scope='session')
def program(tmp_path_factory):
    """Return the program."""
    if missing_tool():
        pytest.skip(missing_tool())
    made = build(tmp_path_factory.mktemp('control'))
    if isinstance(made, str):
        pytest.skip(made)
    return made


@pytest.fixture(scope='session', params=ARMS)
def solved(request, program, tmp_path_factory):
    """Return an arm, its chain with a solver from blocks, and its name."""
    urdf, (base, tip) = urdf_of(request.param), ARMS[request.param]
    arm = Manipulator.from_urdf(urdf, base=base, ee=tip)
    blocks = tmp_path_factory.mktemp(request.param) / 'arm.blocks'
    assert (
        main(['build', str(urdf), '--base', base, '--ee', tip, '--blocks', '-o', str(blocks)]) == 0
    )
    with ChainProgram(program, urdf, base, tip, [blocks]) as chain:
        assert not chain.error
        yield arm, chain, request.param
