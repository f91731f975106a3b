"""A noise as text: `kind:level`, as in `symmetric:0.4`.

Attribute noise may add its scope, the nodes it touches, as in `within:0.3@train`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from brgcl.errors import InputError, unknown_name

LABEL_NOISE = ("symmetric", "pair", "random", "partner", "similar", "instance")
ATTRIBUTE_NOISE = ("within", "column", "cell", "rows")
EDGE_NOISE = ("add", "remove", "rewire")
SCOPES = ("all", "train")


@dataclass(frozen=True)
class NoiseSpec:
    """One noise, as a value that can be compared, hashed and printed.

    Attributes:
        kind: A name from `LABEL_NOISE`, `ATTRIBUTE_NOISE` or `EDGE_NOISE`.
        level: Share of what is corrupted, in [0, 1).
        scope: `"all"` nodes, or the `"train"` nodes alone (attribute noise only).

    Example:
        >>> print(NoiseSpec("within", 0.3, "train"))
        within:0.3@train
    """

    kind: str
    level: float
    scope: str = "all"

    def __post_init__(self) -> None:
        check_kind("noise", self.kind, LABEL_NOISE + ATTRIBUTE_NOISE + EDGE_NOISE)
        check_level(self.level)
        if self.scope not in SCOPES:
            raise unknown_name("noise scope", self.scope, SCOPES)
        if self.scope != "all" and self.kind not in ATTRIBUTE_NOISE:
            raise _needless_scope(self.kind, self.scope)

    def __str__(self) -> str:
        short = f"{self.level:g}"
        level = short if float(short) == self.level else repr(self.level)
        return f"{self.kind}:{level}" + (f"@{self.scope}" if self.scope != "all" else "")


def parse_noise(text: str | None, kinds: Sequence[str]) -> NoiseSpec | None:
    """Read a noise from text such as `symmetric:0.4` or `within:0.3@train`.

    Args:
        text: The text; `None`, an empty text and `none` mean no noise.
        kinds: The kinds that are allowed here, for instance `LABEL_NOISE`.

    Example:
        >>> parse_noise("symmetric:0.4", LABEL_NOISE)
        NoiseSpec(kind='symmetric', level=0.4, scope='all')
        >>> parse_noise("none", LABEL_NOISE) is None
        True
    """
    written = (text or "").strip()
    if written in ("", "none"):
        return None
    body, at, scope = (part.strip() for part in written.partition("@"))
    kind, _, level = (part.strip() for part in body.partition(":"))
    check_kind("noise", kind, kinds)
    if not level:
        raise InputError(f"noise '{written}' has no level; write e.g. {kind}:0.4")
    if at and kind not in ATTRIBUTE_NOISE:
        raise _needless_scope(kind, scope)
    try:
        number = float(level)
    except ValueError:
        raise InputError(
            f"noise level '{level}' in '{written}' is not a number; write e.g. {kind}:0.4"
        ) from None
    return NoiseSpec(kind, number, scope if at else "all")


def check_kind(what: str, kind: str, kinds: Sequence[str]) -> None:
    """Raise an `InputError` that suggests a name unless `kind` is one of `kinds`."""
    if kind not in kinds:
        raise unknown_name(what, kind, kinds)


def check_level(level: float) -> None:
    """Raise an `InputError` unless `level` is in [0, 1)."""
    if not 0 <= level < 1:  # written so that NaN fails too
        raise InputError(f"noise level must be in [0, 1), got {level}")


def _needless_scope(kind: str, scope: str) -> InputError:
    return InputError(
        f"{kind} noise takes no scope, got '@{scope}'; "
        f"only attribute noise does ({', '.join(ATTRIBUTE_NOISE)})"
    )
