"""The part of the schema of OpenDP's Deployments Registry that an entry of dprap uses: names, kinds
and words.
"""

from __future__ import annotations

from typing import Any


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def _one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


REGISTRY_SCHEMA = _object(
    ["url_slug", "deployment"],
    url_slug=TEXT,
    deployment=_object(
        ["basic", "administrative"],
        basic=_object(
            [
                "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
                "publication_date",
            ],
            name=TEXT,
            data_curators={
                "type": "array",
                "minItems": 1,
                "items": _object(
                    ["data_curator_name", "data_curator_type"],
                    data_curator_name=TEXT,
                    data_curator_type=_one_of("Government", "Industry", "Nonprofit"),
                ),
            },
            description=TEXT,
            intended_use=TEXT,
            data_product_type=_one_of(
                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API",
                "SQL queries",
            ),
            data_product_region=TEXT,
            data_product_sector=_one_of("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
            publication_date={"type": "string", "format": "date"},
        ),
        dp_variant=_object(
            [],
            variant_name=_one_of("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=_object(
            [],
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            number_of_privacy_units={"type": "integer"},
            privacy_parameters=_object([], epsilon=NUMBER, delta=NUMBER, rho=NUMBER),
            privacy_parameters_details=TEXT,
        ),
        deployment_model=_object(
            [],
            model_name=_one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
            trust_assumptions=TEXT,
            release_type=_one_of("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=_one_of("Static", "Dynamic"),
            access_type=_one_of("Interactive", "Non-interactive"),
        ),
        implementation=_object(
            [],
            preprocessing_and_hyperparameter_tuning=TEXT,
            mechanisms=TEXT,
            composition=TEXT,
            post_processing=TEXT,
            utility=TEXT,
        ),
        administrative=_object(
            ["status", "registry_authors", "tier"],
            evidence_sources={
                "type": "object",
                "additionalProperties": _object(
                    [],
                    evidence_source_type=_one_of(
                        "Peer-reviewed publication", "Formal publication by the deploying organization",
                        "Authorized organizational attestation", "Other public source",
                    ),
                    misc=_object([], title=TEXT, url=TEXT),
                ),
            },
            status=_one_of("Converted", "Draft", "Pending", "Changes Required", "Approved"),
            registry_authors={"type": "array", "items": TEXT, "minItems": 1},
            tier={"type": "integer", "enum": [1, 2, 3]},
        ),
    ),
)  # fmt: skip
