"""The compiled kernel, without which trueval works too; everything else about the package stands in pyproject.toml."""

import os
import sysconfig

from setuptools import Extension, setup

# One build serves every Python from 3.11 on, but for those without a global lock, which have no limited API.
limited = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "trueval.files._scan",
            ["src/trueval/files/_scan.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if limited else [],
            py_limited_api=limited,
            extra_compile_args=[] if os.name == "nt" else ["-O3", "-std=c11"],
            optional=True,  # without a compiler the package installs, and reads files with polars alone
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if limited else {},
)
