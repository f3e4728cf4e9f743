"""Simulate ways to refine a top 20, on pools with a known true order and judges of a known error model.

It shows what each costs in calls, how many of the true best it returns, and how true its own claims are.

Example: python -m research.simulate --worlds usual,noisy --methods paper,posterior --pools 20
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from research.ranking_methods import METHODS, USUAL_METHODS
from research.refinement_trials import POOLS, PORTION, simulate
from research.simulation_results import FORMAT_VERSION, KIND
from research.synthetic_pools import WORLDS
from trueval.cli.options import in_list
from trueval.cli.output import check_folder, save, show
from trueval.cli.progress import progress
from trueval.errors import TruevalError
from trueval.report.kinds import Kind, files_of, forms_of
from trueval.threads import Processes

# No entry point names it: `trueval report` does not know it, and there is no page.
SIMULATE: Final = Kind(
    KIND, format=FORMAT_VERSION, order=60, text=forms_of("research.simulation_tables"), files=files_of("simulate")
)


def options() -> ArgumentParser:
    """The options of the command."""
    parser = ArgumentParser(
        prog="python -m research.simulate", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--worlds",
        metavar="LIST",
        default="usual",
        help=f"kinds of pools and judges, separated by commas: {', '.join(WORLDS)}; or all (default: usual)",
    )
    left_out = ", ".join(name for name in METHODS if name not in USUAL_METHODS)
    parser.add_argument(
        "--methods",
        metavar="LIST",
        default=",".join(USUAL_METHODS),
        help=f"ways to rank: {', '.join(METHODS)}; posterior-built goes to the stop of trueval golden build (default: "
        f"all but {left_out})",
    )
    parser.add_argument("--pools", metavar="N", type=int, default=POOLS, help=f"of each world (default: {POOLS})")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of everything random (default: 0)")
    parser.add_argument(
        "--processes", metavar="N", type=int, help="they change only the time (default: one for each processor)"
    )
    names = ", ".join(SIMULATE.files)
    parser.add_argument("--out", metavar="DIR", type=Path, help=f"write the result there too: {names}")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command: print the table, and write the files of `--out`.

    Args:
        arguments: of the command line; those of the process if None.

    Raises:
        SystemExit: with status 2, an option or a name in it is not known.
    """
    parser = options()
    asked = parser.parse_args(arguments)
    try:
        _run(asked)
    except TruevalError as error:
        parser.error(str(error))


def _run(asked: Namespace) -> None:
    if asked.out is not None:
        check_folder(asked.out)
    worlds = list(WORLDS) if asked.worlds == "all" else in_list(asked.worlds)
    steps = len(worlds) * -(-asked.pools // PORTION)
    with Processes(asked.processes) as executor, progress(steps, verb="simulating") as begin:
        found = simulate(
            worlds, in_list(asked.methods), pools=asked.pools, seed=asked.seed, executor=executor, begin=begin
        )
    result = found.to_dict()
    if asked.out is not None:
        save(asked.out, (SIMULATE, result))
    show(SIMULATE, result, "table")


if __name__ == "__main__":
    main()
