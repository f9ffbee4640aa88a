"""What the tests share."""

from __future__ import annotations

import signal

import pytest

import netloom

# A program that a shell starts in the background ignores Ctrl-C, unless it says otherwise.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def result() -> netloom.Result:
    """An all-to-all on 64 nodes."""
    return netloom.run("all-to-all", topology__dims=[4, 4, 4], threads=2)
