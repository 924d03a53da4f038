// Time closed-chain-ik on a mechanism: node closed_chain_ik.mjs FOLDER_OF_THE_PACKAGE < request.json > response.json
//
// The request: `frames` (parents first: kind, parent, pose, DoF with values and limits, what a frame closes onto), `options` of
// the solver, `calls` (how often it may be called again), `runs` of positions and quaternions of the goal, `warm_up` frames of
// each that are not timed. The response: per run and frame the times [us], whether every status was CONVERGED, and what the state
// misses at most, measured here.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const { DOF, Goal, Joint, Link, Solver, SOLVE_STATUS } = await import(
  pathToFileURL(join(folder, 'src', 'core', 'index.js'))
);
const request = JSON.parse(readFileSync(0, 'utf8'));
const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

// One degree of freedom a joint, in the order in which they move a frame, as the package's own examples have them.
const ORDER = ['X', 'Y', 'Z', 'EZ', 'EY', 'EX'];

let degrees = 0;
const closures = [];

function makeJoint(frame) {
  const first = new Joint();
  let last = first;
  ORDER.filter((name) => name in frame.dof).forEach((name, index) => {
    if (index > 0) {
      last = addBelow(last);
    }
    const { value, lower, upper } = frame.dof[name];
    last.setDoF(DOF[name]);
    last.setMinLimits(lower ?? -Infinity);
    last.setMaxLimits(upper ?? Infinity);
    last.setDoFValues(value);
    degrees += 1;
  });
  if (frame.closes >= 0 && last.dof.length > 0) {
    last = addBelow(last); // A closure is rigid, its freedom stands before it.
  }
  return { top: first, end: last };
}

function addBelow(joint) {
  const link = new Link();
  const next = new Joint();
  joint.addChild(link);
  link.addChild(next);
  return next;
}

function make(frame) {
  if (frame.kind === 'link') {
    const link = new Link();
    return { top: link, end: link };
  }
  if (frame.kind === 'goal') {
    const goal = new Goal();
    return { top: goal, end: goal };
  }
  return makeJoint(frame);
}

const made = request.frames.map(make);
request.frames.forEach((frame, index) => {
  const { top } = made[index];
  top.setPosition(...frame.position);
  top.setQuaternion(...frame.quaternion);
  if (frame.parent >= 0) {
    made[frame.parent].end.addChild(top);
  }
});
request.frames.forEach((frame, index) => {
  if (frame.closes >= 0) {
    const pair = { joint: made[index].end, link: made[frame.closes].top, kind: frame.kind };
    pair.joint.makeClosure(pair.link);
    closures.push(pair);
  }
});
const solver = new Solver(made.filter((_, k) => request.frames[k].parent < 0).map(({ top }) => top));
Object.assign(solver, request.options);

function distance(a, b) {
  const [p, q] = [new Float64Array(3), new Float64Array(3)];
  a.getWorldPosition(p);
  b.getWorldPosition(q);
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

function angle(a, b) {
  const [p, q] = [new Float64Array(4), new Float64Array(4)];
  a.getWorldQuaternion(p);
  b.getWorldQuaternion(q);
  // |q - p| is twice the sine of a quarter of the angle: single precision does not round it away, as it would a cosine.
  const minus = Math.hypot(...p.map((value, k) => value - q[k]));
  const plus = Math.hypot(...p.map((value, k) => value + q[k]));
  return 4 * Math.asin(Math.min(1, Math.min(minus, plus) / 2));
}

// A solve that ran out of iterations goes on where it was; one that stalled would stall again.
function solve() {
  let statuses = solver.solve();
  for (let count = 1; count < request.calls && statuses.includes(SOLVE_STATUS.TIMEOUT); count += 1) {
    statuses = solver.solve();
  }
  return statuses.every((status) => status === SOLVE_STATUS.CONVERGED);
}

const goal = closures.find(({ kind }) => kind === 'goal').joint;

function follow(poses) {
  const run = { cpu: [], wall: [], solved: [], metres: [], radians: [] };
  poses.forEach(({ position, quaternion }, index) => {
    goal.setPosition(...position);
    goal.setQuaternion(...quaternion);
    const cpu = process.cpuUsage();
    const wall = process.hrtime.bigint();
    const solved = solve();
    const spentWall = Number(process.hrtime.bigint() - wall) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    if (index >= request.warm_up) {
      run.cpu.push(user + system);
      run.wall.push(spentWall);
      run.solved.push(solved);
      run.metres.push(Math.max(...closures.map(({ joint, link }) => distance(joint, link))));
      run.radians.push(Math.max(...closures.map(({ joint, link }) => angle(joint, link))));
    }
  });
  return run;
}

const runs = Object.fromEntries(Object.entries(request.runs).map(([name, poses]) => [name, follow(poses)]));
process.stdout.write(JSON.stringify({ version, degrees, closures: closures.length, runs }));
