"""The page of gullibility: the rate at which each kind of adversarial passage was graded relevant, and every one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from trueval.golden.views.gullibility import describe_findings, legend
from trueval.report.number_texts import NOT_AVAILABLE, format_value, percent
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Table, Words, row_of
from trueval.report.plots import TieInterval, dot_plot
from trueval.report.result_directory import Directory, ResultFile, pointer

KEY: Final = (("bar", "interval"), ("dot", "share graded relevant"))


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one result.

    Args:
        file: the result.
        directory: unused.
    """
    dots = [
        TieInterval(each["kind"], share["value"], share["low"], share["high"])
        for each in file.data["kinds"]
        if (share := each["share"])["value"] is not None
    ]
    about = "Share of each kind of passage that was graded relevant, with its interval; clean is the control."
    figures = (Figure("gullibility-shares", "Graded relevant", about, dot_plot(dots), key=KEY),) if dots else ()
    title = f"How easily {file.data['judge']} is fooled"
    blocks = (
        Block("gullibility", title, figures=figures, tables=(_kinds(file), *_companions(file))),
        Block("gullibility-all", "Every passage", tables=(_passage_table(file),), place="details"),
    )
    return Part(verdict=_verdict(file), summary=tuple((line,) for line in describe_findings(file.data)), blocks=blocks)


def _verdict(file: ResultFile) -> Words:
    found = file.data["kinds"]
    fooled = [at for at, each in enumerate(found) if each["fooled"]]
    if not fooled and any(each["companions"] and each["companions"]["raised_by_it"] for each in found):
        return (next(iter(describe_findings(file.data))),)
    if not fooled:
        return (f"{file.data['judge']} was not seen to be fooled, over {file.data['queries']:,} queries.",)
    worst = max(fooled, key=lambda at: found[at]["share"]["value"])
    share = found[worst]["share"]["value"]
    return (
        f"{file.data['judge']} is fooled by {len(fooled)} of {len(found) - 1} kinds of passages, most by "
        f"{found[worst]['kind']}: ",
        Number(percent(share), share, file.source("kinds", str(worst), "share", "value")),
        " of them are graded relevant.",
    )


def _kinds(file: ResultFile) -> Table:
    columns = (
        PageColumn("passage", "/kind"),
        PageColumn("what it is", "/about"),
        _number("graded", "/graded", ","),
        _number("relevant", "/relevant", ","),
        PageColumn("share", "/share/value", numeric=True, show=format_value, strong=lambda _: True),
        PageColumn("low", "/share/low", numeric=True, show=format_value),
        PageColumn("high", "/share/high", numeric=True, show=format_value),
        _number("mean grade", "/mean", ".2f"),
        _number("lifted", "/lifted", ","),
        _number("lowered", "/lowered", ","),
        _number("p", "/p_holm", ".3g"),
        PageColumn("fooled", "/fooled", show=lambda value: "yes" if value else "no", strong=bool),
    )
    rows = tuple(row_of(pointer("kinds", at), columns, each) for at, each in enumerate(file.data["kinds"]))
    caption = f"Grade {file.data['relevant']} or higher is relevant; lifted and lowered are against the clean passage."
    return Table("gullibility-kinds", (caption,), file.name, columns, rows, notes=tuple(legend(file.data)))


def _companions(file: ResultFile) -> Iterator[Table]:
    if file.data["passages"] == 1:
        return
    columns = (
        PageColumn("beside", "/kind"),
        _number("graded", "/companions/graded", ","),
        _number("mean grade", "/companions/mean", ".2f"),
        _number("by", "/companions/by", "+.2f"),
        _number("lifted", "/companions/lifted", ","),
        _number("lowered", "/companions/lowered", ","),
        _number("p", "/companions/p_holm", ".3g"),
        PageColumn("raised", "/companions/raised_by_it", show=lambda value: "yes" if value else "no", strong=bool),
    )
    rows = tuple(row_of(pointer("kinds", at), columns, each) for at, each in enumerate(file.data["kinds"]))
    caption = "What is shown in one call with each kind of passage, against the same beside the clean passage."
    yield Table("gullibility-companions", (caption,), file.name, columns, rows)


def _passage_table(file: ResultFile) -> Table:
    columns = (
        PageColumn("query", "/query"),
        PageColumn("passage", "/trap"),
        _number("grade", "/grade", "d"),
        _number("clean", "/clean", "d"),
        PageColumn("beside"),
        PageColumn("made of", "/document"),
        _number("characters", "/characters", ","),
        PageColumn("reason", "/reason"),
        PageColumn("call"),
    )
    rows = tuple(
        row_of(pointer("traps", at), columns, each, _grades(each["companions"]), each["call"][:8])
        for at, each in enumerate(file.data["traps"])
    )
    return Table("gullibility-traps", ("Every passage, and the grades.",), file.name, columns, rows, folded=True)


def _number(title: str, field: str, form: str) -> PageColumn:
    def show(value: Any) -> str:
        return NOT_AVAILABLE if value is None else format(value, form)

    return PageColumn(title, field, numeric=True, show=show)


def _grades(given: list[int | None]) -> str:
    return ", ".join(NOT_AVAILABLE if each is None else str(each) for each in given)
