"""The compiled kernels, without which trueval works too, and README as it is shown beside the package.

Everything else about the package is in pyproject.toml.
Set TRUEVAL_PURE=1 to leave the kernels out, and so make a wheel that serves every platform.
"""

import os
import re
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup

# The only place that says where the kernels are.
SOURCES = (Path("src/trueval/files/trec/kernel/_scan.c"), Path("src/trueval/standings/kernel/_passing.c"))
KERNELS = [
    Extension(
        ".".join(source.with_suffix("").parts[1:]),
        [source.as_posix()],
        depends=[header.as_posix() for header in sorted(source.parent.glob("*.h"))],
        define_macros=[("Py_LIMITED_API", "0x030B0000")],  # one build serves every Python from 3.11 on
        py_limited_api=True,
        extra_compile_args=[] if os.name == "nt" else ["-O3", "-std=c11"],
        optional=True,  # without a compiler the package installs, reads files with polars alone and counts with NumPy
    )
    for source in SOURCES
]


def readme() -> str:
    """README with whole addresses: those relative to the repository lead nowhere from an index of packages."""
    home = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\])\((?!https?:)([^)#]+)\)", rf"\1({home}/raw/main/\2)", text)
    return re.sub(r"(?<!!)(\[[^]]*\])\((?!https?:|#)([^)]+)\)", rf"\1({home}/blob/main/\2)", text)


SHOWN = {"long_description": readme(), "long_description_content_type": "text/markdown"}

# A Python without a global lock has no limited interface, and nobody has tried the kernels there.
if os.environ.get("TRUEVAL_PURE") == "1" or sysconfig.get_config_var("Py_GIL_DISABLED"):
    setup(**SHOWN)
else:
    setup(ext_modules=KERNELS, options={"bdist_wheel": {"py_limited_api": "cp311"}}, **SHOWN)
