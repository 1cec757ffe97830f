"""stub"""


class RegexError(ValueError): ...


def check(pattern: str, *, variables: bool = False) -> None: ...
def matches_empty(pattern: str) -> bool:
    import re

    return bool(re.fullmatch(pattern, ""))
