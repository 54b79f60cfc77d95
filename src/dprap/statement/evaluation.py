"""The release along the layers by which NIST SP 800-226 evaluates a differential privacy guarantee.

The publication (March 2025) orders what a guarantee rests on as a pyramid: the parameters and the
unit of privacy on top, then algorithms and their correctness, utility and bias, and at the bottom
the security and trust that all of it assumes. The questions here are this project's own wording of
those layers; answers come from the release.
"""

from __future__ import annotations

from dataclasses import dataclass

from dprap.accounting.measurement import Measurement
from dprap.release import Release
from dprap.statement.plain_words import unit


@dataclass(frozen=True)
class Answer:
    """A question about a guarantee, and what the release answers."""

    layer: str
    question: str
    answer: str


def answers(release: Release) -> list[Answer]:
    """All questions with their answers, from the top of the pyramid down."""
    privacy = release.privacy
    whole = [item for item in release.measurements if isinstance(item, Measurement)]
    bounded = privacy.relation == "replace"
    return [
        Answer(
            "Privacy parameters",
            "Which definition is met, with which parameters?",
            f"Approximate differential privacy with ε = {privacy.epsilon:g} and δ ="
            f" {privacy.delta:.3g}; {privacy.rho_planned:.6g}-zCDP as well"
            + (f", up to {privacy.discovery_delta:.3g} of δ." if privacy.discovery_delta else "."),
        ),
        Answer(
            "Privacy parameters",
            "Does the guarantee cover every use of the data for this release?",
            "Every figure of the release: selection, measurement and the accuracy certificate are"
            " all charged. Not covered are entries of the schema that were read off the data, and"
            f" whether the run was refused. Of ρ = {privacy.rho_planned:.6g} that was planned, {privacy.rho_spent:.6g} was spent."
            + ("" if privacy.discovery() is None else f" {privacy.discovery()}"),
        ),
        Answer("Unit of privacy", "What is one unit?", f"It is {unit(release)}."),
        Answer(
            "Unit of privacy",
            "Which tables are neighbours?",
            f"{'Bounded: one unit is replaced' if bounded else 'Unbounded: one unit is added or removed'}.",
        ),
        Answer(
            "Unit of privacy",
            "Is the contribution of one person bounded, and by what?",
            (
                "Each person is taken to have one record."
                if privacy.max_rows_per_person == 1
                else (
                    f"Yes: at most {privacy.max_rows_per_person} records of a person are counted,"
                    " by their id."
                )
            ),
        ),
        Answer(
            "Algorithms",
            "Which mechanisms are used?",
            "Discrete Gaussian noise on integer counts; the exponential mechanism for choosing"
            f" what to measure. Method {release.facts.method}, {len(whole):,} marginals measured.",
        ),
        Answer(
            "Algorithms",
            "How are the costs composed?",
            "As zCDP, adaptively, with an append-only ledger. The guarantee holds"
            f" {privacy.reason()}.",
        ),
        Answer(
            "Algorithms",
            "Are domains, bounds and bins independent of the data?",
            "They come from the schema, which is declared public before the run. A drafted schema"
            " is refused until somebody has reviewed it.",
        ),
        Answer(
            "Algorithms",
            "Were settings tuned on the private data?",
            "Settings are fixed before the run. Whether somebody explored the private table before"
            " is not known to the software: whoever publishes the release answers for it.",
        ),
        Answer(
            "Algorithms",
            "Do other releases of the same data add up?",
            "Yes. A ledger beside the private table adds up all runs on it and can hold a cap."
            " Releases made without that ledger are not in its sum.",
        ),
        Answer(
            "Utility and bias",
            "How large is the error?",
            _sentence(release.accuracy) or "No bound was bought.",
        ),
        Answer(
            "Utility and bias",
            "Who may be served worse?",
            "Small groups: noise is the same for all cells, so it is larger in proportion where"
            " there are few records.",
        ),
        Answer(
            "Implementation",
            "Can floating-point arithmetic leak?",
            "Private counts and noise are integers; division happens after the noise. Custom"
            " functions are clipped and put on an integer grid.",
        ),
        Answer(
            "Implementation",
            "Where does the randomness come from?",
            (
                "From the operating system's entropy."
                if privacy.private
                else "From a seed: this release protects nobody."
            ),
        ),
        Answer(
            "Implementation",
            "Are there side channels?",
            "Running time and memory on the private side depend on the data. They are not part of"
            " the release and are not protected from those who can watch the machine.",
        ),
        Answer(
            "Trust and data collection",
            "Which trust model is assumed?",
            "The central model: whoever runs dprap sees the private table, and everybody else may"
            " see all of the release.",
        ),
        Answer(
            "Trust and data collection",
            "How were the data collected, and who has access to them?",
            "The software does not know. Collection, storage, access to the private table and to its"
            " ledger are outside the guarantee: whoever publishes the release answers for them.",
        ),
    ]


def _sentence(words: str | None) -> str | None:
    """Words with a capital and a full stop."""
    return None if words is None else f"{words[0].upper()}{words[1:]}."
