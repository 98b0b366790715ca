"""Sliders under a storm: each move simulates anew and redraws, fast enough to feel.

Only what changes is drawn anew, on a copy of the axes that were drawn once: their letters alone take
longer than all the rest.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from jobkit import backoff
from jobkit.logs import counted
from jobkit.plot.style import BLACK, BLUE, GREY, INK, LINE, PAPER, SMALL, TEXT, ticks
from jobkit.storm import Storm, storm

JITTERS = {"none": backoff.none, "+-20 %": backoff.proportional(0.2), "equal": backoff.equal, "full": backoff.full}
EDGES_S = np.unique(np.concatenate([[0], np.geomspace(1, 20_000, 220).round()]))
"""The bins of the picture, in s: 1 s at first, later wider. Each bar is a rate, so bins of any width compare."""


canvas: Any = FigureCanvasAgg
"""Any: matplotlib does not type what its canvases can do."""


class Slider:
    """A storm of exponential retries under one set of parameters; `redraw` makes the picture of another."""

    def __init__(self, jobs: int = 10_000) -> None:
        self.jobs = jobs
        self.figure = Figure(figsize=(7.6, 3.0), dpi=100, facecolor=PAPER)
        self.canvas: Any = canvas(self.figure)
        self.ax = ax = self.figure.add_axes((0.105, 0.17, 0.875, 0.72), facecolor=PAPER)
        ax.set_xscale("symlog", linthresh=1, linscale=0.3)
        ax.set_yscale("log")
        ax.set_xlim(0, 20_000)
        ax.set_ylim(0.5, 40_000)
        ax.set_xlabel("seconds since they failed together (log scale)", fontsize=TEXT, color=GREY)
        ax.set_ylabel("retries per s (log scale)", fontsize=TEXT, color=GREY)
        ax.tick_params(labelsize=SMALL, colors=GREY, length=3)
        ticks(ax, [0, 1, 10, 100, 1000, 10_000], ["0", "1 s", "10 s", "100 s", "1,000 s", "10,000 s"])
        ticks(ax, [1, 100, 10_000], ["1", "100", "10,000"], "y")
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        self.bars = ax.stairs(np.ones(len(EDGES_S) - 1), EDGES_S, baseline=0.5, fill=True, color=BLUE)
        (self.served,) = ax.plot([0, 1], [1, 1], color=BLACK, linestyle="--", linewidth=1.3)
        self.down = ax.axvspan(0, 1, facecolor=LINE, alpha=0.6, hatch="//", edgecolor=GREY, linewidth=0)
        self.title = ax.set_title("", loc="left", fontsize=TEXT, color=INK)
        self.moving = (self.bars, self.down, self.served, self.title)
        for artist in self.moving:
            artist.set_animated(True)
        self.canvas.draw()
        self.paper = self.canvas.copy_from_bbox(self.figure.bbox)

    def run(self, *, base: float, cap: float, jitter: str, capacity: float, outage: float, poll: float) -> Storm:
        """Simulate: seconds, a jitter of `JITTERS`, calls per second."""
        policy = backoff.Exponential(base, cap=max(base, cap), jitter=JITTERS[jitter])
        setting: dict[str, Any] = {"outage": outage, "capacity": capacity, "poll": poll, "retries": 8}
        return storm(policy, self.jobs, **setting, name=jitter)

    def redraw(self, **parameters: Any) -> tuple[bytes, str]:
        """Simulate and draw; returns the PNG, and the same in words."""
        result = self.run(**parameters)
        counts, _ = np.histogram(result.calls_ms() / 1000, EDGES_S)
        self.bars.set_data(np.maximum(counts / np.diff(EDGES_S), 0.5))
        capacity, outage = parameters["capacity"], parameters["outage"]
        self.served.set_data([outage, EDGES_S[-1]], [capacity, capacity])
        self.down.set_width(outage)
        row = result.summary()
        p99 = "nobody served" if row.p99_s is None else f"99 % by {row.p99_s:,.0f} s"
        calls = counted(row.total_calls, "call")
        self.title.set_text(f"at most {row.peak:,} in 1 s, {calls}, {row.dead:,} dead, {p99}")
        self.canvas.restore_region(self.paper)
        for artist in self.moving:
            self.ax.draw_artist(artist)
        png = io.BytesIO()
        Image.fromarray(np.asarray(self.canvas.buffer_rgba())).save(png, format="png", compress_level=1)
        return png.getvalue(), str(row)


def sliders(jobs: int = 10_000) -> Any:
    """Show a storm with sliders for base, cap, jitter, capacity, outage and poll; needs a running kernel."""
    import ipywidgets as w  # noqa: PLC0415 - only a notebook comes here

    drawn = Slider(jobs)
    controls = {
        "base": w.FloatSlider(value=5, min=0.5, max=30, step=0.5, description="base, s"),
        "cap": w.FloatLogSlider(value=300, min=0, max=3.6, base=10, description="cap, s"),
        "jitter": w.Dropdown(value="none", options=list(JITTERS), description="jitter"),
        "capacity": w.IntSlider(value=200, min=20, max=2000, step=20, description="capacity, /s"),
        "outage": w.IntSlider(value=60, min=0, max=600, step=5, description="outage, s"),
        "poll": w.FloatSlider(value=0.25, min=0, max=10, step=0.25, description="poll, s"),
    }
    image, words = w.Image(format="png", width=760), w.HTML()

    def show(_: object = None) -> None:
        image.value, told = drawn.redraw(**{name: control.value for name, control in controls.items()})
        words.value = f"<p>{told}</p>"

    for control in controls.values():
        control.observe(show, names="value")
    show()
    return w.VBox([w.GridBox(list(controls.values()), layout={"grid_template_columns": "330px 330px"}), image, words])
