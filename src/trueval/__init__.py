"""trueval evaluates ranked lists and RAG contexts exactly under ties."""

from typing import TYPE_CHECKING

from trueval.lazy import export_lazily

__version__ = "0.1.0"

__all__ = [
    "Estimate",
    "Judgments",
    "Measure",
    "Policy",
    "Run",
    "Scores",
    "__version__",
    "compare",
    "errors",
    "evaluate",
    "evaluate_arrays",
    "explain",
    "parse",
    "policy",
    "registry",
]

if TYPE_CHECKING:
    from trueval import errors
    from trueval.compare import compare
    from trueval.conventions import policy
    from trueval.evaluate import evaluate, evaluate_arrays
    from trueval.explain import explain
    from trueval.judgments import Judgments
    from trueval.measures import Measure, parse, registry
    from trueval.policies import Policy
    from trueval.run import Run
    from trueval.scores import Estimate, Scores
else:
    export_lazily(
        __name__,
        {
            "Estimate": "trueval.scores",
            "Judgments": "trueval.judgments",
            "Measure": "trueval.measures",
            "Policy": "trueval.policies",
            "Run": "trueval.run",
            "Scores": "trueval.scores",
            "compare": "trueval.compare",
            "errors": "trueval.errors",
            "evaluate": "trueval.evaluate",
            "evaluate_arrays": "trueval.evaluate",
            "explain": "trueval.explain",
            "parse": "trueval.measures",
            "policy": "trueval.conventions",
            "registry": "trueval.measures",
        },
    )
