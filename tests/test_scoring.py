"""φ in low and high precision, against torch's own kernels, the paper's published lists and plain loops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import trueval
from trueval.errors import InputError, PolicyError
from trueval.numerics import FORMATS, resolution, round_to
from trueval.scoring import maxsim, product, sigmoid, softmax, softmax_similarity

DATA = Path(__file__).parents[2] / "shared" / "data"
LOW = [name for name in FORMATS if name not in ("float64", "float32")]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch, of the extra models, is not installed")


def appendix_b():
    path = DATA / "paper" / "appendix_b.json"
    if not path.exists():
        pytest.skip("../shared/data/paper/appendix_b.json is not here")
    return json.loads(path.read_text())


def union(published, ours):
    """Entries of either list at 8 printed digits: Σ max(count published, count ours)."""
    return sum((Counter(f"{x:.8f}" for x in published) | Counter(f"{x:.8f}" for x in ours)).values())


def paper_logits():
    yes = np.array(appendix_b()["logit_difference_yes_minus_no"])
    return np.stack([np.zeros_like(yes), yes], axis=1).astype(ml_dtypes.bfloat16)


def test_appendix_b_high_precision_list_is_published_value_by_value():
    ours = softmax(paper_logits(), "float32")
    assert [f"{x:.8f}" for x in ours] == [f"{x:.8f}" for x in appendix_b()["hps_float32"]]


def test_appendix_b_bfloat16_list_is_one_rounding_and_not_many():
    published = appendix_b()["bfloat16_published"]
    assert union(published, softmax(paper_logits(), "bfloat16")) == 100
    # Five roundings (difference, two exponentials, sum, quotient) share far less with the published list.
    assert union(published, softmax(paper_logits(), "bfloat16", strict=True)) == 134


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_sigmoid_equals_torch_bit_for_bit_on_every_logit(torch, name):
    dtype = getattr(torch, name)
    logits = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(dtype)
    logits = logits[~torch.isnan(logits)]
    expected = torch.sigmoid(logits).float().numpy()
    assert np.array_equal(sigmoid(logits.float().numpy(), name), expected)
    assert np.array_equal(sigmoid(logits, name).numpy(), expected)
    assert np.array_equal(sigmoid(logits.float(), name).numpy(), expected)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_softmax_equals_torch_bit_for_bit_on_a_dense_set_of_pairs(torch, name):
    """Every pair of bfloat16 logits of 1/16 <= |z| < 16; for float16 as many random pairs."""
    if name == "bfloat16":
        positive = torch.arange(0x3D80, 0x4180, dtype=torch.int16).view(torch.bfloat16)
        grid = torch.cat([positive, -positive])
        pairs = torch.cartesian_prod(grid.float(), grid.float()).to(torch.bfloat16)
    else:
        pairs = (4 * torch.randn(4_000_000, 2, generator=torch.Generator().manual_seed(5))).half()
    expected = torch.softmax(pairs, dim=-1)[:, 1].float().numpy()
    assert np.array_equal(softmax(pairs.float().numpy(), name), expected)
    assert np.array_equal(softmax(pairs, name).numpy(), expected)


def test_softmax_kernels_that_divide_differ_only_next_to_a_midpoint(torch):
    """What the module's docstring says of other kernels."""
    pairs = (4 * torch.randn(1_000_000, 2, generator=torch.Generator().manual_seed(6))).bfloat16()
    other = torch.softmax(pairs.t().contiguous(), dim=0)[1].float().numpy()
    wide = pairs.double().numpy()
    exact = 1 / (1 + np.exp(wide[:, 0] - wide[:, 1]))
    differs = softmax(pairs.float().numpy(), "bfloat16") != other
    assert differs.mean() < 2e-5
    midpoints = (softmax(pairs.float().numpy(), "bfloat16")[differs] + other[differs]) / 2
    assert np.all(np.abs(exact[differs] - midpoints) < 2 * np.spacing(np.float32(exact[differs])))


@pytest.mark.parametrize("name", LOW)
@pytest.mark.parametrize("score", [softmax, sigmoid])
def test_low_is_high_rounded_once(score, name):
    shape = (50_000, 2) if score is softmax else (50_000,)
    logits = np.random.default_rng(2).normal(0, 3, shape).astype(np.float32)
    rounded = round_to(score(logits, "float32"), name)
    low = score(logits, name)
    assert low.dtype == np.float32
    assert np.mean(low != rounded) < 1e-4  # softmax multiplies by 1/Σ in low precision, as torch does
    assert np.abs(low - rounded).max() <= FORMATS[name].spacing(0.75)
    assert len(np.unique(low)) <= resolution(name, -1.0, 2.0).values


def test_high_precision_tells_apart_what_low_precision_ties():
    logits = np.arange(0, 8, 1 / 16, dtype=np.float32)
    assert len(np.unique(sigmoid(logits, "float32"))) == len(logits)
    assert len(np.unique(sigmoid(logits, "bfloat16"))) < len(logits) / 2


