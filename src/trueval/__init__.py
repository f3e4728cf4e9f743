"""trueval evaluates ranked lists and RAG contexts exactly under ties."""

import logging as _logging
from importlib import import_module
from typing import TYPE_CHECKING

from trueval.version import __version__

__all__ = [
    "AuditSample",
    "Collection",
    "Estimate",
    "Judgments",
    "MaxDrop",
    "MaxRange",
    "Measure",
    "MinQueries",
    "Minimum",
    "NoiseSettings",
    "Policy",
    "Router",
    "RouterChoice",
    "Run",
    "ScorerRequest",
    "Scores",
    "__version__",
    "audit_pipeline",
    "audit_precision",
    "brittle_answers",
    "budget",
    "budget_answers",
    "build_golden",
    "check_drift",
    "compare",
    "compare_answers",
    "convention",
    "correct",
    "cuts",
    "errors",
    "evaluate",
    "evaluate_answers",
    "evaluate_arrays",
    "explain",
    "frontier",
    "gate",
    "generate_answers",
    "judge_answers",
    "leaderboard",
    "make_nuggets",
    "next_labels",
    "parse",
    "power",
    "power_answers",
    "precision_bound",
    "precision_codes",
    "probe_join",
    "probe_names",
    "probe_noise",
    "published",
    "registry",
    "repair",
    "retrieve",
    "retrieve_live",
    "self_test",
    "stress_answers",
    "sweep",
]

_logging.getLogger(__name__).addHandler(_logging.NullHandler())  # a library prints nothing that it logs

if TYPE_CHECKING:
    from trueval import errors
    from trueval.answers.evaluate_answers import compare_answers, evaluate_answers, power_answers
    from trueval.answers.generation.answers_budget import budget_answers
    from trueval.answers.generation.brittle_answers import brittle_answers
    from trueval.answers.generation.generate_answers import generate_answers
    from trueval.answers.judge_answers import judge_answers
    from trueval.answers.make_nuggets import make_nuggets
    from trueval.answers.validation.answer_stress import stress_answers
    from trueval.collection import Collection
    from trueval.comparison.budget.doubt_budget import budget
    from trueval.comparison.compare import compare
    from trueval.comparison.gate.gate import gate
    from trueval.comparison.gate.published_means import published
    from trueval.comparison.gate.self_test import self_test
    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.comparison.labels.correct import correct
    from trueval.comparison.leaderboard.board import leaderboard
    from trueval.comparison.limits import MaxDrop, MaxRange, Minimum, MinQueries
    from trueval.comparison.power.power_analysis import power
    from trueval.evaluation.arrays import evaluate_arrays
    from trueval.evaluation.estimate import Estimate
    from trueval.evaluation.evaluate import evaluate
    from trueval.evaluation.explanation import explain
    from trueval.evaluation.scores import Scores
    from trueval.golden.audit.sampling.next_labels import next_labels
    from trueval.golden.build.build_golden import build_golden
    from trueval.judgments import Judgments
    from trueval.measures import Measure, parse, registry
    from trueval.policy.conventions import convention
    from trueval.policy.policy import Policy
    from trueval.precision.audit_pipeline import audit_pipeline
    from trueval.precision.audit_precision import audit_precision
    from trueval.precision.bound import precision_bound
    from trueval.precision.stored_codes import precision_codes
    from trueval.probes.noise_settings import NoiseSettings
    from trueval.probes.probe import probe_join, probe_names, probe_noise
    from trueval.probes.scorer_request import ScorerRequest
    from trueval.retrieval.cuts.cuts import cuts
    from trueval.retrieval.live.live import retrieve_live
    from trueval.retrieval.pipeline.router import Router
    from trueval.retrieval.repair.doubtful_documents import repair
    from trueval.retrieval.retrieve import retrieve
    from trueval.run import Run
    from trueval.tradeoff.frontier.frontier import frontier
    from trueval.tradeoff.route.certificate import RouterChoice
    from trueval.tradeoff.route.drift import check_drift
    from trueval.tradeoff.runner.sweep import sweep

# Module of each public name. A name is imported on first access (PEP 562), so that `import trueval` loads nothing
# unused.
_HOMES = {
    "AuditSample": "trueval.comparison.labels.audit_sample",
    "Collection": "trueval.collection",
    "Estimate": "trueval.evaluation.estimate",
    "Judgments": "trueval.judgments",
    "MaxDrop": "trueval.comparison.limits",
    "MaxRange": "trueval.comparison.limits",
    "Measure": "trueval.measures",
    "MinQueries": "trueval.comparison.limits",
    "Minimum": "trueval.comparison.limits",
    "NoiseSettings": "trueval.probes.noise_settings",
    "Policy": "trueval.policy.policy",
    "Router": "trueval.retrieval.pipeline.router",
    "RouterChoice": "trueval.tradeoff.route.certificate",
    "Run": "trueval.run",
    "ScorerRequest": "trueval.probes.scorer_request",
    "Scores": "trueval.evaluation.scores",
    "audit_pipeline": "trueval.precision.audit_pipeline",
    "audit_precision": "trueval.precision.audit_precision",
    "brittle_answers": "trueval.answers.generation.brittle_answers",
    "budget": "trueval.comparison.budget.doubt_budget",
    "budget_answers": "trueval.answers.generation.answers_budget",
    "build_golden": "trueval.golden.build.build_golden",
    "check_drift": "trueval.tradeoff.route.drift",
    "compare": "trueval.comparison.compare",
    "compare_answers": "trueval.answers.evaluate_answers",
    "convention": "trueval.policy.conventions",
    "correct": "trueval.comparison.labels.correct",
    "cuts": "trueval.retrieval.cuts.cuts",
    "evaluate": "trueval.evaluation.evaluate",
    "evaluate_answers": "trueval.answers.evaluate_answers",
    "evaluate_arrays": "trueval.evaluation.arrays",
    "explain": "trueval.evaluation.explanation",
    "frontier": "trueval.tradeoff.frontier.frontier",
    "gate": "trueval.comparison.gate.gate",
    "generate_answers": "trueval.answers.generation.generate_answers",
    "judge_answers": "trueval.answers.judge_answers",
    "leaderboard": "trueval.comparison.leaderboard.board",
    "make_nuggets": "trueval.answers.make_nuggets",
    "next_labels": "trueval.golden.audit.sampling.next_labels",
    "parse": "trueval.measures",
    "power": "trueval.comparison.power.power_analysis",
    "power_answers": "trueval.answers.evaluate_answers",
    "precision_bound": "trueval.precision.bound",
    "precision_codes": "trueval.precision.stored_codes",
    "probe_join": "trueval.probes.probe",
    "probe_names": "trueval.probes.probe",
    "probe_noise": "trueval.probes.probe",
    "published": "trueval.comparison.gate.published_means",
    "registry": "trueval.measures",
    "repair": "trueval.retrieval.repair.doubtful_documents",
    "retrieve": "trueval.retrieval.retrieve",
    "retrieve_live": "trueval.retrieval.live.live",
    "self_test": "trueval.comparison.gate.self_test",
    "stress_answers": "trueval.answers.validation.answer_stress",
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
    return sorted(__all__)
