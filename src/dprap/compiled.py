"""Programs compiled by JAX, without the part of XLA that crashes.

XLA hands sums and matrix products of a CPU program to YNNPACK. With jaxlib 0.10.2 programs that
have two cell tables of 500 rows or more then write through a null pointer, and the process dies. So
that part is left out everywhere. Steps of `rap` on ADULT take a third longer without it.

JAX is imported when a program is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

_OPTIONS = {"xla_cpu_experimental_ynn_fusion_type": ""}

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Compiled(Generic[Given, Found]):
    """A function that JAX compiles, once for each shape of its arguments.

    >>> import jax.numpy as jnp
    >>> doubled = Compiled(lambda x: 2 * x)
    >>> doubled(jnp.arange(3)).tolist()
    [0, 2, 4]
    """

    def __init__(
        self, function: Callable[Given, Found], static_argnums: int | tuple[int, ...] = ()
    ) -> None:
        self._function, self._static = function, static_argnums
        update_wrapper(self, function)

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        """Compile the function, if that was not done for such arguments, and call it."""
        return cast("Found", self.program(*args, **kwargs))

    @cached_property
    def program(self) -> Any:
        """What JAX makes of the function."""
        import jax

        return jax.jit(
            self._function, static_argnums=self._static, compiler_options=_known_options()
        )


def compiled(
    *static_argnums: int,
) -> Callable[[Callable[Given, Found]], Compiled[Given, Found]]:
    """Compile the decorated function anew for each value of these arguments."""
    return lambda function: Compiled(function, static_argnums)


@cache
def _known_options() -> dict[str, str] | None:
    """The options, or None if this version of JAX does not know them."""
    import jax

    try:
        jax.jit(lambda number: number, compiler_options=_OPTIONS).lower(0).compile()
    except Exception:
        return None
    return _OPTIONS
