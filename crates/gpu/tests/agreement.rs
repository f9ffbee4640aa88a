//! The device against the clocked reference, with the same traffic in other packets: mean link utilization
//! within 1%, packets delivered within 2%, occupancy of the VCs within 5%, mean latency within 4%. In open loop
//! chance adds to the first two.
//!
//! Where there is no device (a driver that runs on the processor will do), `NETLOOM_NO_GPU=1` skips them.

#[path = "../../fabric/tests/reference/mod.rs"]
mod reference;

use netloom_fabric::config::{DirectionChoice, EscapeOrder, TorusConfig};
use netloom_gpu::{Counts, DeviceError, Load, Machine, Pattern, Traffic};
use reference::Reference;
use reference::packet::Routing;
use reference::random::Random;
use reference::workload;

const FROM: u64 = 20_000;
const TO: u64 = 50_000;

/// Means over the measured ticks.
#[derive(Debug)]
struct Figures {
    utilization: f64,
    delivered: f64,
    latency: f64,
    occupancy: Vec<f64>,
}

/// A machine on the device; none where this computer has no device, and that is said.
fn machine(config: &TorusConfig, traffic: Traffic, seed: u64) -> Option<Machine> {
    match Machine::new(config, traffic, seed) {
        Ok(machine) => Some(machine),
        Err(DeviceError::NoDevice) if std::env::var_os("NETLOOM_NO_GPU").is_some() => None,
        Err(e) => panic!("{e}"),
    }
}

fn by_device(config: &TorusConfig, traffic: Traffic, seed: u64) -> Option<Figures> {
    let mut machine = machine(config, traffic, seed)?;
    let begin = machine.run_until(FROM, &|| false).expect("a device that runs").clone();
    let end = machine.run_until(TO, &|| false).expect("a device that runs").clone();
    let links = config.topology.dims.iter().filter(|&&k| k > 1).count() * 2 * config.nodes();
    let links = links as f64 - if config.topology.wraps(0) { 0.0 } else { ends(config) };
    let ticks = (TO - FROM) as f64;
    let busy = |counts: &Counts| counts.links.iter().map(|link| link.busy).sum::<u64>();
    let delivered = (end.delivered - begin.delivered) as f64;
    Some(Figures {
        utilization: (busy(&end) - busy(&begin)) as f64 / ticks / links,
        delivered: delivered / ticks,
        latency: (end.latency.sum - begin.latency.sum) as f64 / delivered,
        occupancy: end
            .occupancy
            .iter()
            .zip(&begin.occupancy)
            .map(|(a, b)| (a - b) as f64 / ticks / links)
            .collect(),
    })
}

/// Links that a mesh does not have.
fn ends(config: &TorusConfig) -> f64 {
    let nodes = config.nodes() as f64;
    config.topology.dims.iter().filter(|&&k| k > 1).map(|&k| 2.0 * nodes / f64::from(k)).sum()
}

fn by_reference(config: &TorusConfig, traffic: Traffic, seed: u64) -> Figures {
    let mut reference = Reference::new(config, seed);
    let mut random = Random::new(seed + 100);
    let routing = if traffic.is_static { Routing::Static } else { Routing::Dynamic };
    match traffic.load {
        Load::PerTick(rate) => workload::uniform(&mut reference, rate, TO, &mut random),
        Load::Infinite => workload::flood(&mut reference, TO, &mut random, |spec, _| {
            (spec.chunks, spec.routing) = (traffic.chunks, routing);
        }),
    }
    let means = reference.statistics.means(FROM, TO);
    let measured: Vec<u64> = reference
        .packets
        .iter()
        .filter(|p| p.delivered_at.is_some_and(|at| (FROM..TO).contains(&at)))
        .filter_map(|p| p.latency())
        .collect();
    Figures {
        utilization: means.utilization(),
        delivered: means.delivered,
        latency: measured.iter().sum::<u64>() as f64 / measured.len() as f64,
        occupancy: means.chunks[..config.vcs() - 1].to_vec(),
    }
}

fn mean(runs: &[Figures]) -> Figures {
    let n = runs.len() as f64;
    let of = |f: &dyn Fn(&Figures) -> f64| runs.iter().map(f).sum::<f64>() / n;
    Figures {
        utilization: of(&|r| r.utilization),
        delivered: of(&|r| r.delivered),
        latency: of(&|r| r.latency),
        occupancy: (0..runs[0].occupancy.len()).map(|vc| of(&|r| r.occupancy[vc])).collect(),
    }
}

