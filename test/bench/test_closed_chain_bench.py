import json

import numpy as np
import pytest

from bench import closed_chain, document, node_peer

STAND_IN = """
export const SOLVE_STATUS = { CONVERGED: 0, TIMEOUT: 3 };
export const DOF = { X: 0, Y: 1, Z: 2, EX: 3, EY: 4, EZ: 5 };
class Frame {
  dof = [];
  setPosition(...values) { this.position = values; }
  setQuaternion(...values) { this.quaternion = values; }
  getWorldPosition(out) { (this.position ?? [0, 0, 0]).forEach((value, k) => { out[k] = value; }); }
  getWorldQuaternion(out) { [0, 0, 0, 1].forEach((value, k) => { out[k] = value; }); }
  addChild(child) { if (child.parent) throw new Error('two parents'); child.parent = this; }
}
export class Link extends Frame {}
export class Joint extends Frame {
  setDoF(...dof) { this.dof = dof; }
  setMinLimits(...values) { if (values.length !== this.dof.length) throw new Error('limits'); }
  setMaxLimits(...values) { if (values.length !== this.dof.length) throw new Error('limits'); }
  setDoFValues(...values) { if (values.length !== this.dof.length) throw new Error('values'); }
  makeClosure(link) { if (!(link instanceof Link)) throw new Error('no link'); }
}
export class Goal extends Joint {}
export class Solver {
  calls = 0;
  constructor(roots) { this.roots = roots; }
  solve() { this.calls += 1; return [this.calls % 2 ? SOLVE_STATUS.TIMEOUT : SOLVE_STATUS.CONVERGED]; }
}
"""
"""As much of the package as the program asks for; it moves nothing."""


@pytest.fixture
def stand_in(tmp_path):
    try:
        node_peer.find_node(tmp_path)
    except node_peer.NoPeer as reason:
        if 'node is' in str(reason):
            pytest.skip(str(reason))
    core = tmp_path / 'package' / 'src' / 'core'
    core.mkdir(parents=True)
    (core / 'index.js').write_text(STAND_IN)
    package = {'name': 'closed-chain-ik', 'version': '0.0.0', 'type': 'module'}
    (tmp_path / 'package' / 'package.json').write_text(json.dumps(package))
    return tmp_path / 'package'


def test_frames_of_a_mechanism_are_met_and_written_where_the_peer_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(node_peer.shutil, 'which', lambda name: None)
    closed_chain.main(['--frames', '30', '--output', str(tmp_path)])
    content = json.loads((tmp_path / 'closed_chain.json').read_text())
    assert [row['run'] for row in content['rows']] == ['track', 'jump', 'near']
    assert content['note'] == 'closed-chain-ik was not asked: node is not installed.'
    for row in content['rows']:
        mechanism = 'ur5e' if row['run'] == 'near' else 'hexapod'
        assert (row['mechanism'], row['frames'], row['converged']) == (mechanism, 30, 100.0)
        assert row['worst_metres'] < 1e-5 and row['cpu']['median'] > 0.0 and row['ratio'] > 0.0
    assert content['note'] in document.loop_section(content)


def test_the_peer_gets_the_whole_mechanism_and_goes_on_after_a_timeout(stand_in):
    scene = closed_chain.Scene.load()
    frames = node_peer.describe_mechanism(scene.solver.mechanism.frames)
    poses = scene.poses_of('jump', 4)
    asked = {'jump': [{'position': p, 'quaternion': q} for p, q in poses]}
    response = node_peer.ask(frames, asked, 1, {'maxIterations': 3}, stand_in)
    assert (response['version'], response['degrees'], response['closures']) == ('0.0.0', 48, 7)
    run = response['runs']['jump']
    assert run['solved'] == [True] * 3
    # Nothing moves there, so the goal is missed by its distance from the platform's own place.
    misses = [np.linalg.norm(position) for position, _ in poses[1:]]
    assert np.all(np.array(run['metres']) >= np.array(misses) - 1e-9)


def test_a_peer_that_fails_says_why(stand_in):
    (stand_in / 'src' / 'core' / 'index.js').write_text("throw new Error('broken');")
    with pytest.raises(node_peer.NoPeer, match='it failed: Error: broken'):
        node_peer.ask([], {}, 0, {}, stand_in)


def test_a_missing_package_is_the_reason(tmp_path):
    with pytest.raises(node_peer.NoPeer, match='not installed'):
        node_peer.find_node(tmp_path)


def test_random_poses_are_within_the_lengths_of_the_legs():
    scene = closed_chain.Scene.load()
    rest = np.linalg.norm(scene.centre + scene.heads - scene.feet, axis=1)
    assert np.allclose(rest, rest[0], atol=1e-5)
    assert np.all((scene.shortest < rest) & (rest < scene.longest))
    assert np.allclose(scene.longest - scene.shortest, 0.045)
