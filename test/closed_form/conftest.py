"""Numbers of random poses at which sets of branches are compared with the complete oracle."""

import pytest

FEW, MANY = 2, 5


def pytest_generate_tests(metafunc):
    """Ask few poses in a quick test, and many of the same ones in a slow test."""
    if 'poses' in metafunc.fixturenames:
        few = (
            [] if metafunc.definition.get_closest_marker('slow') else [pytest.param(FEW, id='few')]
        )
        metafunc.parametrize(
            'poses', [*few, pytest.param(MANY, id='many', marks=pytest.mark.slow)]
        )
