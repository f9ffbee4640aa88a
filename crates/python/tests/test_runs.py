"""Runs: what studies may be given as, changes, folders, results."""

from __future__ import annotations

import html.parser
import json
import os
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List
from xml.etree import ElementTree

import pandas
import polars
import pytest

import netloom

COMMAND = os.environ.get("NETLOOM") or shutil.which("netloom")

UNIFORM: Dict[str, Any] = {
    "name": "light",
    "machine": "bgl",
    "nodes": 64,
    "workload": {"kind": "uniform"},
    "traffic": {"load": {"link_utilization": 0.3}},
    "measure": {"until": "time", "time_us": 400.0, "warmup_us": 100.0},
}


def figures(result: netloom.Result) -> Dict[str, Any]:
    """The summary without what depends on the computer."""
    return {key: value for key, value in result.summary.items() if key != "host"}


def test_a_result_has_what_the_command_writes(result: netloom.Result) -> None:
    assert result.ended == "converged"
    assert result.ok and result.partial is None and result.warnings == []
    assert result.value("links.mean_utilization") == pytest.approx(0.96, abs=0.01)
    assert result.value("configuration.machine.topology.dims") == [4, 4, 4]
    assert result.text.startswith("All-to-all on 4x4x4 nodes\n")
    assert result.folder is None
    assert "<html" in result.report


def test_tables_are_frames(result: netloom.Result) -> None:
    assert set(result.tables) == {"series", "latency", "links"}
    links = result.frame("links")
    assert isinstance(links, pandas.DataFrame)
    assert len(links) == 64 * 6
    assert links["utilization"].mean() == pytest.approx(result.value("links.mean_utilization"))
    frame = result.frame("links", "polars")
    assert isinstance(frame, polars.DataFrame)
    assert frame.to_dicts() == links.to_dict("records")
    assert result.table("links").num_rows == len(links)
    assert list(result.frames) == result.tables
    assert result.frames["links"].equals(links)
    with pytest.raises(KeyError, match="there is no 'link' here, but series"):
        result.frame("link")
    with pytest.raises(ValueError, match="not of 'spark'"):
        result.frame("links", "spark")


def test_figures_are_drawn_inline(result: netloom.Result, tmp_path: Path) -> None:
    assert {"latency", "latency-of-packets", "throughput", "links-x"} <= set(result.figures)
    figure = result.figure("latency-of-packets")
    assert ElementTree.fromstring(figure._repr_svg_()).tag.endswith("svg")
    assert figure.caption.startswith("network latency")
    figure.save(tmp_path / "latency.svg")
    assert (tmp_path / "latency.svg").read_text() == figure.svg
    page = html.parser.HTMLParser()
    page.feed(result._repr_html_())
    assert "mean utilization" in result._repr_html_()


def test_a_study_is_a_dict_or_a_text_or_a_file(tmp_path: Path) -> None:
    of_dict = netloom.run(UNIFORM)
    text = of_dict.study
    (tmp_path / "light.toml").write_text(text)
    of_text = netloom.run(text, threads=1)
    of_file = netloom.run(tmp_path / "light.toml", threads=3)
    of_name = netloom.run(str(tmp_path / "light.toml"))
    assert figures(of_text) == figures(of_file) == figures(of_name)
    # The text has the machine whole, with its size, and does not ask for a number of nodes any more.
    asked = figures(of_dict)
    assert asked["configuration"].pop("nodes") == 64
    assert asked == figures(of_text)


def test_a_machine_is_a_dict() -> None:
    machine = netloom.machine("bgl")
    machine["topology"]["dims"] = [2, 2, 4]
    study = {key: value for key, value in UNIFORM.items() if key != "nodes"}
    result = netloom.run({**study, "machine": machine})
    assert result.value("configuration.machine.topology.dims") == [2, 2, 4]


def test_changes_are_keys_with_dots_or_underscores() -> None:
    a = netloom.run(UNIFORM, set={"traffic.routing": "static", "seed": 2})
    b = netloom.run(UNIFORM, traffic__routing="static", seed=2)
    assert figures(a) == figures(b)
    assert a.value("configuration.traffic.routing") == "static"
    assert a.summary["seed"] == 2
    on = netloom.run(UNIFORM, set={"sweep": {}}, traffic__load={"link_utilization": 0.1})
    assert on.value("links.mean_utilization") == pytest.approx(0.1, rel=0.1)


