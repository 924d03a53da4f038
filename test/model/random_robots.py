"""Random robots and states as Hypothesis strategies."""

import math

from hypothesis import strategies as st

KINDS = ('revolute', 'continuous', 'prismatic', 'fixed', 'planar', 'floating')
SCALAR = ('revolute', 'continuous', 'prismatic')
GIMBAL_LOCK = (math.pi / 2, -math.pi / 2, math.pi / 2 + 1e-9, 1.5707963267, math.pi, -math.pi, 0.0)

lengths = st.floats(-2.0, 2.0)
angles = st.one_of(st.sampled_from(GIMBAL_LOCK), st.floats(-7.0, 7.0))
# Not between 0 and 1e-6: pinocchio takes an axis within 1e-12 of a coordinate axis for that axis.
components = st.floats(-3.0, 3.0).map(lambda value: value if abs(value) >= 1e-6 else 0.0)
axes = st.one_of(
    st.sampled_from(['1 0 0', '0 -1 0', '0 0 -1', '0 0 2', '1 1 0', '0 3e-3 0']),
    st.tuples(*[components] * 3)
    .filter(lambda axis: math.hypot(*axis) > 0.01)
    .map(lambda axis: ' '.join(map(repr, axis))),
)


def words(values):
    """Return numbers as an attribute."""
    return ' '.join(map(repr, values))


@st.composite
def joints(draw, index, leaders, serial):
    """Return the text of one joint; the parent is any link before its own, or the last one."""
    kind = draw(st.sampled_from((*SCALAR, 'fixed') if serial else KINDS))
    parent = index if serial else draw(st.integers(0, index))
    # Names in another order than the document, since the model order goes by name.
    name = f'j{draw(st.integers(0, 9))}_{index}'
    text = f'<joint name="{name}" type="{kind}">'
    if draw(st.booleans()):
        xyz, rpy = draw(st.tuples(*[lengths] * 3)), draw(st.tuples(*[angles] * 3))
        text += f'<origin xyz="{words(xyz)}" rpy="{words(rpy)}"/>'
    text += f'<parent link="l{parent}"/><child link="l{index + 1}"/>'
    if kind in SCALAR:
        text += f'<axis xyz="{draw(axes)}"/>'
        text += '<limit lower="-100" upper="100" effort="1" velocity="1"/>'
        if leaders and not serial and draw(st.booleans()):
            multiplier = draw(st.sampled_from([-1.0, 1.0, 0.5, -0.3]))
            text += f'<mimic joint="{draw(st.sampled_from(leaders))}" multiplier="{multiplier}"'
            text += f' offset="{draw(st.floats(-1.0, 1.0))}"/>'
        leaders.append(name)
    return text + '</joint>'


@st.composite
def robots(draw, max_joints=8, serial=False):
    """Return URDF text of a random tree with links l0, l1, ...; serial ones are one chain."""
    count = draw(st.integers(0, max_joints))
    leaders = []
    elements = [draw(joints(index, leaders, serial)) for index in range(count)]
    links = [f'<link name="l{index}"/>' for index in range(count + 1)]
    return f'<robot name="random">{"".join(links + elements)}</robot>'
