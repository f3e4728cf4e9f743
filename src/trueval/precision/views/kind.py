"""The kinds of results that `trueval precision` gives."""

from trueval.report.kinds import kind_of_view

PRECISION = kind_of_view(
    "precision",
    "trueval.precision.audit_result:PrecisionAudit",
    "trueval.precision.views.audit:view",
    format=2,
    order=13,
    stem="precision",
)
BOUND = kind_of_view(
    "precision-bound",
    "trueval.precision.bound_result:PrecisionBound",
    "trueval.precision.views.bound:view",
    format=1,
    order=14,
    stem="precision-bound",
)
GRID = kind_of_view(
    "precision-grid",
    "trueval.precision.grid_result:GridReport",
    "trueval.precision.views.grid:view",
    format=1,
    order=12,
    stem="precision-grid",
)
REPAIR = kind_of_view(
    "precision-repair",
    "trueval.precision.repair_result:PrecisionRepair",
    "trueval.precision.views.repair:view",
    format=1,
    order=15,
    stem="precision-repair",
)
BATCHES = kind_of_view(
    "precision-batches",
    "trueval.precision.batch_result:BatchEffects",
    "trueval.precision.views.batches:view",
    format=1,
    order=16,
    stem="precision-batches",
)
REPRODUCTION = kind_of_view(
    "precision-table",
    "trueval.precision.reproduction_result:TableReproduction",
    "trueval.precision.views.reproduction:view",
    format=1,
    order=18,
    stem="precision-table",
)
CODES = kind_of_view(
    "precision-codes",
    "trueval.precision.codes_result:CodesReport",
    "trueval.precision.views.codes:view",
    format=1,
    order=17,
    stem="precision-codes",
)
STAGES = kind_of_view(
    "precision-stages",
    "trueval.precision.stages_result:PipelineAudit",
    "trueval.precision.views.stages:view",
    format=1,
    order=19,
    stem="precision-stages",
)
