"""Many checks in one test, which fails with everything that they find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Findings(list[str]):
    """What was found, one line for each subject."""

    def __str__(self) -> str:
        return "\n".join(self)

    @contextmanager
    def at(self, subject: object) -> Iterator[None]:
        """Note what the block raises about the subject, and continue after the block."""
        try:
            yield
        except (Exception, SystemExit) as error:  # noqa: BLE001 # whatever a parser or an assertion raises
            # One run names all that is wrong, instead of one for each repair.
            self.append(f"{subject}: {type(error).__name__}: {error}")
