"""`python -m research.simulate`: methods of refinement, tried on pools whose true order is known."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from research.ranking_methods import USUAL_METHODS
from research.refinement_trials import PORTION
from research.refinement_trials import simulate as library
from research.simulation_results import FORMAT_VERSION, KIND
from research.synthetic_pools import WORLDS
from trueval.cli.main import as_command
from trueval.cli.options import Form, OutputOptions, in_list, with_groups
from trueval.cli.output import check_folder, save, show
from trueval.cli.progress import progress
from trueval.report.kinds import Kind, files_of, forms_of
from trueval.threads import Processes

SIMULATE = Kind(
    KIND, format=FORMAT_VERSION, order=60, text=forms_of("research.simulation_tables"), files=files_of("simulate")
)


@dataclass(frozen=True)
class SimulateOptions:
    """What is tried."""

    panel: ClassVar = "Simulation"

    worlds: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Kinds of pools and judges, separated by commas: usual, flat, large, noisy, position, biased, long "
            "lists, accidents, bimodal, plateaus, heavy tails, intransitive, contrast, ends, first slot, reversed, "
            "gross, 1 of 20, 2 of 20, 4 of 20; or all.",
        ),
    ] = "usual"
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Ways to rank: grades, paper, paper-15, posterior, posterior-4, posterior-members, posterior-slots, "
            "posterior-built (to the stop of golden build), setwise, pairwise, window, window-3, window-5, tournament, "
            "tournament-5, trueskill. Default: all but posterior-slots and posterior-built.",
        ),
    ] = None
    pools: Annotated[int, typer.Option(metavar="N", min=1, help="How many pools of each world.")] = 100
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of everything random; the same seed gives the same result.")
    ] = 0
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many processes work; they change nothing but the time. Default: one for each processor.",
        ),
    ] = None


@with_groups
def simulate(*, options: SimulateOptions, output: OutputOptions, form: Form = "table") -> None:
    """Tries ways to refine a Top-20 on pools whose true order is known, with judges that err in known ways.

    It shows what each costs in calls, how many of the true best it returns, and how true its own claims are.

    Example: python -m research.simulate --worlds usual,noisy --methods paper,posterior --pools 20
    """
    if output.out is not None:
        check_folder(output.out)
    worlds = list(WORLDS) if options.worlds == "all" else in_list(options.worlds)
    methods = USUAL_METHODS if options.methods is None else in_list(options.methods)
    steps = len(worlds) * -(-options.pools // PORTION)
    with Processes(options.processes) as executor, progress(steps, verb="simulating") as begin:
        found = library(worlds, methods, pools=options.pools, seed=options.seed, executor=executor, begin=begin)
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (SIMULATE, result))
    show(SIMULATE, result, form, percent=output.percent)


if __name__ == "__main__":
    as_command("simulate", simulate)()