def test_high_precision_saturates_where_the_docstring_says():
    assert sigmoid(np.array([16.6, 16.7, -88.7, -88.8]), "float32").tolist()[1::2] == [1.0, 0.0]
    assert 0 < sigmoid(np.array([-88.7]), "float32")[0] < sigmoid(np.array([16.6]), "float32")[0] < 1


def test_strict_rounds_every_step():
    no, yes = np.float32(0.3), np.float32(1.7)
    bf = ml_dtypes.bfloat16
    a, b = (bf(np.exp(np.float32(bf(z - yes)))) for z in (no, yes))
    assert softmax(np.array([[no, yes]]), "bfloat16", strict=True)[0] == np.float32(
        bf(np.float32(b) / np.float32(a + b))
    )
    e = bf(np.exp(-yes))
    expected = bf(1 / np.float32(bf(1 + np.float32(e))))
    assert sigmoid(np.array([yes]), "bfloat16", strict=True)[0] == np.float32(expected)


def embeddings(name="bfloat16", shape=(40, 24), seed=0):
    values = np.random.default_rng(seed).normal(size=shape)
    return (values / np.linalg.norm(values, axis=-1, keepdims=True)).astype(getattr(ml_dtypes, name))


def test_product_is_the_exact_sum_to_float32_accuracy_and_one_rounding_of_it():
    q, d = embeddings(shape=(5, 24)), embeddings(seed=1)
    exact = q.astype(np.float64) @ d.astype(np.float64).T
    high, low = product(q, d, "float32"), product(q, d, "bfloat16")
    assert high.shape == (5, 40)
    assert np.abs(high - exact).max() < 24 * 2.0**-24
    assert np.array_equal(low, round_to(high, "bfloat16"))
    assert np.array_equal(product(q[2], d, "float32"), product(q[2:3], d, "float32")[0])
    assert product(q, d, "float64").dtype == np.float64
    assert np.abs(product(q, d, "float64") - exact).max() < 1e-15


def test_cosine_is_the_product_of_unit_vectors():
    q, d = 3 * embeddings(shape=(5, 24)).astype(np.float32), 7 * embeddings(seed=1).astype(np.float32)
    exact = (q / np.linalg.norm(q, axis=1)[:, None]) @ (d / np.linalg.norm(d, axis=1)[:, None]).T
    assert np.abs(product(q, d, "float32", normalize=True) - exact).max() < 1e-6
    assert product(np.zeros(3, np.float32), np.ones((1, 3), np.float32), "float32", normalize=True).tolist() == [0.0]


def test_strict_product_rounds_every_partial_sum():
    bf = ml_dtypes.bfloat16
    q, d = embeddings(shape=(1, 24)), embeddings(shape=(3, 24), seed=1)
    for column in range(3):
        total = bf(np.float32(q[0, 0]) * np.float32(d[column, 0]))
        for a, b in zip(q[0, 1:], d[column, 1:], strict=True):
            total = bf(np.float32(total) + np.float32(bf(np.float32(a) * np.float32(b))))
        assert product(q, d, "bfloat16", strict=True)[0, column] == np.float32(total)


def test_product_blocks_do_not_change_scores(monkeypatch, torch):
    q, d = embeddings(shape=(5, 24)), embeddings(seed=1)
    whole = product(q, d, "bfloat16")
    monkeypatch.setattr("trueval.scoring._BLOCK", 7)
    assert np.array_equal(product(q, d, "bfloat16"), whole)
    tensors = [torch.from_numpy(x.astype(np.float32)).bfloat16() for x in (q, d)]
    assert np.array_equal(product(*tensors, "bfloat16").numpy(), whole)
    assert product(q, d[:0], "bfloat16").shape == (5, 0)


def test_maxsim_is_the_loop_of_its_formula():
    bf = ml_dtypes.bfloat16
    query = embeddings(shape=(6, 24))
    documents = [embeddings(shape=(n, 24), seed=n) for n in (1, 4, 9)]
    wide = [[[float(np.dot(q.astype(np.float64), t.astype(np.float64))) for t in d] for q in query] for d in documents]
    exact = [sum(max(row) for row in rows) for rows in wide]
    assert np.allclose(maxsim(query, documents, "float32"), exact, rtol=0, atol=1e-6)
    low = [float(bf(np.float32(sum(float(bf(max(row))) for row in rows)))) for rows in wide]
    assert maxsim(query, documents, "bfloat16").tolist() == low
    strict = maxsim(query, documents, "bfloat16", strict=True)
    assert np.abs(strict - low).max() < 0.5
    assert not np.array_equal(strict, low)
    assert maxsim(query, [], "bfloat16").shape == (0,)


