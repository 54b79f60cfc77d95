"""What columns of texts are about: persons, identifiers, free text, postcodes, categories with an
order.

For drafts alone, which are for the steward's eyes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{24,}")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[ ]?[0-9A-Z]{4}(?:[ ]?[0-9A-Z]{2,4}){2,7}")
_DATED = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}.*")
_PHONE = re.compile(r"\+?\(?[0-9][0-9 ()./-]{6,18}[0-9]")
_WORD = re.compile(r"[^\W\d_][\w.'’-]*")
_PERSON = re.compile(r"[^\W\d_][\w.'’-]*(?:,? [^\W\d_][\w.'’()\"-]*){1,4}")

_ID_NAMES = re.compile(
    r"(^|[_\s.-])(id|ids|uuid|guid|key|nr|no|num|number|numero|número|numéro|nummer|номер|ssn|nir|ipp|mrn|iban|account|index|rownum|row|pk)([_\s.-]|$)"
    r"|n°|[a-z]Id$|ID$|^unnamed|^$",
    re.IGNORECASE,
)
_PERSON_NAMES = re.compile(
    r"(^|[_\s.-])(name|names|fullname|first|last|nombre|patient|client|customer|author|owner|contact|имя)([_\s.-]|$)",
    re.IGNORECASE,
)
# Names that persons alone have: their values are left out however few there are.
_FAMILY_NAMES = re.compile(
    r"(^|[_\s.-])(surname|firstname|lastname|first[_\s-]name|last[_\s-]name|given[_\s-]name|family[_\s-]name|maiden[_\s-]name"
    r"|nom|prenom|prénom|prenoms|prénoms|vorname|nachname|familienname|apellido|apellidos|cognome|achternaam|voornaam|sobrenome"
    r"|efternamn|förnamn|nazwisko|imię|imie|фамилия|имя|отчество|фио)([_\s.-]|$)",
    re.IGNORECASE,
)
_POSTCODE_NAMES = re.compile(r"zip|postcode|postal|plz|code_?post|\bcp\b|cap\b", re.IGNORECASE)
_BIRTH_NAMES = re.compile(
    r"birth|\bdob\b|_dob|dob_|\bborn\b|geburt|\bgeb\b|naissance|né\(?e?|nacimiento|nascita|рожд",
    re.IGNORECASE,
)
_ADDRESS_NAMES = re.compile(r"address|street|adresse|strasse|straße|\brue\b", re.IGNORECASE)

_PATTERNS = (
    (_EMAIL, "e-mail addresses"),
    (_URL, "web addresses"),
    (_UUID, "identifiers (UUID or hash)"),
    (_ADDRESS, "addresses of machines"),
    (_IBAN, "numbers of bank accounts"),
)


def identifying(name: str, texts: Mapping[str, int], rows: int) -> str | None:
    """What makes a column of texts name or point to persons; None where nothing does.

    Args:
        name: The column's name.
        texts: Different texts and how often each was seen.
        rows: How many records have a text.

    """
    sample = [text.strip() for text in list(texts)[:2000]]

    def share(pattern: re.Pattern[str]) -> float:
        return sum(1 for text in sample if pattern.fullmatch(text)) / max(1, len(sample))

    many = len(texts) > max(20, rows / 50)
    nearly_all = len(texts) > 0.5 * rows and rows >= 20
    for pattern, what in _PATTERNS:
        if share(pattern) > 0.8:
            return what
    if (
        many
        and share(_PHONE) > 0.9
        and share(_DATED) < 0.5
        and any(not text.strip("+").isdigit() for text in sample)
    ):
        return "telephone numbers"
    if many and _ADDRESS_NAMES.search(name):
        return "postal addresses"
    words = share(_PERSON) + share(_WORD)
    if _FAMILY_NAMES.search(name) and len(texts) > 2 and words > 0.3:
        return "names of persons"
    if len(texts) > 20 and _PERSON_NAMES.search(name) and words > 0.6:
        return "names of persons or things"
    if many and sum(len(text.split()) for text in sample) / max(1, len(sample)) >= 4:
        return "free text"
    if nearly_all and share(_PERSON) > 0.8:
        return "names: nearly every record has its own"
    if nearly_all:
        return "an identifier: nearly every record has its own value"
    if many and _ID_NAMES.search(name) and len(texts) > 0.1 * rows:
        return "an identifier, by its name and its many values"
    return None


def looks_like_id(name: str) -> bool:
    """Whether a column's name says that it holds identifiers."""
    return _ID_NAMES.search(name) is not None