def test_a_folder_is_written_and_read_again(tmp_path: Path) -> None:
    out = tmp_path / "light"
    result = netloom.run(UNIFORM, out)
    assert result.folder == out
    read = netloom.load(out)
    assert isinstance(read, netloom.Result)
    assert read.summary == result.summary
    assert dict(read.files) == dict(result.files)
    with pytest.raises(netloom.OutputError, match="already exists"):
        netloom.run(UNIFORM, out)
    assert netloom.run(UNIFORM, out, force=True).ended == result.ended
    assert result.save(tmp_path / "copy") == tmp_path / "copy"
    assert netloom.load(tmp_path / "copy").summary == result.summary
    with pytest.raises(FileNotFoundError):
        netloom.load(tmp_path)


@pytest.mark.skipif(not COMMAND, reason="there is no netloom command")
def test_the_files_are_those_of_the_command(tmp_path: Path) -> None:
    change = "topology.dims=[4, 4, 4]"
    subprocess.run([COMMAND or "", "run", "all-to-all", "--set", change, "--out", tmp_path / "a"], check=True)
    netloom.run("all-to-all", tmp_path / "b", topology__dims=[4, 4, 4])
    a, b = netloom.load(tmp_path / "a"), netloom.load(tmp_path / "b")
    assert isinstance(a, netloom.Result) and isinstance(b, netloom.Result)
    assert figures(a) == figures(b)
    assert list(a.files) == list(b.files)
    # The report and the summary contain figures of the computer.
    same = [name for name in a.files if name not in ("report.html", "summary.json")]
    assert [a.files[name] for name in same] == [b.files[name] for name in same]


def test_results_can_be_pickled(result: netloom.Result) -> None:
    assert pickle.loads(pickle.dumps(result)).summary == result.summary


def test_what_programs_measure_is_frames() -> None:
    study = {
        "name": "latency",
        "machine": "bgq",
        "nodes": 32,
        "workload": {"kind": "point-to-point", "program": "latency", "sizes_B": [8, 512]},
    }
    (frame,) = netloom.run(study).measured.values()
    assert len(frame) == 2
    assert any("latency" in column and "us" in column for column in frame.columns)


def test_the_study_is_checked_without_a_run() -> None:
    assert netloom.check("all-to-all", topology__dims=[8, 8, 8])["machine"]["topology"]["dims"] == [8, 8, 8]
    assert "all-to-all" in netloom.studies()


def test_progress_is_reported() -> None:
    seen: List[netloom.Progress] = []
    netloom.run("all-to-all", topology__dims=[16, 16, 8], progress=seen.append)
    assert seen
    assert all(p.fraction is None or 0 <= p.fraction <= 1 for p in seen)
    assert [p.packet_hops for p in seen] == sorted(p.packet_hops for p in seen)
    netloom.run(UNIFORM, progress=True)


def test_a_stalled_run_is_a_result() -> None:
    def program(rank: int, size: int) -> Any:
        if rank == 0:
            yield netloom.recv(1, 8)

    result = netloom.run(netloom.Program(program, 2), machine="bgl", nodes=8)
    assert result.ended == "stalled"
    assert not result.ok


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    dims = numpy.array([2, 2, 2])
    study = netloom.check(UNIFORM, nodes=numpy.int64(8), set={"measure.time_us": numpy.float64(300.0)})
    assert study["nodes"] == 8 and study["measure"]["time_us"] == 300.0
    assert netloom.check("all-to-all", topology__dims=dims)["machine"]["topology"]["dims"] == [2, 2, 2]


def test_toml_holds_all_that_studies_hold() -> None:
    from netloom import _toml

    table = {"a b": 'q"uo\\te\n', "list": [1, 2.5, True, [], {"x": 1}], "none": None, "t": {"u": {"v": "ä"}, "w": 1e-9}}
    text = _toml.document(table)
    tomllib = pytest.importorskip("tomllib")
    assert tomllib.loads(text) == {key: value for key, value in table.items() if value is not None}
    with pytest.raises(TypeError, match="cannot hold"):
        _toml.document({"x": object()})
    assert json.loads(json.dumps(tomllib.loads("x = " + _toml.value(float("inf"))))) == {"x": float("inf")}
