"""What users call things becomes the names of Python variables."""

import keyword
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapec.codegen.common.naming import RESERVED, SHADOWED, identifier


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x", "x"),
        ("params['w']", "params_w"),
        ("1", "v1"),
        ("", "x"),
        ("if", "if_"),
        ("None", "None_"),
        ("np", "np_"),
        ("open", "open_"),
        ("a\nb", "a_b"),
        ("__import__('os')", "import___os"),
        ("é", "é"),
        ("ﬁ", "fi"),  # Python reads this ligature as two letters in a name
        ("𝐢𝐟", "if_"),
        ("𝐓𝐫𝐮𝐞", "True_"),
        ("x²", "x2"),
        ("²", "v2"),
        ("𐄇", "v"),
    ],
)
def test_names(text, name):
    assert identifier(text) == name


@given(st.text(max_size=12))
def test_any_text_becomes_a_name_that_python_keeps(text):
    name = identifier(text)
    assert name.isidentifier() and not keyword.iskeyword(name)
    assert name not in RESERVED and name not in SHADOWED
    assert unicodedata.normalize("NFKC", name) == name
