//! What the programs on Aries NICs measure, beside what was published. What a constant was fitted to must come out; what follows is printed,
//! and only held to what has been seen, so that a change is noticed.

use netloom_engine::{Progress, Reached};
use netloom_fabric::config::{SwitchedTopology, TiledConfig};
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_nic::aries;
use netloom_nic::aries::config::AriesConfig;
use netloom_workload::gni::GniConfig;
use netloom_workload::gni::allreduce::Allreduce;
use netloom_workload::gni::amo_rates::AmoRates;
use netloom_workload::gni::bandwidth::Bandwidth;
use netloom_workload::gni::latency::Latency;
use netloom_workload::gni::put_rates::PutRates;
use netloom_workload::gni::{job, program};

/// Runs a program on so many chassis of a group; returns the rows of its table.
fn run(config: &GniConfig, blades: u32, chassis: u32) -> Vec<Vec<f64>> {
    let mut network = TiledConfig::cray_xc(1, 1);
    let SwitchedTopology::Dragonfly(shape) = &mut network.topology else { unreachable!() };
    (shape.group, shape.cables) = (vec![blades, chassis], None);
    let nodes = 4 * blades * chassis;
    config.check(nodes).expect("possible");
    let options = BuildOptions { injection_fifos: 2, ..BuildOptions::default() };
    let jobs = [job(nodes)].into();
    let nic = AriesConfig::cray_xc();
    let mut machine = TiledNetwork::new(&network, &options, |numbers| {
        aries::nics(&nic, &network, &jobs, numbers, config.processes(), 1, |gni| {
            program(config, gni, network.ticks_per_second)
        })
    })
    .expect("buildable");
    assert_eq!(machine.run_until(1 << 40, 2, &Progress::default()), Reached::Idle);
    assert_eq!((machine.stall(), machine.unrest()), (None, vec![]));
    let mut measurements = vec![];
    for block in machine.blocks() {
        assert_eq!(block.host().unfinished().count(), 0);
        assert!(block.host().counters().all(|(_, c)| c.timeouts == 0));
        measurements.extend(block.host().measurements());
    }
    let measured = config.measured(&measurements, network.ticks_per_second);
    for row in &measured.rows {
        println!("{}: {:?} {row:.1?}", measured.title, measured.columns);
    }
    measured.rows
}

#[test]
fn latencies() {
    let rows = run(&GniConfig::Latency(Latency::default()), 2, 1);
    let (put, get) = (rows[0][1], rows[0][2]);
    assert!((put - 800.0).abs() < 10.0, "fitted");
    assert!((1440.0..1760.0).contains(&get), "published: 1600");
}

#[test]
fn bandwidths() {
    for both_ways in [false, true] {
        for (blades, to) in [(2, 1), (16, 4)] {
            println!("both ways: {both_ways}, to node {to} of {blades} blades");
            let config = Bandwidth { both_ways, to, ..Bandwidth::default() };
            run(&GniConfig::Bandwidth(config), blades, 1);
        }
    }
}

#[test]
fn bandwidths_of_short_puts() {
    for processes in [1, 4, 8, 12, 16] {
        println!("{processes} processes");
        for bytes in [8, 64, 128, 256, 1024] {
            let config = Bandwidth { bytes, puts: 300, processes, ..Bandwidth::default() };
            run(&GniConfig::Bandwidth(config), 16, 1);
        }
    }
}

#[test]
fn put_rates() {
    let rate = |processes, changes_handle| {
        let config = PutRates { processes, changes_handle, ..PutRates::default() };
        run(&GniConfig::PutRates(config), 16, 1)[0][1]
    };
    assert!((rate(1, false) - 7.5).abs() < 0.1, "fitted");
    assert!((rate(16, true) - 80.0).abs() < 1.5, "fitted");
    let all: Vec<f64> = [4, 8, 16, 20, 24].into_iter().map(|n| rate(n, false)).collect();
    assert!((108.0..132.0).contains(&all[2]), "published: 120");
    assert!(all[4] < 132.0, "hyperthreads add nothing");
}

#[test]
fn atomic_rates() {
    let one = run(&GniConfig::AmoRates(AmoRates::default()), 16, 1)[0][1];
    assert!((380.0..420.0).contains(&one), "published: 400");
    for (variables, page_b) in [(1 << 12, 1 << 21), (1 << 20, 1 << 21), (1 << 28, 1 << 21), (1 << 28, 4096)] {
        println!("pages of {page_b} B");
        run(&GniConfig::AmoRates(AmoRates { variables, page_B: page_b, ..AmoRates::default() }), 16, 1);
    }
}

#[test]
fn sums_over_a_group() {
    let rows = run(&GniConfig::Allreduce(Allreduce::default()), 16, 6);
    assert!(rows[0][1] < 10.0);
}
