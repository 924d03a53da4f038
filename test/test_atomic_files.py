"""Files that exist whole or not at all."""

import pytest

from ssik_ros.atomic_files import drafted, write_whole


@pytest.mark.parametrize('content', ['ä\n', b'\xff'])
def test_a_file_is_replaced(tmp_path, content):
    target = tmp_path / 'file'
    target.write_bytes(b'old')
    write_whole(target, content)
    assert target.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize('kind', [OSError, KeyboardInterrupt])
@pytest.mark.parametrize('place', [None, 'draft'])
def test_an_exception_leaves_the_old_file_and_no_draft(tmp_path, kind, place):
    target = tmp_path / 'file'
    target.write_bytes(b'old')
    with pytest.raises(kind), drafted(target, place and tmp_path / place) as draft:
        draft.write_bytes(b'half')
        raise kind
    assert target.read_bytes() == b'old'
    assert list(tmp_path.iterdir()) == [target]