fn compare(name: &str, config: &TorusConfig, traffic: Traffic, seeds: u64) {
    let device: Option<Vec<Figures>> = (1..=seeds).map(|seed| by_device(config, traffic, seed)).collect();
    let Some(device) = device else { return };
    let clocked: Vec<Figures> = (1..=seeds).map(|seed| by_reference(config, traffic, seed)).collect();
    let (clocked, device) = (mean(&clocked), mean(&device));
    println!("{name}\n  clocked {clocked:?}\n  device  {device:?}");
    let near = |what: &str, a: f64, b: f64, part: f64| {
        assert!((b / a - 1.0).abs() < part, "{name}: {what} {a} clocked, {b} on the device");
    };
    // Of random arrivals in open loop some more or fewer come, here three standard deviations of the difference;
    // what each of them takes is the same.
    let packets = clocked.delivered * (TO - FROM) as f64 * seeds as f64;
    let (noise, latency) = match traffic.load {
        Load::Infinite => (0.0, 0.04),
        Load::PerTick(_) => (3.0 * (2.0 / packets).sqrt(), 0.035),
    };
    near("mean link utilization", clocked.utilization, device.utilization, 0.01 + noise);
    near("packets delivered per tick", clocked.delivered, device.delivered, 0.02 + noise);
    let each = |f: &Figures| f.utilization / f.delivered;
    near("link-ticks of a packet", each(&clocked), each(&device), 0.015);
    near("mean latency", clocked.latency, device.latency, latency);
    let all: f64 = clocked.occupancy.iter().sum();
    for (vc, (a, b)) in clocked.occupancy.iter().zip(&device.occupancy).enumerate() {
        let allowed = ((0.05 + noise) * a).max(0.02 * all).max(0.03);
        assert!((a - b).abs() < allowed, "{name}: occupancy of VC {vc} {a} clocked, {b} on the device");
    }
}

const FULL: Traffic =
    Traffic { pattern: Pattern::Uniform, load: Load::Infinite, chunks: 8, is_static: false };

#[test]
fn saturated() {
    compare("4x4x4", &TorusConfig::bluegene_l(&[4, 4, 4]), FULL, 2);
    compare("8x8x1", &TorusConfig::bluegene_l(&[8, 8, 1]), FULL, 2);
}

#[test]
fn open_loop() {
    let config = TorusConfig::bluegene_l(&[4, 4, 4]);
    for interval in [880.0, 264.1] {
        let traffic = Traffic { load: Load::PerTick(1.0 / interval), ..FULL };
        compare(&format!("a packet in {interval} ticks"), &config, traffic, 2);
    }
}

#[test]
fn variants() {
    let mut mesh = TorusConfig::bluegene_l(&[4, 4, 2]);
    mesh.topology.wrap = vec![false; 3];
    compare("mesh", &mesh, Traffic { load: Load::PerTick(1.0 / 420.0), ..FULL }, 2);
    let config = TorusConfig::bluegene_l(&[4, 4, 4]);
    compare("static", &config, Traffic { is_static: true, ..FULL }, 2);
    compare("small packets", &config, Traffic { chunks: 2, ..FULL }, 2);
    let mut other = config.clone();
    let router = &mut other.router;
    (router.dynamic_vcs, router.paths, router.bypass, router.in_network_fraction) = (1, 1, false, 0.3);
    (router.direction_choice, router.escape_order) = (DirectionChoice::Random, EscapeOrder::Direction);
    (router.receiver_slq_fraction, router.sender_slq_fraction) = (0.0, 1.0);
    compare("other switches", &other, Traffic { load: Load::PerTick(1.0 / 350.0), ..FULL }, 2);
}

/// Packets in open loop are as many as they should be.
#[test]
fn arrivals_at_their_rate() {
    let config = TorusConfig::bluegene_l(&[4, 2, 2]);
    let traffic = Traffic { load: Load::PerTick(0.005), ..FULL };
    let Some(mut machine) = machine(&config, traffic, 3) else { return };
    let delivered = machine.run_until(400_000, &|| false).expect("a device that runs").delivered;
    let expected = 16.0 * 0.005 * 400_000.0;
    // Three standard deviations are 1.7%.
    assert!((delivered as f64 / expected - 1.0).abs() < 0.017, "{delivered} packets, {expected} expected");
}

/// Whether every packet of an all-to-all goes to another node until all have had one.
#[test]
fn all_to_all() {
    let config = TorusConfig::bluegene_l(&[4, 4, 4]);
    let traffic = Traffic { pattern: Pattern::AllToAll, ..FULL };
    let (Some(mut ordered), Some(mut uniform)) = (machine(&config, traffic, 1), machine(&config, FULL, 1))
    else {
        return;
    };
    let rate = |machine: &mut Machine| {
        let begin = machine.run_until(FROM, &|| false).expect("a device that runs").delivered;
        machine.run_until(2 * TO, &|| false).expect("a device that runs").delivered - begin
    };
    let (ordered, uniform) = (rate(&mut ordered) as f64, rate(&mut uniform) as f64);
    assert!((ordered / uniform - 1.0).abs() < 0.02, "{ordered} packets, {uniform} to random nodes");
}

/// The same seed gives the same counts, in whatever steps the run goes.
#[test]
fn the_same_in_any_steps() {
    let config = TorusConfig::bluegene_l(&[4, 4, 3]);
    let (Some(mut whole), Some(mut steps)) = (machine(&config, FULL, 7), machine(&config, FULL, 7)) else {
        return;
    };
    for tick in [1, 17, 40, 1000, 1001, 7777] {
        steps.run_until(tick, &|| false).expect("a device that runs");
    }
    let mut steps = steps.run_until(20_000, &|| false).expect("a device that runs").clone();
    let mut whole = whole.run_until(20_000, &|| false).expect("a device that runs").clone();
    // Chunks in buffers are sampled at the ends of the steps.
    (steps.occupancy, whole.occupancy) = (vec![], vec![]);
    assert_eq!(steps, whole);
    assert!(whole.delivered > 1000);
}
