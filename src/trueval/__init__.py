"""trueval evaluates ranked lists and RAG contexts exactly under ties."""

import logging as _logging
from importlib import import_module
from typing import TYPE_CHECKING

from trueval.version import __version__

__all__ = [
    "AuditSample",
    "Estimate",
    "Judgments",
    "Measure",
    "Policy",
    "Run",
    "Scores",
    "__version__",
    "compare",
    "convention",
    "correct",
    "errors",
    "evaluate",
    "evaluate_arrays",
    "explain",
    "frontier",
    "gate",
    "parse",
    "power",
    "published",
    "registry",
    "self_test",
    "sweep",
]

_logging.getLogger(__name__).addHandler(_logging.NullHandler())  # a library prints nothing that it logs

if TYPE_CHECKING:
    from trueval import errors
    from trueval.comparison.compare import compare
    from trueval.comparison.gate.gate import gate
    from trueval.comparison.gate.published_means import published
    from trueval.comparison.gate.self_test import self_test
    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.comparison.labels.correct import correct
    from trueval.comparison.power.power_analysis import power
    from trueval.evaluation.arrays import evaluate_arrays
    from trueval.evaluation.estimate import Estimate
    from trueval.evaluation.evaluate import evaluate
    from trueval.evaluation.explanation import explain
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure, parse, registry
    from trueval.policy.conventions import convention
    from trueval.policy.policy import Policy
    from trueval.run import Run
    from trueval.tradeoff.frontier.frontier import frontier
    from trueval.tradeoff.runner.sweep import sweep

# Where each name of the public face lives. A name is imported when it is first asked for (PEP 562), so that
# `import trueval` waits for nothing that is not used.
_HOMES = {
    "AuditSample": "trueval.comparison.labels.audit_sample",
    "Estimate": "trueval.evaluation.estimate",
    "Judgments": "trueval.judgments",
    "Measure": "trueval.measures",
    "Policy": "trueval.policy.policy",
    "Run": "trueval.run",
    "Scores": "trueval.evaluation.scores",
    "compare": "trueval.comparison.compare",
    "convention": "trueval.policy.conventions",
    "correct": "trueval.comparison.labels.correct",
    "evaluate": "trueval.evaluation.evaluate",
    "evaluate_arrays": "trueval.evaluation.arrays",
    "explain": "trueval.evaluation.explanation",
    "frontier": "trueval.tradeoff.frontier.frontier",
    "gate": "trueval.comparison.gate.gate",
    "parse": "trueval.measures",
    "power": "trueval.comparison.power.power_analysis",
    "published": "trueval.comparison.gate.published_means",
    "registry": "trueval.measures",
    "self_test": "trueval.comparison.gate.self_test",
    "sweep": "trueval.tradeoff.runner.sweep",
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("trueval.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # the next use finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
