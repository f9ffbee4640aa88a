"""Mistakes are exceptions with the text of the command; interrupts keep what there is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import netloom

# A program that a shell starts in the background ignores Ctrl-C, unless it says otherwise.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"

COMMAND = os.environ.get("NETLOOM") or shutil.which("netloom")


def test_a_mistake_says_where_it_is() -> None:
    with pytest.raises(netloom.StudyError) as raised:
        netloom.run("all-to-all", topology__dim=[4, 4, 4])
    error = raised.value
    assert error.message == "unknown key `topology.dim`"
    assert error.help == "did you mean `dims`?"
    assert (error.file, error.line, error.expected) == ("--set", 1, "not a key here")
    assert "topology.dim=[4, 4, 4]" in str(error)
    assert isinstance(error, ValueError)


def test_a_mistake_in_a_dict_is_shown_as_toml() -> None:
    with pytest.raises(netloom.StudyError, match="did you mean `uniform`") as raised:
        netloom.run({"name": "x", "machine": "bgl", "workload": {"kind": "unifrom"}})
    assert 'kind = "unifrom"' in str(raised.value)


def test_names_that_are_not_there() -> None:
    with pytest.raises(netloom.StudyError, match="did you mean `all-to-all`"):
        netloom.run("all-to-al")
    with pytest.raises(netloom.StudyError, match="cannot read"):
        netloom.run(Path("no/such/study.toml"))
    with pytest.raises(netloom.StudyError):
        netloom.machine("bgx")
    with pytest.raises(netloom.StudyError, match="nothing published is called"):
        netloom.validate("no-paper")
    with pytest.raises(ValueError, match="threads"):
        netloom.run("all-to-all", threads=0)


def test_a_study_that_sweeps_is_not_run_once() -> None:
    with pytest.raises(netloom.StudyError, match=r"has a \[sweep\] table"):
        netloom.run("light-traffic")


def test_a_refused_run_leaves_no_folder(tmp_path: Path) -> None:
    program = netloom.Program(lambda rank, size: [netloom.barrier()], 64)
    with pytest.raises(netloom.StudyError):
        netloom.run(program, tmp_path / "out", machine="bgl", nodes=8)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not COMMAND, reason="there is no netloom command")
@pytest.mark.parametrize("change", ["topology.dim=[4]", "router.paths=x", "sede=1", "traffic.load=0.5"])
def test_the_text_is_that_of_the_command(change: str) -> None:
    key, _, value = change.partition("=")
    command = subprocess.run([COMMAND or "", "run", "all-to-all", "--set", change], capture_output=True, text=True)
    assert command.returncode == 2
    values = {"x": "x", "0.5": 0.5, "1": 1, "[4]": [4]}
    with pytest.raises(netloom.StudyError) as raised:
        netloom.run("all-to-all", set={key: values[value]})
    # Text stands in quotes here, which the command does not need.
    if value != "x":
        assert str(raised.value).strip() == command.stderr.strip()


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_keeps_a_partial_result(tmp_path: Path) -> None:
    interrupt_after(1.0)
    begin = time.monotonic()
    with pytest.raises(netloom.Interrupted, match="interrupted at") as raised:
        netloom.run("all-to-all", tmp_path / "out", measure__half_width=1e-6)
    assert time.monotonic() - begin < 30
    partial = raised.value.result
    assert isinstance(partial, netloom.Result)
    assert partial.ended == "interrupted" and partial.partial and not partial.ok
    assert netloom.load(tmp_path / "out").summary == partial.summary
    assert isinstance(raised.value, KeyboardInterrupt)


def test_ctrl_c_keeps_the_points_of_a_sweep(tmp_path: Path) -> None:
    seen = threading.Event()

    def interrupt(progress: netloom.Progress) -> None:
        if progress.fraction and progress.fraction > 0.4 and not seen.is_set():
            seen.set()
            os.kill(os.getpid(), signal.SIGINT)

    over = {"traffic.load.link_utilization": [0.1, 0.2, 0.3, 0.4]}
    size = {"topology__dims": [8, 8, 8], "threads": 1}
    with pytest.raises(netloom.Interrupted) as raised:
        netloom.sweep("light-traffic", tmp_path / "out", over=over, progress=interrupt, **size)  # type: ignore[arg-type]
    partial = raised.value.result
    assert isinstance(partial, netloom.Sweep)
    done = len(partial.frame())
    assert 0 < done < 4 and not partial.complete
    with pytest.raises(KeyError, match="has not run"):
        partial[3]
    whole = netloom.sweep("light-traffic", tmp_path / "out", over=over, **size)  # type: ignore[arg-type]
    assert whole.complete and len(list(whole)) == 4


def test_an_error_of_a_listener_ends_the_run() -> None:
    def listen(progress: netloom.Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        netloom.run("all-to-all", measure__half_width=1e-6, progress=listen)


def test_other_threads_run_meanwhile() -> None:
    count = 0
    done = threading.Event()

    def work() -> None:
        nonlocal count
        while not done.wait(0.001):
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    netloom.run("all-to-all", topology__dims=[16, 16, 8], threads=1)
    done.set()
    thread.join()
    assert count > 20


def test_runs_side_by_side_agree() -> None:
    found = []
    run = lambda: found.append(netloom.run("all-to-all", topology__dims=[4, 4, 4], threads=1).value("totals"))  # noqa: E731
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and found[0] == found[1] == found[2]


def test_a_script_ends_by_ctrl_c() -> None:
    script = f"{HEARS_CTRL_C}; import netloom; print('go', flush=True); netloom.run('all-to-all', measure__half_width=1e-6)"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "go\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "Interrupted: the run was interrupted at" in errors
