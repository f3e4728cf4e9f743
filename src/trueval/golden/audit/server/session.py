"""A session of an audit: draw or resume the sample, import answers, export items, serve the page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueval.errors import InputError
from trueval.golden.audit.sampling.sample_drawing import SampleChoices, open_audit
from trueval.golden.audit.store.audit_items import Progress
from trueval.golden.audit.store.audit_manifest import AuditManifest, is_audit
from trueval.golden.audit.store.audit_store import AuditStore
from trueval.golden.audit.store.exchange import PEOPLE, ImportedAnswers, export_items, import_answers, sync_people

if TYPE_CHECKING:
    from trueval.collection import Tell


@dataclass(frozen=True)
class SessionTasks:
    """Tasks of a session once the sample exists; none by default.

    Attributes:
        take: file of answers to import, and the name of their rater.
        give: file of items to write.
        serve: whether to serve the page until Ctrl-C.
    """

    take: tuple[Path, str] | None = None
    give: Path | None = None
    serve: bool = False
    port: int | None = None


class Session(NamedTuple):
    """The outcome of a session.

    Attributes:
        taken: result of the import; None without one.
        items: number of items written to a file; None without one.
        progress: progress of each task, if the page was served.
        design: design of the sample.
    """

    folder: Path
    taken: ImportedAnswers | None
    items: int | None
    progress: tuple[Progress, ...]
    design: str = "documents"

    def sentences(self, give: Path | None) -> list[str]:
        """One line per action.

        Args:
            give: file of exported items.
        """
        told = [] if self.taken is None else [self.taken.sentence()]
        if self.items is not None:
            told.append(f"wrote {self.items:,} items to {give}.")
            told.append(f"what people said so far is in {self.folder / PEOPLE}.")
        return [*told, *(each.sentence() for each in self.progress)]


def audit(
    place: Path,
    folder: Path,
    choices: SampleChoices,
    wanted: SessionTasks,
    *,
    drawn: Callable[[AuditManifest], object] | None = None,
    ready: Callable[[str], object] = print,
    tell: Tell = None,
) -> Session:
    """Draw or resume an audit, and run the requested tasks; the call behind `trueval golden audit`.

    Args:
        place: a golden set, or a file of judgments.
        folder: folder of the audit, created if absent.
        wanted: tasks to run once the sample exists.
        drawn: called with the sample before the tasks.
        ready: called with the address of the page.

    Raises:
        InputError: as in `open_audit`, `import_answers` and `serve`; or answers come to an audit that is not there.
        PolicyError: as in `open_audit`.
    """
    if wanted.take is not None and not is_audit(folder):
        raise InputError(
            f"{folder}: there is no audit that could take answers. Draw it first with trueval golden audit, or name "
            "its folder with --out."
        )
    sample = open_audit(place, folder, choices, tell=tell)
    if drawn is not None:
        drawn(sample)
    with AuditStore.open(folder) as store, sync_people(store):
        taken = None if wanted.take is None else import_answers(store, *wanted.take)
        items = None if wanted.give is None else export_items(store, wanted.give)
        if not wanted.serve:
            return Session(folder, taken, items, (), sample.design)
        from trueval.golden.audit.server.server import serve

        with suppress(KeyboardInterrupt):  # also before the server itself listens to it
            serve(store, port=wanted.port, ready=ready)
        return Session(folder, taken, items, store.progress(), sample.design)
