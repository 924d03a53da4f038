"""``ssik build``: the files that it writes, and the reasons not to write."""

import re

import pytest

from ssik_ros.artifact.sources import SourceNotPortable
from ssik_ros.cli.command import main
from ssik_ros.cli.verb import build
from ssik_ros.model.catalogue import arm_data, make_urdf
from ssik_ros.solvers.closed_form.arm import AnalyticArm

FEW = ['--validate-poses', '3']


@pytest.fixture
def urdf(tmp_path):
    """Return the path of a URDF of the Puma."""
    path = tmp_path / 'puma.urdf'
    path.write_text(make_urdf(arm_data('puma560')), encoding='utf-8')
    return path


def test_a_module_is_written_beside_where_one_stands(urdf, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(['build', str(urdf), *FEW]) == 0
    text = capsys.readouterr().out
    assert 'ikgeo.spherical_two_parallel, tier 0 (closed form)' in text
    assert 'validation: 6 poses were solved, 3 from random joints' in text
    assert 'wrote puma560_ik.py' in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ['puma.urdf', 'puma560_ik.py']
    assert "VALIDATION = '6 poses" in (tmp_path / 'puma560_ik.py').read_text(encoding='utf-8')


def test_a_file_is_overwritten_only_by_force(urdf, tmp_path, capsys):
    path = tmp_path / 'mine.py'
    path.write_text('mine', encoding='utf-8')
    words = ['build', str(urdf), '--out', str(path), *FEW]
    assert main(words) == 2
    assert '--force' in capsys.readouterr().err
    assert path.read_text(encoding='utf-8') == 'mine'
    assert main([*words, '--force']) == 0
    assert path.read_text(encoding='utf-8') != 'mine'


def spoilt(change):
    """Return a generator of modules whose text is changed."""
    original = build.write_module
    return lambda subject, validation: change(original(subject, validation))


def wrong_tool(text):
    """Move the tip of the module's chain by a hundredth of a micrometre."""
    return re.sub(r'(\n_PLAN = ArtifactPlan\()', r'\n_OFF = 1e-8\1', text).replace(
        '_PLAN, search_search, T,',
        '_PLAN, search_search, np.add(T, np.eye(4)[:, [3]] @ [[0, 0, 0, _OFF]] * 0 '
        '+ np.array([[0, 0, 0, _OFF]] + [[0] * 4] * 3)),',
    )


FAULTS = {
    'misses its pose by 1e-08': wrong_tool,
    'poses unsolved': lambda text: text.replace(
        'found = solve_pose(', 'found = [] and solve_pose('
    ),
    'ZeroDivisionError': lambda text: text.replace('found = solve_pose(', 'found = 1 / 0, ('),
    'other solutions than the library': lambda text: text.replace(
        'q_seed, max_solutions, respect_limits)', 'q_seed, 3, respect_limits)'
    ),
    'outside of the limits': lambda text: text.replace(
        'max_solutions, respect_limits)', 'max_solutions, False)'
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize('fault', FAULTS)
def test_a_module_that_fails_its_trial_is_not_written(fault, urdf, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, 'write_module', spoilt(FAULTS[fault]))
    path = tmp_path / 'arm_ik.py'
    path.write_text('before', encoding='utf-8')
    words = ['--out', str(path), '--force', '--validate-poses', '20']
    assert main(['build', str(urdf), *words]) == 1
    text = capsys.readouterr().err
    assert 'FAILED' in text and fault in text
    assert path.read_text(encoding='utf-8') == 'before'
    assert len(list(tmp_path.iterdir())) == 2


def test_one_unsolved_pose_is_enough_to_fail(urdf, tmp_path, monkeypatch, capsys):
    calls = '_CALLS = [0]\n\n\ndef solve('

    def forget_one(text):
        text = text.replace('def solve(', calls)
        return text.replace(
            'found = solve_pose(',
            '_CALLS[0] += 1\n    found = [] if _CALLS[0] == 11 else solve_pose(',
        )

    monkeypatch.setattr(build, 'write_module', spoilt(forget_one))
    path = tmp_path / 'arm_ik.py'
    words = ['--out', str(path), '--validate-poses', '20']
    assert main(['build', str(urdf), *words]) == 1
    assert '1 of 40 poses unsolved' in capsys.readouterr().err
    assert not path.exists()


def test_a_class_whose_kernels_cannot_be_copied_is_refused(urdf, tmp_path, monkeypatch, capsys):
    def refuse(subject, validation):
        raise SourceNotPortable('it calls the operating system')

    monkeypatch.setattr(build, 'write_module', refuse)
    assert main(['build', str(urdf), '--out', str(tmp_path / 'x.py')]) == 1
    assert 'cannot be built: it calls' in capsys.readouterr().err


def test_an_arm_without_a_closed_form_is_not_built(tmp_path, capsys):
    path, arm = tmp_path / 'x.py', tmp_path / 'arm.urdf'
    elbow = '<joint name="elbow_joint" type="revolute">'
    text = make_urdf(arm_data('ur5e')).replace(elbow, elbow.replace('revolute', 'prismatic'))
    arm.write_text(text, encoding='utf-8')
    assert main(['build', str(arm), '--out', str(path)]) == 1
    assert 'ssik_ros/PoseIK' in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize('name', ['hsr065', 'stanford'])
def test_an_arm_with_a_slide_is_built_like_others(name, tmp_path, capsys):
    path = tmp_path / f'{name}_ik.py'
    assert main(['build', '--robot', name, '--out', str(path), *FEW]) == 0
    assert 'the sets are those of the library' in capsys.readouterr().out
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--validate-poses', '0'], 'without a trial'),
        (['--out', 'no/such/folder/x.py', *FEW], 'cannot be written'),
        (['--base', 'no_link'], 'no_link'),
        (['--robot', 'ur5e'], 'Name one robot'),
        (['--xacro-arg', 'a=b'], 'NAME:=VALUE'),
    ],
)
def test_a_request_that_makes_no_sense_ends_with_two(
    words, message, urdf, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(['build', str(urdf), *words]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ['puma.urdf']


def test_a_pose_that_the_library_cannot_solve_either_fails(urdf, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, 'write_module', spoilt(FAULTS['poses unsolved']))
    monkeypatch.setattr(AnalyticArm, 'branches', lambda self, pose, request: None)
    assert main(['build', str(urdf), '--out', str(tmp_path / 'arm_ik.py'), *FEW]) == 1
    assert '6 of 6 poses unsolved.' in capsys.readouterr().err
    assert not (tmp_path / 'arm_ik.py').exists()
