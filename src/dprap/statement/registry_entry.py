"""An entry for OpenDP's Deployments Registry: a description of one deployment, at the third tier.

Fields and their words follow the registry's own schema; tests/statement keeps the part of it that
this entry uses.
"""

from __future__ import annotations

import re
from typing import Any

from dprap.accounting.measurement import Measurement
from dprap.errors import SettingsError
from dprap.release import Release
from dprap.statement.about import About
from dprap.statement.plain_words import unit


def registry_entry(release: Release, about: About) -> dict[str, Any]:
    """The entry as plain data.

    Raises:
        SettingsError: If the steward has not stated something that the registry requires.

    """
    if about.missing:
        raise SettingsError(
            f"the registry requires what is not stated: {', '.join(about.missing)}."
        )
    curator = {"data_curator_name": about.curator, "data_curator_type": about.curator_type}
    basic: dict[str, Any] = {
        "name": about.title,
        "data_curators": [curator],
        "description": (
            release.schema.description
            or f"A differentially private release about {release.rows:,} records in {len(release.schema.columns)} columns."
        ),
        "intended_use": about.intended_use,
        "data_product_type": "Summary statistics" if release.relaxed is None else "Synthetic data",
        "data_product_region": about.region,
        "publication_date": release.facts.created[:10],
    }
    if about.sector is not None:
        basic["data_product_sector"] = about.sector
    deployment: dict[str, Any] = {
        "basic": basic,
        "dp_variant": _variant(release),
        "privacy_loss": _privacy_loss(release),
        "deployment_model": _model(),
        "implementation": _implementation(release),
        "administrative": _administrative(about),
    }
    return {
        "url_slug": _slug(f"{about.title} {about.curator} {release.facts.created[:4]}"),
        "deployment": deployment,
    }


def _variant(release: Release) -> dict[str, Any]:
    sizes = (
        f"{len(release.schema.columns)} columns with {release.schema.domain.onehot_size:,} codes"
        " in all"
    )
    unprotected = "The schema: names of columns, categories and bounds."
    if release.rows_are_public:
        unprotected += " The number of records."
    if release.public is not None:
        unprotected += " A public table that the fit started from."
    return {
        "variant_name": "Approximate DP",
        "data_domain": f"All tables of the published schema ({sizes}).",
        "unprotected_quantities": unprotected,
    }


def _privacy_loss(release: Release) -> dict[str, Any]:
    privacy = release.privacy
    change = "replacing" if privacy.relation == "replace" else "adding or removing"
    person = privacy.max_rows_per_person > 1
    found: dict[str, Any] = {
        "privacy_unit": "Person" if person else "Record",
        "privacy_unit_details": f"Adjacent tables differ by {change} {unit(release)}.",
        "privacy_parameters": {
            "epsilon": privacy.epsilon,
            "delta": privacy.delta,
            "rho": privacy.rho_planned,
        },
        "privacy_parameters_details": f"The guarantee holds {privacy.reason()}.",
    }
    if not person:
        found["number_of_privacy_units"] = release.rows
    return found


def _model() -> dict[str, Any]:
    return {
        "model_name": "Central",
        "trust_assumptions": (
            "Whoever runs the software sees the private table. Everybody else may see all of the "
            "release and know anything else about the data."
        ),
        "release_type": "One release",
        "release_type_details": "A ledger adds up the budgets of all releases of the same data.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _implementation(release: Release) -> dict[str, Any]:
    whole = sum(isinstance(item, Measurement) for item in release.measurements)
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Values become codes by the declared schema, each record by itself. Settings are fixed"
            " before the run. Whether the private table was explored before is not known to the"
            " software."
        ),
        "mechanisms": (
            f"Discrete Gaussian noise on the counts of {whole:,} marginals; the exponential"
            f" mechanism chooses them. Implemented by dprap {release.facts.version} (method"
            f" {release.facts.method}) with OpenDP. Private arithmetic is on integers, randomness"
            " is from the operating system."
        ),
        "composition": (
            "Adaptive composition of zero-concentrated differential privacy, on an append-only"
            " ledger."
        ),
        "post_processing": (
            "A relaxed data set is fitted to the noisy counts, and a synthetic table is drawn"
            " from it."
            if release.relaxed is not None
            else "Noisy counts are made consistent."
        ),
        "utility": release.accuracy or "No bound on the errors was published.",
    }


def _administrative(about: About) -> dict[str, Any]:
    found: dict[str, Any] = {"status": "Draft", "registry_authors": [about.author], "tier": 3}
    if about.url is not None:
        source = {"title": about.title, "url": about.url}
        found["evidence_sources"] = {
            "dataset": {
                "evidence_source_type": "Formal publication by the deploying organization",
                "misc": source,
            }
        }
    return found


def _slug(text: str) -> str:
    """Lower-case words with hyphens.

    >>> _slug("Register of Employees, 2026")
    'register-of-employees-2026'
    """
    return "-".join(re.findall(r"[a-z0-9]+", text.lower())) or "release"