def looks_like_birth(name: str) -> bool:
    """Whether a column's name says that it holds dates of birth."""
    return _BIRTH_NAMES.search(name) is not None


def looks_like_postcode(name: str) -> bool:
    """Whether a column's name says that it holds postcodes."""
    return _POSTCODE_NAMES.search(name) is not None


_ORDERS = (
    ("very low", "low", "medium", "high", "very high"), ("none", "mild", "moderate", "severe", "critical"), ("low", "moderate", "high"),
    ("xs", "s", "m", "l", "xl", "xxl"), ("small", "medium", "large"), ("never", "rarely", "sometimes", "often", "always"),
    ("never", "seldom", "sometimes", "often", "very often", "always"), ("poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"), ("fair", "good", "very good", "premium", "ideal"),
    ("bronze", "silver", "gold", "platinum"), ("lo", "mid", "hi"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"),
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), ("first", "second", "third"),
)  # fmt: skip
# What people say who do not answer: it stands behind the answers.
_NO_ANSWERS = frozenset(
    ("don't know", "don’t know", "do not know", "dk", "refused", "prefer not to say", "no answer", "not applicable", "unknown", "other",
     "weiß nicht", "keine angabe", "ne sait pas", "nsp", "sans réponse", "no sabe", "no contesta")
)  # fmt: skip
# Codes of surveys for the same, which stand among brackets of ages or incomes.
_NO_ANSWER_CODES = re.compile(r"-[1-9]|-?(?:77|88|97|98|99|777|888|997|998|999|9999)")
_BRACKET = re.compile(
    r"(?P<lead>[<>≤≥$€£~]|less than|under|below|up to|at most|over|above|more than|at"
    r" least|age|ages|[\s])*"
    r"(?P<first>[0-9]+(?:[.,][0-9]+)*)(?P<rest>.*)",
    re.IGNORECASE,
)
_BELOW = re.compile(r"\s*(<|≤|less than|under|below|up to|at most)", re.IGNORECASE)


def in_order(values: Sequence[str]) -> tuple[list[str], bool]:
    """The values in the order that they have among people, or by the alphabet; and whether there
    was an order.

    >>> in_order(["agree", "Refused", "disagree"])
    (['disagree', 'agree', 'Refused'], True)
    """
    answers = [value for value in values if value.strip().lower() not in _NO_ANSWERS]
    others = sorted(value for value in values if value not in answers)
    small = {value.strip().lower() for value in answers}
    for order in _ORDERS:
        if len(answers) > 1 and small <= set(order):
            return [
                *sorted(answers, key=lambda value: order.index(value.strip().lower())),
                *others,
            ], True
    codes = [value for value in answers if _NO_ANSWER_CODES.fullmatch(value.strip())]
    answers, others = [value for value in answers if value not in codes], [*others, *codes]
    brackets = [_BRACKET.fullmatch(value) for value in answers]
    if len(answers) > 2 and all(brackets) and any(not value.strip().isdigit() for value in answers):
        starts = [_start(match["first"]) for match in brackets if match]
        is_below = [_BELOW.match(value) is not None for value in answers]
        if len(set(starts)) == len(starts) or any(is_below):
            ordered = sorted(zip(starts, [not below for below in is_below], answers, strict=True))
            return [*(value for _, _, value in ordered), *others], True
    return sorted(values), False


def spelled_alike(values: Sequence[str]) -> list[list[str]]:
    """The values that differ only in capitals and blanks, together.

    >>> spelled_alike(["ok", "WARN", "OK ", "warn", "bad"])
    [['ok', 'OK '], ['WARN', 'warn']]
    """
    by_text: dict[str, list[str]] = {}
    for value in values:
        by_text.setdefault(" ".join(value.split()).casefold(), []).append(value)
    return [found for found in by_text.values() if len(found) > 1]


def _start(text: str) -> float:
    """The number with which a bracket begins, 20,000 and 2.5 alike."""
    plain = re.sub(r"[.,](?=[0-9]{3}(?:[.,]|$))", "", text)
    head, _, tail = plain.replace(",", ".").partition(".")
    return float(f"{head}.{tail.replace('.', '') or '0'}")
