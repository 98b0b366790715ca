import pytest

from jobkit.errors import ConfigError
from jobkit.plot import steps, table
from jobkit.plot.tables import word


def test_text_and_html_say_the_same():
    made = table([("room", "due in"), (b"room 9", 5.0), ("<b>", -1)], caption="Who & when.", bold=[2])
    assert str(made) == "Who & when.\n\nroom    due in\n------  ------\nroom 9  5\n<b>     -1"
    assert repr(made) == str(made)
    html = made._repr_html_()
    assert html.count('<th scope="col"') == 2
    assert "<strong>&lt;b&gt;</strong>" in html
    assert "Who &amp; when." in html
    assert "<strong>room 9" not in html


def test_steps_have_a_column_per_person_in_order_of_appearance():
    rows = [("Bob", "ZREM", 1), ("Ada", "ZREM", 0, "too late"), ("Bob", "rings", None)]
    made = steps(rows, caption="Two.")
    assert made.head == ("step", "Bob", "Ada", "")
    assert made.body == (("1", "ZREM → 1", "", ""), ("2", "", "ZREM → 0", "← too late"), ("3", "rings", "", ""))
    assert made.bold == {1}
    assert steps([("Bob", "ZREM", 1)], caption="One.").head == ("step", "Bob")


def test_refusals():
    for rows, caption in (([], "c"), ([("a",)], " "), ([("a",), (1, 2)], "c")):
        with pytest.raises(ConfigError):
            table(rows, caption=caption)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"\xff", "\ufffd"),
        ([b"a", (b"b", 2.0)], "[a, [b, 2]]"),
        ({b"guest": b"Ada"}, "{guest: Ada}"),
        (1_767_225_600_000.0, "1767225600000"),
        (None, "None"),
        (True, "True"),
    ],
)
def test_values_as_a_reader_wants_them(value, said):
    assert word(value) == said
