"""What a policy changes before anything is measured."""

import trueval as tv


def test_grades_that_are_cut_to_whole_numbers_are_those_of_the_numbers() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    cut = tv.evaluate(run, {"q": {"a": 0.9, "b": 1.9, "c": 2.0}}, "nDCG RR DCG@3", float_grades="truncate")
    whole = tv.evaluate(run, {"q": {"a": 0, "b": 1, "c": 2}}, "nDCG RR DCG@3")
    kept = tv.evaluate(run, {"q": {"a": 0.9, "b": 1.9, "c": 2.0}}, "nDCG RR DCG@3")
    assert cut.expected.tolist() == whole.expected.tolist() != kept.expected.tolist()


def test_a_seed_may_be_below_zero() -> None:
    run = {f"q{query}": {"a": 1.0, "b": 1.0} for query in range(20)}
    judgments = {query: {"a": 1} for query in run}
    below, above = (tv.evaluate(run, judgments, "P@1", tie_order="random", seed=seed) for seed in (-1, 1))
    assert below.tie_broken.tolist() != above.tie_broken.tolist()
