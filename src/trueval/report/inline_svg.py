"""Figures inside the page: the SVG of a chart without redundant elements, a third of its bytes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from trueval.report.figures import FONT, SIZE, Chart, render_svg

# What repeats what a browser does anyway; the whole figure has one description of its own (role="img").
DROPPED = {
    "class": None,
    "role": None,
    "aria-hidden": None,
    "aria-roledescription": None,
    "pointer-events": None,
    "opacity": "1",
    "stroke-width": "1",
    "font-family": FONT,
    "font-size": f"{SIZE}px",
    "transform": "translate(0,0)",
}
NOTHING = "M0,0h0v0h0Z"  # a rectangle without a size, as a brush is that nobody has dragged
DECIMALS = re.compile(r"(\d\.\d)\d+")


def inline(chart: Chart) -> str:
    """A chart as an SVG element for the page.

    Args:
        chart: Altair chart, or a dict.

    Returns:
        The element, without namespaces, since HTML needs none. Colors are names that the page defines; what a mark says
        is its title, which browsers show when a pointer rests on it.
    """
    # The text is what vl-convert made of our own chart: names in it are escaped, and there are no entities to expand.
    root = ET.fromstring(render_svg(chart))  # noqa: S314
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    _clean(root)
    _drop_unused(root)
    width, height = root.attrib["width"], root.attrib["height"]
    root.attrib = {
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "font-family": FONT,
        "font-size": f"{SIZE}px",
        "aria-hidden": "true",  # the figure's own description is read aloud
    }
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)


def _clean(parent: ET.Element) -> None:
    """Remove empty elements and redundant attributes, and unwrap groups without attributes."""
    kept: list[ET.Element] = []
    for child in parent:
        if _shows_nothing(child):
            continue
        _clean(child)
        told = child.attrib.pop("aria-label", "") if child.attrib.get("role") == "graphics-symbol" else ""
        child.attrib = {name: _short(text) for name, text in child.attrib.items() if _says(name, text)}
        if child.tag == "path" and told:
            title = ET.SubElement(child, "title")
            title.text = told
        if child.tag == "g" and not child.attrib:
            kept.extend(child)
        elif child.tag != "g" or len(child):
            kept.append(child)
    parent[:] = kept


def _drop_unused(root: ET.Element) -> None:
    """Remove unused clips: their ids are numbered over all figures of a process, so pages would not be reproducible."""
    if not any("url(#" in text for element in root.iter() for text in element.attrib.values()):
        for unused in root.findall("defs"):
            root.remove(unused)


def _shows_nothing(element: ET.Element) -> bool:
    attributes = element.attrib
    if attributes.get("d") == NOTHING:
        return True
    if element.tag != "path" or attributes.get("class") not in ("background", "foreground"):
        return False
    return "fill" not in attributes and "stroke" not in attributes


def _says(name: str, text: str) -> bool:
    return name != "aria-label" and (name not in DROPPED or DROPPED[name] not in (None, text))


def _short(text: str) -> str:
    # A tenth of a pixel is invisible.
    return DECIMALS.sub(r"\1", text) if len(text) > 4 else text
