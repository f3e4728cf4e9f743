"""How cost grows with the lines of a run, over three decades, with work of other kinds, and what it costs to start.

Run `python benchmarks/growth.py` to measure lines and starts, `--work` for the other kinds (support/growing.py), three
sizes each, `--work frontier compare` for some of them; `--keep` also keeps the figures in benchmarks/growth.json and
draws docs/images/growth.svg from them; `--draw` only draws. Every size runs in processes of its own, reading and
evaluating timed and imports not, and the fastest run counts, for other work on the machine can only add; of the other
kinds, work that takes long is not repeated. Starting is timed as whole processes.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from evaluator import measure_apart
from support import growing
from support.apart import machine
from support.generated import DOCUMENTS, generate_files

QUERIES = (7, 22, 70, 220, 700, 2200, 6980)
RUNS = 3
LONG = 2.0  # seconds of work that is not repeated
KEPT = Path(__file__).with_name("growth.json")
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "growth.svg"
STARTS = {
    "python": ["-c", "pass"],
    "import numpy, polars": ["-c", "import numpy, polars"],
    "import trueval": ["-c", "import trueval"],
    "import trueval, all of evaluate": ["-c", "import trueval; trueval.evaluate, trueval.Run, trueval.Judgments"],
    "trueval --help": ["-m", "trueval", "--help"],
}


def measure_growth(most: int) -> list[dict[str, float]]:
    """Time and peak memory of reading and evaluating runs of growing size, up to so many queries."""
    rows = []
    for queries in (each for each in QUERIES if each <= most):
        with tempfile.TemporaryDirectory() as name:
            generate_files(Path(name), queries)
            found = [measure_apart("files: trueval", Path(name)) for _ in range(RUNS)]
            size = (Path(name) / "run.trec").stat().st_size
        row = {
            "lines": queries * DOCUMENTS,
            "megabytes": round(size / 1e6, 1),
            "seconds": round(min(one.seconds for one in found), 4),
            "mebibytes": round(min(one.mebibytes for one in found)),
        }
        rows.append(row)
        per_line = row["seconds"] / row["lines"] * 1e9
        print(
            f"{row['lines']:>9,} lines {row['megabytes']:>6.1f} MB {row['seconds']:>8.3f} s {row['mebibytes']:>6} MiB"
            f"   {per_line:>7.0f} ns a line",
            flush=True,
        )
    return rows


def measure_starts(runs: int = 7) -> dict[str, float]:
    """Fastest of a few whole processes each."""
    found = {}
    for name, arguments in STARTS.items():
        seconds = []
        for _ in range(runs):
            begin = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - begin)
        found[name] = round(min(seconds), 3)
        print(f"{name:<34} {found[name]:.3f} s", flush=True)
    return found


def measure_work(names: list[str], sizes: int = 3) -> list[dict[str, object]]:
    """Seconds of processors and peak memory of each kind of work, and the power of its size with which seconds grow."""
    found: list[dict[str, object]] = []
    print(f"| work | {'sizes':>30} | {'seconds of processors':>24} | {'MiB':>18} | power | before |")
    for name in names:
        case = growing.CASES[name]
        rows = [{"size": size, **_fastest(name, size)} for size in case.sizes[:sizes]]
        seconds = [row["seconds"] for row in rows]
        power = math.nan
        if len(rows) > 1:  # of the larger sizes: in the smallest the cost of a call is a larger part
            power = math.log(seconds[-1] / seconds[-2]) / math.log(rows[-1]["size"] / rows[-2]["size"])
        found.append({"work": name, "unit": case.unit, "rows": rows, "power": round(power, 2), "before": case.before})
        shown = (" ".join(f"{row[key]:,}" for row in rows) for key in ("size", "seconds", "mebibytes"))
        over = " over" if power > case.most + 0.1 else ""
        print(
            "| {} ({}) | {} | {} | {} |".format(name, case.unit, *shown),
            f"{power:.2f}{over} | {case.before} |",
            flush=True,
        )
    return found


def _fastest(name: str, size: int) -> dict[str, float]:
    """The fastest of a few processes that do some work; of work that takes long, the first."""
    command, found = [sys.executable, growing.__file__, name, str(size)], list[dict[str, float]]()
    while len(found) < RUNS and sum(each["seconds"] for each in found) < LONG:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return min(found, key=lambda each: each["seconds"])


def exponent(rows: list[dict[str, float]]) -> float:
    """The power of the lines with which time grows, above the cost of the smallest run; 1 is linear."""
    lines = np.array([row["lines"] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    above = lines >= 70_000
    return float(np.polyfit(np.log(lines[above]), np.log(seconds[above] - seconds[0]), 1)[0])


def draw(kept: dict[str, object]) -> None:
    """Draw time and memory against lines, both axes logarithmic; the same figures give the same file."""
    import altair as alt
    import vl_convert

    rows = kept["growth"]
    last = rows[-1]["seconds"] / rows[-1]["lines"]
    data = [{**row, "proportional": last * row["lines"]} for row in rows]
    lines = alt.X(
        "lines:Q", title="lines of the run", scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=5, format="~s")
    )
    base = alt.Chart(alt.Data(values=data)).encode(x=lines)

    def panel(chart: alt.LayerChart | alt.Chart, title: str) -> alt.LayerChart | alt.Chart:
        return chart.properties(width=300, height=220, title=title)

    def curve(field: str, title: str, **scale: object) -> alt.Chart:
        y = alt.Y(
            f"{field}:Q", title=title, scale=alt.Scale(type="log", **scale), axis=alt.Axis(tickCount=4, format="~g")
        )
        return base.mark_line(point=True, color="#1f5fa8").encode(y=y)

    straight = base.mark_line(strokeDash=[4, 3], color="#888888").encode(y="proportional:Q")
    told = base.mark_text(align="left", dx=6, dy=12, color="#666666").encode(
        y="proportional:Q", text=alt.value("proportional to lines")
    )
    told = told.transform_filter(f"datum.lines == {rows[len(rows) // 2]['lines']}")
    time_panel = panel(alt.layer(straight, curve("seconds", "seconds, reading and 12 measures"), told), "Time")
    memory = panel(curve("mebibytes", "MiB, whole process", domain=[30, 3000]), "Peak memory")
    spec = alt.hconcat(time_panel, memory).to_dict()
    spec["config"] = {"view": {"stroke": None}, "axis": {"gridColor": "#dddddd", "domain": False}}
    IMAGE.parent.mkdir(exist_ok=True)
    IMAGE.write_text(vl_convert.vegalite_to_svg(spec) + "\n", newline="\n")
    print(f"docs/images/{IMAGE.name}")


def main() -> None:
    """Measure, keep and draw as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the figures, and draw them")
    parser.add_argument("--draw", action="store_true", help="only draw the kept figures")
    parser.add_argument("--work", nargs="*", choices=list(growing.CASES), help="measure these kinds of work; all alone")
    parser.add_argument("--sizes", type=int, default=3, choices=(1, 2, 3), help="of each kind of work, smallest first")
    parser.add_argument(
        "--queries", type=int, default=QUERIES[-1], help="only runs of so many queries or fewer, from 220 on"
    )
    options = parser.parse_args()
    if options.keep and options.queries != QUERIES[-1]:
        parser.error("--keep keeps the figures of all sizes. Leave --queries out.")
    if options.work is not None:
        print(place := machine())
        found = measure_work(options.work or list(growing.CASES), options.sizes)
        if options.keep:
            kept = json.loads(KEPT.read_text())
            by_name = {each["work"]: each for each in [*kept.get("work", []), *found]}
            rows = [by_name[name] for name in growing.CASES if name in by_name]
            KEPT.write_text(json.dumps(kept | {"work machine": place, "work": rows}, indent=1) + "\n")
        return
    if not options.draw:
        place = machine()
        print(place)
        kept = json.loads(KEPT.read_text()) | {"machine": place, "starts": measure_starts()}
        kept["growth"] = measure_growth(options.queries)
        print(f"time grows with the lines to the power {exponent(kept['growth']):.2f}")
        if options.keep:
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    if options.draw or options.keep:
        draw(json.loads(KEPT.read_text()))


if __name__ == "__main__":
    main()
