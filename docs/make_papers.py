"""Writes docs/evidence/notes/papers.md: what the tables of P-A and P-B say when they are recomputed.

The numbers are the papers' as printed, with their tables named; all others are computed from them here.
Run it with: python docs/make_papers.py
"""
# ruff: noqa: E501 (lines of the page)

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from trueval.precision import published_table
from trueval.precision.published_table import BGE, GTE, QWEN

PAGE: Final = Path(__file__).parent / "evidence" / "notes" / "papers.md"
MARK: Final = "<!-- below: written by hand, held by tests/tradeoff/test_paper.py -->"


class PrecisionRow(NamedTuple):
    """A row of P-A Table 1, in percent.

    Attributes:
        data: measure and data set.
        model: name.
        float32: M under float32, where expected and tie-oblivious values are the same.
        bf16_oblivious, bf16_expected, bf16_range: M_obl, E[M] and M_max - M_min under bfloat16.
        hps_expected, hps_range: E[M] and M_max - M_min under bfloat16 with high-precision scoring.
    """

    data: str
    model: str
    float32: float
    bf16_oblivious: float
    bf16_expected: float
    bf16_range: float
    hps_expected: float
    hps_range: float

    @property
    def errors(self) -> tuple[float, float]:
        """Distance of the expected value from float32, without and with high-precision scoring."""
        return abs(self.bf16_expected - self.float32), abs(self.hps_expected - self.float32)


NDCG, MRR, MAP = "nDCG@10, MIRACLReranking", "MRR@10, MIRACLReranking", "MAP@3, AskUbuntuDupQuestions"
DATA: Final = {"nDCG@10": NDCG, "RR@10": MRR, "AP@3": MAP}
SIGMOID: Final = (BGE, GTE)
TABLE_1: Final = [
    PrecisionRow(DATA[row.measure], row.model, row.float32, *row.low[:3], *row.high[1:3])
    for row in published_table.TABLE_1
]
# P-B Table 12: language, size of the model, cosine at noise levels 0, 2 and 4.
TABLE_12: Final = [
    ("French", "large", 0.818, 0.653, 0.522),
    ("French", "small", 0.936, 0.757, 0.559),
    ("English", "large", 0.828, 0.749, 0.593),
    ("English", "small", 0.908, 0.806, 0.634),
]
# P-B Tables 4.1 and 4.2: ablations of "light formatting", change of the name margin in percent: English by OpenAI and
# Voyage, French by OpenAI and Voyage.
LIGHT: Final = {
    "strip_diacritics": (-0.0, 0.0, 2.3, -1.5),
    "initials_form": (-11.0, -8.5, -10.7, -18.0),
    "name_order_inversion": (-3.6, -3.2, 5.0, -8.5),
    "case_punct_perturb": (-3.0, -7.4, -3.4, -12.6),
    "unicode_normalization_stress": (-6.9, -15.1, -7.9, 1.7),
}
COLUMNS: Final = ("English, OpenAI", "English, Voyage", "French, OpenAI", "French, Voyage")
# P-B Table 2 (voyage-3.5, 1024d): N-Recall4+@10 of dense search and with rerank-2.5; Table 15: its median ms at K = 50.
# P-B Table 1, the same: median ms of search and of embedding the query.
DENSE, RERANKED, RERANK_MS = 0.592, 0.835, 332.9
SEARCH_MS, EMBED_MS = 47.6, 138.8


def precision_section() -> list[str]:
    """P-A Table 1."""
    rows = sorted(TABLE_1, key=lambda row: row.errors[0] - row.errors[1])
    farther = [row for row in rows if row.errors[1] > row.errors[0]]
    ratios = {(row.data, row.model): row.bf16_range / row.hps_range for row in TABLE_1 if row.model in SIGMOID}
    gte = [ratios[data, GTE] for data in (NDCG, MRR, MAP)]
    bge = [ratios[data, BGE] for data in (NDCG, MRR, MAP)]
    means = [sum(row.errors[which] for row in TABLE_1) / len(TABLE_1) for which in (0, 1)]
    return [
        "## P-A: high-precision scoring",
        "",
        "P-A (Yang et al. 2025, arXiv 2508.03306) Table 1 compares float32 with bfloat16, and with bfloat16 whose final scores are computed",
        "in float32 (high-precision scoring, HPS). Values are in percent.",
        "",
        f"**HPS removes ties; it does not bring the expected value nearer to float32.** In {len(farther)} of {len(TABLE_1)} rows E[M]",
        "with HPS is farther from float32 than E[M] without:",
        "",
        "| measure, data | model | float32 | E[M] bfloat16 | E[M] with HPS | distance without | with |",
        "|---|---|---:|---:|---:|---:|---:|",
        *(
            f"| {row.data} | {row.model} | {row.float32:.2f} | {row.bf16_expected:.2f} | {row.hps_expected:.2f} "
            f"| {row.errors[0]:.2f} | {row.errors[1]:.2f} |"
            for row in farther
        ),
        "",
        f"The mean distance over all {len(TABLE_1)} rows falls from {means[0]:.2f} to {means[1]:.2f}, because of the softmax reranker alone:",
        f"without {QWEN} it is {_mean(0):.2f} and {_mean(1):.2f}. What HPS takes away is the range.",
        "",
        f'**"Sigmoid model ranges drop roughly an order of magnitude"** (§3.2): by {_times(bge)} for {BGE}, and by {_times(gte)} for',
        f"{GTE} (nDCG@10, MRR@10, MAP@3).",
        "",
    ]