@pytest.mark.parametrize("name", ["float32", *LOW])
def test_softmax_similarity_is_its_formula_rounded_once(name):
    """Against float64 from the same vectors: float32 to its accuracy, a low format one rounding of that."""
    rng = np.random.default_rng(3)
    queries, documents = (rng.normal(size=(n, 8)).astype(np.float32) for n in (4, 30))
    queries, documents = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (queries, documents))
    powers = np.exp(20 * (queries.astype(np.float64) @ documents.T.astype(np.float64)))
    expected = powers / powers.sum(axis=1, keepdims=True)
    high = softmax_similarity(queries, documents, "float32")
    np.testing.assert_allclose(high, expected, rtol=2e-5)
    assert high.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-6)
    found = softmax_similarity(queries, documents, name)
    assert np.array_equal(found, round_to(high, name).astype(np.float32))
    one = softmax_similarity(queries[0], documents, name)
    assert one == pytest.approx(found[0], rel=1e-5 if name == "float32" else 0.15, abs=2.0**-17)
    assert np.array_equal(high.argsort(axis=1, kind="stable"), expected.argsort(axis=1, kind="stable"))


def test_softmax_similarity_strict_rounds_every_step():
    query, documents = np.array([1.0, 0.5]), np.array([[0.5, 0.25], [0.25, 0.5], [1.0, 0.0]])

    def r(value):
        return round_to(value, "bfloat16")

    products = np.array([r(r(1.0 * a) + r(0.5 * b)) for a, b in documents])
    powers = r(np.exp(r(r(2.0 * (products - products.max())))))
    total = r(r(powers[0] + powers[1]) + powers[2])
    found = softmax_similarity(query, documents, "bfloat16", scale=2.0, strict=True)
    assert found.tolist() == r(powers / total).tolist()
    with pytest.raises(InputError, match="at least one document"):
        softmax_similarity(query, documents[:0], "bfloat16")


def test_tensors_and_arrays_agree_on_embeddings(torch):
    q, d = (torch.from_numpy(embeddings(seed=s).astype(np.float32)).bfloat16() for s in (0, 1))
    arrays = [x.float().numpy() for x in (q, d)]
    for name in ("float32", "float64", "bfloat16", "float16"):
        got, expected = product(q, d, name), product(*arrays, name)
        assert str(got.dtype) == f"torch.{expected.dtype}"
        assert np.abs(got.numpy() - expected).max() <= FORMATS[name].spacing(0.9)
        late = maxsim(q, [d[:3], d[3:]], name).numpy()
        assert np.allclose(late, maxsim(arrays[0], [arrays[1][:3], arrays[1][3:]], name), rtol=0.01)
    assert (
        np.abs(product(q, d, "float32", normalize=True).numpy() - product(*arrays, "float32", normalize=True)).max()
        < 1e-6
    )


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
def test_softmax_needs_two_logits(shape):
    with pytest.raises(InputError, match="two logits per pair"):
        softmax(np.zeros(shape), "float32")


def test_sigmoid_needs_one_logit():
    assert sigmoid(np.zeros((4, 1)), "float16").tolist() == [0.5] * 4
    with pytest.raises(InputError, match="one logit per pair"):
        sigmoid(np.zeros((4, 2)), "float32")


def test_scores_that_are_not_numbers_are_refused_where_they_are(torch):
    logits = np.array([[0.0, 1.0], [0.0, 2.0], [np.inf, np.inf]])
    for values in (logits, torch.from_numpy(logits), torch.from_numpy(logits).bfloat16()):
        with pytest.raises(InputError, match="softmax score at position 2 is not a number"):
            softmax(values, "bfloat16")
    with pytest.raises(InputError, match=r"product score at position \[1, 0\]"):
        product(np.array([[1.0], [np.nan]]), np.array([[1.0]]), "float32")
    assert sigmoid(np.array([-np.inf, np.inf, -800.0]), "float32").tolist() == [0.0, 1.0, 0.0]


def test_other_bad_input_is_refused(torch):
    big = np.array([[300.0, 300.0]])
    for values in (big, torch.from_numpy(big)):
        with pytest.raises(InputError, match=r"180000\.0 overflows float16"):
            product(values, values, "float16")
    with pytest.raises(InputError, match=r"one dimension.*\(1, 2\) and \(1, 3\)"):
        product(np.zeros((1, 2)), np.zeros((1, 3)), "float32")
    with pytest.raises(InputError, match="Document 1 has none"):
        maxsim(np.zeros((2, 3)), [np.zeros((1, 3)), np.zeros((0, 3))], "float32")
    with pytest.raises(InputError, match="Got list"):
        sigmoid([0.0], "float32")
    with pytest.raises(PolicyError, match="bfloat16"):
        sigmoid(np.zeros(1), "bf16")


def test_tensors_do_not_saturate(torch):
    """torch puts what float8_e4m3fn cannot hold at 448, where it would tie; NumPy refuses it, and so do tensors."""
    query = torch.ones((1, 1))
    assert product(query, torch.tensor([[464.0], [1.0]]), "float8_e4m3fn").tolist() == [[448.0, 1.0]]
    for value in (464.001, -500.0, 7e4):
        with pytest.raises(InputError, match="overflows float8_e4m3fn"):
            product(query, torch.tensor([[value], [1.0]]), "float8_e4m3fn")


def test_scoring_arrays_imports_no_torch():
    code = """import sys, numpy, trueval.scoring
trueval.scoring.sigmoid(numpy.zeros(1), "bfloat16")
print("torch" in sys.modules)"""
    source = str(Path(trueval.__file__).parents[1])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": source})
    assert done.stdout == "False\n"
