"""The precision audit: what a model's number formats do to a result."""

from typing import TYPE_CHECKING

from trueval.lazy import export_lazily

__all__ = [
    "Audit",
    "Regime",
    "audit",
    "check_orders",
    "model_outputs",
    "order_notes",
    "plan",
    "read_logits",
    "scored",
]

if TYPE_CHECKING:
    from trueval.label_order import check_orders, order_notes
    from trueval.precision.audit import Audit, audit
    from trueval.precision.logits import model_outputs, read_logits
    from trueval.precision.regimes import Regime, plan, scored
else:
    export_lazily(
        __name__,
        {
            "Audit": "trueval.precision.audit",
            "Regime": "trueval.precision.regimes",
            "audit": "trueval.precision.audit",
            "check_orders": "trueval.label_order",
            "model_outputs": "trueval.precision.logits",
            "order_notes": "trueval.label_order",
            "plan": "trueval.precision.regimes",
            "read_logits": "trueval.precision.logits",
            "scored": "trueval.precision.regimes",
        },
    )
