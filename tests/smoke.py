"""An installed trueval works: it reads and evaluates files, and has the kernels or not.

Run it with the Python that has it: python tests/smoke.py compiled (or pure)
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import trueval as tv
from trueval.files.trec.kernel import scan
from trueval.standings.kernel import passing


def main() -> None:
    with TemporaryDirectory() as folder:
        run, judgments = Path(folder, "run.trec"), Path(folder, "qrels.trec")
        run.write_text("1 Q0 a 1 2.5 t\n1 Q0 b 2 2.5 t\n2 Q0 a 1 1 t\n", encoding="utf-8")
        judgments.write_text("1 0 a 0\n1 0 b 1\n2 0 a 1\n", encoding="utf-8")
        scores = tv.evaluate(tv.Run.read(run), tv.Judgments.read(judgments), "RR")
    if scores.expected[:, 0].tolist() != [0.75, 1.0]:  # (1 + 1/2) / 2: a and b are tied
        sys.exit(f"RR is {scores.expected[:, 0].tolist()}, and must be [0.75, 1.0].")
    for kernel in (scan, passing):
        if kernel.is_compiled != (sys.argv[1] == "compiled"):
            sys.exit(f"{kernel.__name__}: is_compiled is {kernel.is_compiled}, but {sys.argv[1]} was built.")
    print(tv.__file__)


if __name__ == "__main__":
    main()
