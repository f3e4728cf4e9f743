"""Ragas itself, with a judge on this machine: its faithfulness of a log is ours, and ours has an interval."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before it is imported: tests send nothing
pytest.importorskip("ragas", reason="ragas is not installed: make integrations")
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import Faithfulness
from tests.integrations.answer_judge import judge_server, rows, write_log

from trueval.answers.evaluate_answers import answer_scores, evaluate_answers

pytestmark = pytest.mark.filterwarnings("ignore")  # of its libraries
QUESTIONS = 30


def test_its_faithfulness_of_a_log_is_ours_and_ours_has_an_interval(tmp_path: Path) -> None:
    log, table = write_log(tmp_path, QUESTIONS)

    async def theirs(url: str) -> list[float]:
        metric = Faithfulness(llm=llm_factory("judge", client=AsyncOpenAI(base_url=url, api_key="none")))
        return [float((await metric.ascore(**row)).value) for row in rows(QUESTIONS)]

    with judge_server() as url:
        values = asyncio.run(theirs(url))
    assert answer_scores(log, table, ["faithfulness"]).expected[:, 0] == pytest.approx(values)
    found = evaluate_answers(log, table, ["faithfulness"])["faithfulness"]
    assert found.value == pytest.approx(np.mean(values))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert np.std(values) > 0
