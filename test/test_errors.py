"""Texts from outside within messages: quoted, cut, on one line."""

from hypothesis import given, strategies as st
import pytest

from ssik_ros.errors import counted, describe_choices, list_names, nearest_name, quote


@given(st.text(max_size=1000))
def test_a_quoted_text_is_short_and_on_one_line(text):
    quoted = quote(text)
    assert len(quoted) <= 200 * len('\\U0010ffff') + len("'... (1000 characters)'")
    assert quoted.isprintable()
    if text.isprintable() and len(text) <= 200:
        assert quoted == f"'{text}'"


def test_a_longer_text_is_cut_and_its_length_told():
    assert quote('x' * 200) == f"'{'x' * 200}'"
    assert quote('x' * 201) == f"'{'x' * 200}... (201 characters)'"


def test_a_line_break_in_a_name_cannot_begin_a_line_of_the_log():
    assert quote('a\n[INFO] b') == "'a\\n[INFO] b'"


def test_a_list_of_names_is_cut_after_twenty():
    assert list_names(['a', 'b']) == 'a, b'
    assert list_names(map(str, range(21))).endswith('18, 19, ... (21 in all)')


def test_names_that_are_known_are_cut_too():
    assert len(describe_choices('x', ['y' * 1_000_000] * 3)) < 1000


def test_a_name_of_a_million_characters_is_near_to_none():
    # Similarity takes time that grows with the square of the length.
    letters = ''.join(chr(0x4E00 + i % 150) for i in range(1_000_000))
    assert nearest_name(letters, [letters + 'x', 'tip']) is None
    assert nearest_name('tipp', [letters, 'tip']) == 'tip'


@pytest.mark.parametrize(
    ('number', 'noun', 'text'),
    [
        (0, 'solution', '0 solutions'),
        (1, 'search', '1 search'),
        (2, 'search', '2 searches'),
        (2, 'branch', '2 branches'),
        (21, 'joint', '21 joints'),
    ],
)
def test_numbers_agree_with_their_nouns(number, noun, text):
    assert counted(number, noun) == text


def test_a_noun_may_have_a_plural_of_its_own():
    assert counted(1, 'degree of freedom', 'degrees of freedom') == '1 degree of freedom'
    assert counted(6, 'degree of freedom', 'degrees of freedom') == '6 degrees of freedom'
