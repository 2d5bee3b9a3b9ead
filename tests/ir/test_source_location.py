"""The variable that a value is stored to, from the user's bytecode alone."""

import sys

from tapec.ir.source_location import line_of, place_of, remembered, variable_of


def here(*values):
    """The origin of an operation in the calling frame."""
    frame = sys._getframe(1)
    return frame.f_code, frame.f_lasti


def test_plain_and_in_calls():
    x = here()
    assert variable_of(x) == "x"
    assert line_of(x) == here.__code__.co_firstlineno + 7
    assert place_of(x).text == "here()"


def test_several_at_once():
    a, b = here(), here(1)
    c, d, e = here(a), here(b, a), here(abs(3), b)
    p, q, r, s = here(), here(abs(-2)), here(max(1, 2)), here()
    assert [variable_of(o) for o in (a, b, c, d, e, p, q, r, s)] == list("abcdepqrs")


def test_what_is_taken_by_something_else_has_no_name():
    a, b, c, d = [here(), 1], here() and 2, (here(), 3), {here(): 4}
    assert [variable_of(o) for o in (a[0], c[0], *d)] == [None, None, None] and b == 2
    _one, *rest = here(), here(), here()
    assert "_one" not in [variable_of(o) for o in rest]


def test_names_attributes_and_chains():
    box = type("Box", (), {})()
    box.width = here()
    first = second = here()
    assert variable_of(box.width) == "width"
    assert variable_of(first) in ("first", "second") and second is first


class Pair:
    """What is unpacked notes where."""

    def __init__(self):
        self.origins = []

    def __getitem__(self, k):
        if k > 1:
            raise IndexError
        self.origins.append(here_of(sys._getframe(1)))
        return k


def here_of(frame):
    return frame.f_code, frame.f_lasti


def test_unpacking():
    pair = Pair()
    prey, hunters = pair
    assert (prey, hunters) == (0, 1)
    assert [variable_of(o) for o in pair.origins] == [None, None]
    assert [variable_of(o, k) for k, o in enumerate(pair.origins)] == ["prey", "hunters"]


def test_a_loop_that_takes_its_next_value_is_its_first_line():
    pair, seen = Pair(), 0
    for one in pair:  # a comment: no part of it
        seen += one
    assert seen == 1
    text = "for one in pair" if sys.version_info < (3, 12) else "pair"  # what Python says stands there
    assert [place_of(o).text for o in pair.origins] == [text] * 2
    assert [variable_of(o) for o in pair.origins] == ["one"] * 2


def test_answers_are_kept_by_which_code_object_it_is():
    """Its hash, since Python 3.12, takes in every instruction: a long function would be asked for as long for each."""
    asked = []

    @remembered
    def ask(origin, item=None):
        asked.append((origin[1], item))
        return origin[1]

    code, other = [], []  # these have no hash
    assert [ask((code, 2)), ask((code, 2)), ask((code, 2), 1), ask((other, 2)), ask((code, 4))] == [2, 2, 2, 2, 4]
    assert asked == [(2, None), (2, 1), (2, None), (4, None)]
