"""`Synthesizer`: the Python interface for those used to `fit` and `sample`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dprap.api import synthesize
from dprap.errors import NotFittedError
from dprap.release.release import TableFormat
from dprap.runs.options import RunOptions
from dprap.runs.progress_bar import ShownProgress
from dprap.runs.python_messages import worded_for_python
from dprap.runs.signatures import takes_run_options
from dprap.schema import Schema

# The same log as that of a run.
_log = logging.getLogger("dprap")


class Synthesizer:
    """`fit` and `sample`, for those who know scikit-learn and SDV.

    The constructor stores its arguments and refuses names that it does not know; values are checked
    when `fit` is called. `get_params`, `set_params` and `sklearn.clone` work as for any estimator.

    >>> from dprap.datasets import example, example_schema
    >>> model = Synthesizer(example_schema(), epsilon=1.0, kway=1, method="independent")
    >>> len(model.fit(example(500, seed=1)).sample(7))
    7
    >>> model.set_params(epsilon=2.0).get_params()["epsilon"]
    2.0
    """

    @takes_run_options
    def __init__(  # noqa: D417
        self,
        schema: Schema | str | Path | Mapping[str, Any],
        *,
        epsilon: float,
        progress: ShownProgress = None,
        **options: Any,
    ) -> None:
        """Store what a fit needs.

        Args:
            schema: What is publicly known of the table.
            **options: The options of a run.
            progress: True or False for a bar or none, or a function called with every step.

        """
        with worded_for_python():
            RunOptions.check_names(options)
        self._params: dict[str, Any] = {
            "schema": schema,
            "epsilon": epsilon,
            "progress": progress,
            **options,
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - nothing is nested
        """What the constructor was given.

        Args:
            deep: Ignored: nothing is nested. scikit-learn hands it over.

        Returns:
            The parameters by name.

        """
        return dict(self._params)

    def set_params(self, **params: Any) -> Synthesizer:
        """Change what the constructor was given.

        Args:
            **params: New values by name; the others stay.

        Returns:
            The synthesizer itself.

        Raises:
            SettingsError: If a name is unknown.

        """
        with worded_for_python():
            RunOptions.check_names(
                {name: None for name in params if name not in ("schema", "progress")}
            )
        self._params.update(params)
        return self

    def fit(self, table: Any, y: object = None) -> Synthesizer:  # noqa: ARG002 - scikit-learn hands a target over
        """Spend the budget on a table; `release_` holds the result.

        A second fit spends the budget again, and says so before it does.

        Args:
            table: The private table, as `synthesize` takes it.
            y: Ignored. scikit-learn hands a target over.

        Returns:
            The synthesizer itself.

        Raises:
            DprapError: If the table, the schema or an option is refused.

        """
        options = {
            name: value
            for name, value in self._params.items()
            if name not in ("schema", "progress")
        }
        with worded_for_python():
            checked = RunOptions.of(**options)
        if hasattr(self, "release_"):
            _log.warning(
                "this Synthesizer was fitted before: fitting it again spends ε = %g again, and on"
                " the same people the two add up. To draw more rows from the first fit, use"
                " sample.",
                checked.epsilon,
            )
        self.release_ = synthesize(
            table, self._params["schema"], progress=self._params["progress"], **options
        )
        return self

    def sample(
        self,
        num_rows: int | None = None,
        *,
        format: TableFormat = "pandas",  # noqa: A002
        seed: int | None = None,
    ) -> Any:
        """A synthetic table of so many rows, or as many as there were records; costs nothing.

        Args:
            num_rows: How many rows it has.
            format: pandas, polars or arrow.
            seed: The seed of public randomness; the run's, unless given.

        Returns:
            The table.

        Raises:
            NotFittedError: If `fit` was not called.
            SettingsError: If the method gives answers alone, or the number of rows makes no sense.

        """
        return self.release_.table(num_rows, format=format, seed=seed)

    def __getattr__(self, name: str) -> Any:
        """What the constructor was given, by name, as for any estimator."""
        if name == "release_":
            raise NotFittedError(
                "this Synthesizer is not fitted yet. Call fit with a table before sample."
            )
        if name in self.__dict__.get("_params", {}):
            return self._params[name]
        raise AttributeError(f"'Synthesizer' object has no attribute {name!r}")

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={value!r}" for name, value in self._params.items() if name != "schema"
        )
        return f"Synthesizer(<schema>, {given})"
