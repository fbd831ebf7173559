"""Name the cache that a path below a home belongs to, by a table of where programs of the ROCm world keep theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A cache: the paths below the home that are its own, what moves it elsewhere, and the source of both."""

    name: str
    pattern: str
    variable: str
    source: str


_MIOPEN = "https://rocm.docs.amd.com/projects/MIOpen/en/latest"
# The first that matches counts: what is more particular stands first.
CACHES = (
    Cache(name="MIOpen lock files", pattern=r"(.*/)?miopen-lockfiles(/|$)", variable="MIOPEN_USER_DB_PATH",
          source="https://github.com/ROCm/rocm-libraries/pull/1612"),
    Cache(name="MIOpen kernel cache", pattern=r"\.cache/miopen(/|$)|.*\.ukdb(-wal|-shm|-journal|\.lock)?$",
          variable="MIOPEN_CUSTOM_CACHE_DIR", source=f"{_MIOPEN}/cache.html"),
    Cache(name="MIOpen user database", pattern=r"\.config/miopen(/|$)|.*\.(udb|u[fp]db\.txt)([.-][a-z]+)?$",
          variable="MIOPEN_USER_DB_PATH", source=f"{_MIOPEN}/conceptual/perfdb.html"),
    Cache(name="Triton cache", pattern=r"\.triton(/|$)", variable="TRITON_CACHE_DIR",
          source="https://github.com/triton-lang/triton/blob/main/python/triton/knobs.py"),
    Cache(name="inductor cache", pattern=r"(.*/)?torchinductor(_[^/]*)?(/|$)|\.cache/torch/inductor(/|$)",
          variable="TORCHINDUCTOR_CACHE_DIR",
          source="https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html"),
    Cache(name="comgr cache", pattern=r"\.cache/comgr(/|$)", variable="AMD_COMGR_CACHE_DIR",
          source="https://github.com/ROCm/llvm-project/blob/amd-staging/amd/comgr/README.md"),
    Cache(name="torch extensions", pattern=r"\.cache/torch_extensions(/|$)", variable="TORCH_EXTENSIONS_DIR",
          source="https://docs.pytorch.org/docs/stable/cpp_extension.html"),
    Cache(name="torch cache", pattern=r"\.cache/torch(/|$)", variable="TORCH_HOME",
          source="https://docs.pytorch.org/docs/stable/hub.html"),
    Cache(name="Hugging Face cache", pattern=r"\.cache/huggingface(/|$)", variable="HF_HOME",
          source="https://github.com/huggingface/huggingface_hub/blob/main/docs/source/en/package_reference/environment_variables.md"),
    Cache(name="pip cache", pattern=r"\.cache/pip(/|$)", variable="PIP_CACHE_DIR",
          source="https://github.com/pypa/pip/blob/main/docs/html/topics/caching.md"),
    Cache(name="Matplotlib cache", pattern=r"\.(cache|config)/matplotlib(/|$)", variable="MPLCONFIGDIR",
          source="https://matplotlib.org/stable/install/environment_variables_faq.html"),
    Cache(name="all caches below ~/.cache", pattern=r"\.cache$", variable="XDG_CACHE_HOME",
          source="https://specifications.freedesktop.org/basedir-spec/latest/"),
    Cache(name="all settings below ~/.config", pattern=r"\.config$", variable="XDG_CONFIG_HOME",
          source="https://specifications.freedesktop.org/basedir-spec/latest/"),
)  # fmt: skip
_COMPILED = tuple((re.compile(cache.pattern), cache) for cache in CACHES)


def cache_of(path: str) -> Cache | None:
    """Return the cache that ``path``, relative to the home, belongs to."""
    return next((cache for pattern, cache in _COMPILED if pattern.match(path)), None)
