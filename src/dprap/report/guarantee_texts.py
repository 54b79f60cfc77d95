"""The guarantee in plain words, in several languages.

Every text says the same and no more: one record (or all records of one person) is changed, any
conclusion is then at most e^ε times as likely and at least 1/e^ε times as likely, but for a chance
of δ. Where ε is so large that this says little, the texts say so. What the change is depends on the
neighbour relation. A translation that is easier to read but says "anonymous" or "nothing can be
learned" would be wrong.

What each translation must say, and the tests look for in it:

- of *any* table and *any* conclusion, not of this table or of a typical attack;
- what changes: one record, or *all* records of one person with their largest number; replaced by
  *any* others, or added *or* taken out;
- the *same* conclusion, *at most* as many times as often as the factor says, and *at least* its
  inverse;
- the chance is that of the whole promise (*in all*), not of each conclusion;
- "not much", which holds up to the limit below, and neither "nothing" nor "safe";
- of beliefs: what somebody *can at most* become, δ left aside.

Numbers are rounded so that they stay true: the factor, the beliefs and the chance up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dprap.accounting.budget import largest_belief, percent_rounded_up
from dprap.errors import SettingsError
from dprap.release.certified import rounded_up
from dprap.release.privacy_statement import PrivacyStatement


@dataclass(frozen=True)
class GuaranteeTexts:
    """The words of one language.

    `one_record` and `one_person` stand for what is protected, `replaced` and `added` for the change
    that makes neighbours; each of the four combinations is a whole clause, because languages
    inflect.
    """

    code: str
    name: str
    title: str
    one_record_replaced: str
    one_record_added: str
    one_person_replaced: str
    one_person_added: str
    sentence: str
    conclusion: str
    weak_conclusion: str
    prior: str
    posterior: str
    caption: str
    one_in: str
    decimal: str
    thousands: str


LANGUAGES: Mapping[str, GuaranteeTexts] = {
    "en": GuaranteeTexts(
        code="en",
        name="English",
        title="In plain words",
        one_record_replaced="If one record were replaced by anything else",
        one_record_added="If one record were added or taken out",
        one_person_replaced=(
            "If all records of one person (at most {rows}) were replaced by anything else"
        ),
        one_person_added="If all records of one person (at most {rows}) were added or taken out",
        sentence=(
            "Take any table, and any conclusion that somebody could draw from this release."
            " {change}, the same conclusion would be drawn at most {factor} times as often, and at"
            " least 1/{factor} as often, up to a chance of {chance} in all."
        ),
        conclusion=(
            "So nobody can learn much about one person that could not be learned without that"
            " person's data."
        ),
        weak_conclusion=(
            "With a factor this large, the promise by itself leaves room to learn about one person."
            " The table says how much at most."
        ),
        prior="Somebody who was this sure",
        posterior="can at most become this sure",
        caption="What the release can do to a belief about one person (leaving δ aside)",
        one_in="one in {number}",
        decimal=".",
        thousands=",",
    ),
    "de": GuaranteeTexts(
        code="de",
        name="Deutsch",
        title="In einfachen Worten",
        one_record_replaced="Würde ein Datensatz durch einen beliebigen anderen ersetzt",
        one_record_added="Würde ein Datensatz hinzugefügt oder weggelassen",
        one_person_replaced=(
            "Würden alle Datensätze einer Person (höchstens {rows}) durch beliebige andere ersetzt"
        ),
        one_person_added=(
            "Würden alle Datensätze einer Person (höchstens {rows}) hinzugefügt oder weggelassen"
        ),
        sentence=(
            "Man nehme eine beliebige Tabelle und einen beliebigen Schluss, den jemand aus dieser"
            " Veröffentlichung ziehen könnte. {change}, so würde derselbe Schluss höchstens"
            " {factor}-mal so oft gezogen und mindestens 1/{factor}-mal so oft, bis auf eine"
            " Wahrscheinlichkeit von insgesamt {chance}."
        ),
        conclusion=(
            "Über eine einzelne Person lässt sich daher nicht viel erfahren, was man nicht auch"
            " ohne ihre Daten erfahren könnte."
        ),
        weak_conclusion=(
            "Bei einem so großen Faktor lässt das Versprechen für sich genommen Raum, über eine"
            " einzelne Person etwas zu erfahren. Die Tabelle sagt, wie viel höchstens."
        ),
        prior="Wer sich vorher so sicher war",
        posterior="kann höchstens so sicher werden",
        caption=(
            "Was die Veröffentlichung an einer Vermutung über eine Person ändern kann (δ außer Acht"
            " gelassen)"
        ),
        one_in="1/{number}",
        decimal=",",
        thousands=".",
    ),
    "fr": GuaranteeTexts(
        code="fr",
        name="Français",
        title="En termes simples",
        one_record_replaced="Si un enregistrement était remplacé par n'importe quel autre",
        one_record_added="Si un enregistrement était ajouté ou retiré",
        one_person_replaced=(
            "Si tous les enregistrements d'une personne (au plus {rows}) étaient remplacés par"
            " n'importe quels autres"
        ),
        one_person_added=(
            "Si tous les enregistrements d'une personne (au plus {rows}) étaient ajoutés ou retirés"
        ),
        sentence=(
            "Prenons une table quelconque et une conclusion quelconque que quelqu'un pourrait tirer"
            " de cette publication. {change}, la même conclusion serait tirée au plus {factor} fois"
            " aussi souvent et au moins 1/{factor} fois aussi souvent, à une probabilité totale de"
            " {chance} près."
        ),
        conclusion=(
            "Sur une personne, on ne peut donc pas apprendre grand-chose que l'on n'aurait pas pu"
            " apprendre sans les données de cette personne."
        ),
        weak_conclusion=(
            "Avec un facteur aussi grand, la promesse à elle seule laisse une marge pour apprendre"
            " quelque chose sur une personne. Le tableau dit combien au plus."
        ),
        prior="Quelqu'un qui en était sûr à ce point",
        posterior="peut au plus en devenir sûr à ce point",
        caption=(
            "Ce que la publication peut changer à une supposition sur une personne (abstraction"
            " faite de δ)"
        ),
        one_in="1 sur {number}",
        decimal=",",
        thousands="\u202f",
    ),
    "es": GuaranteeTexts(
        code="es",
        name="Español",
        title="En palabras sencillas",
        one_record_replaced="Si un registro se sustituyera por cualquier otro",
        one_record_added="Si un registro se añadiera o se quitara",
        one_person_replaced=(
            "Si todos los registros de una persona (como máximo {rows}) se sustituyeran por otros"
            " cualesquiera"
        ),
        one_person_added=(
            "Si todos los registros de una persona (como máximo {rows}) se añadieran o se quitaran"
        ),
        sentence=(
            "Tómese una tabla cualquiera y una conclusión cualquiera que alguien pudiera extraer de"
            " esta publicación. {change}, se llegaría a la misma conclusión con una frecuencia"
            " multiplicada como máximo por {factor} y como mínimo por 1/{factor}, salvo una"
            " probabilidad total de {chance}."
        ),
        conclusion=(
            "Por tanto, sobre una persona no se puede averiguar mucho que no se hubiera podido"
            " averiguar sin los datos de esa persona."
        ),
        weak_conclusion=(
            "Con un factor tan grande, la promesa por sí sola deja margen para averiguar algo sobre"
            " una persona. La tabla dice cuánto como máximo."
        ),
        prior="Quien estaba así de seguro",
        posterior="puede llegar como máximo a estar así de seguro",
        caption=(
            "Lo que la publicación puede cambiar en una suposición sobre una persona (dejando δ"
            " aparte)"
        ),
        one_in="1 entre {number}",
        decimal=",",
        thousands=".",
    ),
}

_PRIORS = (0.01, 0.1, 0.5, 0.9)

# Above this, somebody who was a tenth sure of something about a person can become surer of it than
# of its opposite: 0.1·e^ε > 0.9. "Nobody can learn much" would then be untrue.
_LARGEST_STRONG_EPSILON = math.log(9)


def language(code: str) -> GuaranteeTexts:
    """The words of a language by its code.

    Raises:
        SettingsError: If there is no translation.

    >>> language("de").name
    'Deutsch'
    """
    if not isinstance(code, str):
        raise SettingsError(f"a language is its code, such as 'en', not {type(code).__name__}.")
    if code not in LANGUAGES:
        raise SettingsError(
            f"there is no translation into {code!r}. Choose one of: {', '.join(LANGUAGES)}."
        )
    return LANGUAGES[code]


def plain_guarantee(privacy: PrivacyStatement, texts: GuaranteeTexts) -> str:
    """The guarantee in plain words."""
    person = privacy.max_rows_per_person > 1
    changes = {
        (False, "replace"): texts.one_record_replaced,
        (False, "add-remove"): texts.one_record_added,
        (True, "replace"): texts.one_person_replaced,
        (True, "add-remove"): texts.one_person_added,
    }
    change = changes[person, privacy.relation].format(rows=privacy.max_rows_per_person)
    sentence = texts.sentence.format(
        change=change,
        factor=_times(privacy.epsilon, texts),
        chance=_chance(privacy.delta, texts),
    )
    is_strong = privacy.epsilon <= _LARGEST_STRONG_EPSILON
    return f"{sentence} {texts.conclusion if is_strong else texts.weak_conclusion}"


def beliefs(privacy: PrivacyStatement, texts: GuaranteeTexts) -> list[list[str]]:
    """How sure somebody was, and how sure the release can make them at most, rounded up."""
    return [
        [
            _percent(f"{prior * 100:.0f}", texts),
            _percent(percent_rounded_up(largest_belief(prior, privacy.epsilon)), texts),
        ]
        for prior in _PRIORS
    ]


def _localised(number: str, texts: GuaranteeTexts) -> str:
    signs: dict[str, str | int | None] = {",": texts.thousands, ".": texts.decimal}
    return number.translate(str.maketrans(signs))


# Above it e^ε has more digits than anybody reads, and at last more than a float can hold.
_MOST_SPELT_EPSILON = 30


def _times(epsilon: float, texts: GuaranteeTexts) -> str:
    """The factor e^ε, rounded up: what is printed must hold too."""
    if epsilon > _MOST_SPELT_EPSILON:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    factor = math.exp(epsilon)
    digits = 2 if factor < 100 else 0
    return _localised(f"{rounded_up(factor, digits):,.{digits}f}", texts)


def _percent(number: str, texts: GuaranteeTexts) -> str:
    return _localised(number, texts) + ("%" if texts.code == "en" else "\u202f%")


def _chance(delta: float, texts: GuaranteeTexts) -> str:
    """A chance that is not below δ, in one digit where nobody knows the word for its inverse."""
    if delta <= 1e-12:
        power = math.floor(math.log10(delta))
        return _localised(f"{math.ceil(delta / 10.0**power) * 10.0**power:.0e}", texts)
    # 1/n² has no exact float, so that a part in a trillion is no difference.
    number = math.floor(1 / delta * (1 + 1e-12))
    return texts.one_in.format(number=_localised(f"{number:,}", texts))
