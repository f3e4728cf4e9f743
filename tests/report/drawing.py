"""Pages whose charts are drawn once: drawing is what a page takes most of its time for."""

from __future__ import annotations

import pytest

from trueval.report import figures, inline_svg


def draw_once(patch: pytest.MonkeyPatch) -> None:
    """Draw the first chart of a page, and put it in the place of all others; each is specified all the same."""
    done: list[str] = []

    def drawn(chart: figures.Chart) -> str:
        figures.specification(chart)
        if not done:
            done.append(figures.render_svg(chart))
        return done[0]

    patch.setattr(inline_svg, "render_svg", drawn)