def _mean(which: int) -> float:
    others = [row.errors[which] for row in TABLE_1 if row.model != QWEN]
    return sum(others) / len(others)


def _times(ratios: list[float]) -> str:
    return f"{ratios[0]:.1f}, {ratios[1]:.1f} and {ratios[2]:.1f} times"


def noise_section() -> list[str]:
    """P-B Tables 12 and 4.1 and 4.2, and what the text says of them."""
    lines = [
        "## P-B: names and noise",
        "",
        "P-B (Dallaire 2025, arXiv 2511.09545), Tables 12, 4.1 and 4.2.",
        "",
        '**"Conversational noise lowers cosine by 20-40 %" (§4.4)**: at level 4, and in French. At level 2, in English, by half of that:',
        "",
        "| language, model | level 0 | level 2 | level 4 | lost at 2 | lost at 4 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for language, size, clean, two, four in TABLE_12:
        lost = (100 * (1 - value / clean) for value in (two, four))
        lines.append(
            f"| {language}, {size} | {clean:.3f} | {two:.3f} | {four:.3f} | "
            + " | ".join(f"{x:.1f} %" for x in lost)
            + " |"
        )
    stable, relative = [], []
    for language in ("French", "English"):
        large, small = (row[2] - row[4] for row in TABLE_12 if row[0] == language)
        stable.append((language, 100 * (1 - large / small)))
        large, small = (1 - row[4] / row[2] for row in TABLE_12 if row[0] == language)
        relative.append((language, 100 * (1 - large / small)))
    apart = [
        (name, where, value)
        for name, values in LIGHT.items()
        for where, value in zip(COLUMNS, values, strict=True)
        if abs(value) > 12
    ]
    most = max(apart, key=lambda row: abs(row[2]))
    told = "; ".join(f"`{name}` {value:+.1f} % ({where})" for name, where, value in apart)
    return [
        *lines,
        "",
        '**"Larger models are 20-25 % more stable" (§4.4)**: of the drops from level 0 to 4, '
        + ", ".join(f"{value:.1f} % in {language}" for language, value in stable)
        + ".",
        "As shares of the clean cosine (last column), "
        + ", ".join(f"{value:.1f} % in {language}" for language, value in relative)
        + ".",
        "",
        f'**"Light formatting is largely benign, at most 12 %" (§4.3)**: up to {abs(most[2]):.1f} %. Above 12 %: {told}.',
        "",
        "## P-B: what the text says beside the tables",
        "",
        f'- **"At comparable latency budgets" (§2.3.1)**: N-Recall4+@10 rises from {DENSE} to {RERANKED} by a reranker whose median alone is',
        f"  {RERANK_MS:.0f} ms (Table 15, K = 50), where search and the embedding of the query are {SEARCH_MS + EMBED_MS:.0f} ms (Table 1): "
        f"{(SEARCH_MS + EMBED_MS + RERANK_MS) / (SEARCH_MS + EMBED_MS):.1f} times as long.",
        "- **n of the latencies**: 50 queries in §5.4, a subsample of 15 queries in appendix A.7, which §5.4 names as its source.",
        '- **The sensitivity grid** of α, cap4 and cap3: §2.4 says that "Appendix A reports" it. The appendices A.1 to A.8 have leaderboard, margins,',
        "  ratios, noise, tokens, latencies, reranker metrics and ceilings, and no grid. `trueval evaluate ... --sensitivity` makes it for your runs.",
        "- No interval is printed anywhere: of differences of a few thousandths over 50 queries it cannot be said whether they are any.",
        "",
    ]


def page() -> str:
    """The part of the page that is made, with its heading."""
    head = [
        "# What the papers' tables say when recomputed",
        "",
        "We build on two papers, and recompute what they print. All of the first three sections is written by `docs/make_papers.py` from the tables",
        "as printed; a claim in bold is the paper's.",
        "",
    ]
    return "\n".join([*head, *precision_section(), *noise_section(), MARK, ""])


def main() -> None:
    """Write the made part of the page anew."""
    kept = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page() + kept[kept.index("\n## P-B: costs, latencies and indexes") :], encoding="utf-8")


if __name__ == "__main__":
    main()
