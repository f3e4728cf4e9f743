"""The compiled kernel, without which trueval works too; everything else about the package stands in pyproject.toml."""

import os
import sysconfig

from setuptools import Extension, setup

KERNEL = Extension(
    "trueval.files.trec.kernel._scan",
    ["src/trueval/files/trec/kernel/_scan.c"],
    depends=[f"src/trueval/files/trec/kernel/_{part}.h" for part in ("columns", "decimals", "fields")],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],  # one build serves every Python from 3.11 on
    py_limited_api=True,
    extra_compile_args=[] if os.name == "nt" else ["-O3", "-std=c11"],
    optional=True,  # without a compiler the package installs, and reads files with polars alone
)

# A Python without a global lock has no limited interface, and nobody has tried the kernel there.
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    setup()
else:
    setup(ext_modules=[KERNEL], options={"bdist_wheel": {"py_limited_api": "cp311"}})
