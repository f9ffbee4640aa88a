"""Sweeps, machines and published figures."""

from __future__ import annotations

from pathlib import Path

import pytest

import netloom

OVER = {"traffic.routing": ["static", "dynamic"], "traffic.load.link_utilization": [0.2, 0.6]}


@pytest.fixture(scope="module")
def sweep() -> netloom.Sweep:
    return netloom.sweep("light-traffic", over=OVER, topology__dims=[4, 4, 4])


def test_a_sweep_has_a_row_per_point(sweep: netloom.Sweep) -> None:
    frame = sweep.frame()
    assert len(frame) == len(sweep) == 4
    assert list(frame["traffic_routing"]) == ["static", "static", "dynamic", "dynamic"]
    assert list(frame["traffic_load_link_utilization"]) == [0.2, 0.6, 0.2, 0.6]
    assert set(frame["ended"]) == {"converged"}
    assert sweep.frame(library="polars").height == 4
    assert sweep.complete
    assert "routing" in sweep.text.splitlines()[0]


def test_a_point_is_a_result(sweep: netloom.Sweep) -> None:
    point = sweep[2]
    assert point.value("configuration.traffic.routing") == "dynamic"
    assert point.value("links.mean_utilization") == pytest.approx(sweep.frame()["mean_utilization"][2])
    assert len(point.frame("links")) == 64 * 6
    assert [p["parameters"]["traffic.routing"] for p in sweep.points] == ["static", "static", "dynamic", "dynamic"]


def test_a_sweep_is_drawn(sweep: netloom.Sweep) -> None:
    assert "sweep-total-latency-mean-ns" in sweep.figures
    assert sweep.figure("sweep-total-latency-mean-ns")._repr_svg_().startswith("<svg")
    assert "<table" in sweep._repr_html_()


def test_a_sweep_resumes(tmp_path: Path) -> None:
    first = netloom.sweep("light-traffic", tmp_path / "out", over=OVER, topology__dims=[4, 4, 2])
    written = (first.folder / first.points[0]["folder"] / "summary.json").stat().st_mtime_ns
    again = netloom.sweep("light-traffic", tmp_path / "out", over=OVER, topology__dims=[4, 4, 2])
    assert (again.folder / again.points[0]["folder"] / "summary.json").stat().st_mtime_ns == written
    read = netloom.load(tmp_path / "out")
    assert isinstance(read, netloom.Sweep)
    assert read.frame().equals(first.frame())
    with pytest.raises(netloom.OutputError, match="already exists"):
        netloom.sweep("light-traffic", tmp_path / "out", over=OVER, topology__dims=[4, 2, 2])


def test_programs_are_swept_over_machines(tmp_path: Path) -> None:
    def exchange(rank: int, size: int, bytes: int):  # type: ignore[no-untyped-def]
        yield netloom.sendrecv(rank ^ 1, bytes, rank ^ 1)

    study = {"name": "exchange", "machine": "bgl", "nodes": 8}
    over = {"machine": ["bgl", "xc"]}
    small = {**study, "workload": netloom.Program(exchange, 8, 512)}
    sweep = netloom.sweep(small, tmp_path / "out", over=over)
    assert list(sweep.frame()["machine"]) == ["bgl", "xc"]
    assert (sweep.frame()["run_time_us"] > 0).all()
    assert len(netloom.sweep(small, tmp_path / "out", over=over)) == 2
    # Another program is another sweep.
    large = {**study, "workload": netloom.Program(exchange, 8, 4096)}
    with pytest.raises(netloom.OutputError):
        netloom.sweep(large, tmp_path / "out", over=over)


def test_a_study_without_a_sweep_is_not_swept() -> None:
    with pytest.raises(netloom.StudyError, match=r"has no \[sweep\] table"):
        netloom.sweep("all-to-all")


def test_machines() -> None:
    machines = {machine.name: machine for machine in netloom.machines()}
    assert {"bgl", "bgq", "xc", "th", "dragonfly", "fat-tree"} <= set(machines)
    assert machines["bgl"].nodes == 32768 and machines["bgl"].shape == "32x32x32"
    assert netloom.machine("bgl")["topology"]["dims"] == [32, 32, 32]
    assert netloom.machine_toml("bgl").lstrip().startswith("#")
    facts = netloom.describe("bgl", topology__dims=[8, 8, 8])
    assert facts["nodes"] == 512 and facts["mean_hops"] == 6.0


def test_published_figures_are_compared() -> None:
    frame = netloom.validate("bgq.table1_ping_pong")
    assert {"id", "published", "simulated", "verdict"} <= set(frame.columns)
    assert not (frame["verdict"] == "fail").any()
    assert (frame["simulated"].notna()).any()
