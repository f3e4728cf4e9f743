"""What a policy changes before anything is measured."""

import trueval as tv


def test_grades_that_are_cut_to_whole_numbers_are_those_of_the_numbers() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    cut = tv.evaluate(run, {"q": {"a": 0.9, "b": 1.9, "c": 2.0}}, "nDCG RR DCG@3", float_grades="truncate")
    whole = tv.evaluate(run, {"q": {"a": 0, "b": 1, "c": 2}}, "nDCG RR DCG@3")
    kept = tv.evaluate(run, {"q": {"a": 0.9, "b": 1.9, "c": 2.0}}, "nDCG RR DCG@3")
    assert cut.expected.tolist() == whole.expected.tolist() != kept.expected.tolist()
