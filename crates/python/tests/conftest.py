"""What the tests share."""

from __future__ import annotations

import pytest

import netloom


@pytest.fixture(scope="session")
def result() -> netloom.Result:
    """An all-to-all on 64 nodes."""
    return netloom.run("all-to-all", topology__dims=[4, 4, 4], threads=2)
