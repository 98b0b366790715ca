"""The one function behind all pictures: it demands words, and a picture can be read without eyes."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from jobkit.errors import ConfigError
from jobkit.plot import picture
from jobkit.plot.style import PAPER, SERIES, sheet


def a_picture(**given):
    words = {"caption": "A line.", "twin": "It rises from 1 to 2.", "rows": [("x", "y"), (1, "<2>")]}
    figure, (ax,) = sheet(1.0)
    ax.plot([1, 2])
    return picture(figure, **(words | given))


def test_it_shows_the_png_first_and_then_the_words(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **how: shown.append((data, how)))
    a_picture()._ipython_display_()
    (image, how), (words, _) = shown
    assert image["image/png"].startswith(b"\x89PNG")
    assert how["metadata"]["image/png"]["width"] == 760
    assert image["text/plain"] == "A line."
    assert "<details><summary>" in words["text/html"]
    assert "It rises from 1 to 2." in words["text/html"]
    assert ">&lt;2&gt;</td>" in words["text/html"], "what a table holds is text, not HTML"
    assert "It rises from 1 to 2." in words["text/plain"]


def test_in_a_terminal_it_is_its_words():
    assert repr(a_picture()) == "A line.\n\nIt rises from 1 to 2.\n\nx  y\n1  <2>"
    assert repr(a_picture(rows=())) == "A line.\n\nIt rises from 1 to 2."


@pytest.mark.parametrize("given", [{"caption": " "}, {"twin": ""}, {"twin": "A line."}, {"rows": [("x", "y"), (1,)]}])
def test_without_words_there_is_no_picture(given):
    with pytest.raises(ConfigError):
        a_picture(**given)


def test_equal_figures_are_equal_bytes():
    assert a_picture().png == a_picture().png


def test_the_file_is_the_png(tmp_path):
    drawn = a_picture()
    drawn.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == drawn.png


def test_anybodys_figure_will_do():
    figure = Figure(figsize=(4, 2))
    figure.subplots().bar([1], [2])
    drawn = picture(figure, caption="A bar.", twin="It is 2 high.")
    assert drawn.width == 400


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_letters_have_the_contrast_that_reading_needs():
    """WCAG 2.2, 1.4.3: 4.5 to 1. The paper is opaque, so the theme around it changes nothing."""
    from jobkit.plot.style import GREY, INK

    for ink in (INK, GREY):
        assert (luminance(PAPER) + 0.05) / (luminance(ink) + 0.05) >= 4.5


def test_no_two_series_differ_by_colour_alone():
    for place in range(4):  # colour, marker, line, hatch
        assert len({series[place] for series in SERIES}) == len(SERIES)


def test_import_jobkit_stays_light():
    code = "import sys, jobkit; print([m for m in ('matplotlib', 'numpy', 'PIL', 'IPython') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "[]\n"
