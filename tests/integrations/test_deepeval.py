"""DeepEval itself, with a judge on this machine: its faithfulness of a log is ours, and ours has an interval."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "true"  # before it is imported: tests send nothing
pytest.importorskip("deepeval", reason="deepeval is not installed: make integrations")
from deepeval.metrics import FaithfulnessMetric
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase
from tests.integrations.answer_judge import judge_server, rows, write_log

from trueval.answers.evaluate_answers import answer_scores, evaluate_answers

pytestmark = pytest.mark.filterwarnings("ignore")  # of its libraries
QUESTIONS = 30


def test_its_faithfulness_of_a_log_is_ours_and_ours_has_an_interval(tmp_path: Path) -> None:
    log, table = write_log(tmp_path, QUESTIONS)
    values = []
    with judge_server() as url:
        for row in rows(QUESTIONS):
            case = LLMTestCase(
                input=row["user_input"], actual_output=row["response"], retrieval_context=row["retrieved_contexts"]
            )
            judge = OpenAIModel(model="gpt-4o", base_url=url, api_key="none")
            metric = FaithfulnessMetric(model=judge, async_mode=False, include_reason=False)
            metric.measure(case, _show_indicator=False)
            values.append(float(metric.score or 0.0))
    assert answer_scores(log, table, ["faithfulness"]).expected[:, 0] == pytest.approx(values)
    found = evaluate_answers(log, table, ["faithfulness"])["faithfulness"]
    assert found.value == pytest.approx(np.mean(values))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
