//! The event-driven fabric against the clocked reference, with the same packets: mean link utilization within
//! 2% (as for the BlueGene/L authors' simulator and VHDL), mean VC occupancy within 5%, mean latency at low
//! load within 2%.

use crate::reference::Reference;
use crate::reference::packet::{PacketSpec, Routing};
use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::{BubbleRule, DirectionChoice, Escape, EscapeOrder, TorusConfig};
use netloom_fabric::packet::Header;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};

/// Means over a window, of either model.
#[derive(Debug)]
struct Figures {
    utilization: f64,
    occupancy: Vec<f64>,
    latency: f64,
    end: u64,
}

fn by_reference(config: &TorusConfig, list: &[Packet], from: u64, to: u64) -> Figures {
    let mut reference = Reference::new(config, 11);
    let mut sorted = list.to_vec();
    sorted.sort_by_key(|p| p.made);
    let mut next = sorted.iter().peekable();
    while reference.now < to || next.peek().is_some() || !reference.at_rest() {
        while let Some(p) = next.next_if(|p| p.made <= reference.now) {
            let spec = PacketSpec {
                destination: p.destination as usize,
                chunks: p.chunks,
                routing: if p.flags & Header::STATIC != 0 { Routing::Static } else { Routing::Dynamic },
                high_priority: p.flags & Header::HIGH != 0,
                made_at: p.made,
            };
            reference.inject(p.source as usize, p.fifo, spec);
        }
        reference.step();
        assert!(reference.now < to * 4, "the reference does not drain");
    }
    let means = reference.statistics.means(from, to);
    let last = *reference.deliveries.last().expect("something was delivered");
    Figures {
        utilization: means.utilization(),
        occupancy: means.chunks[..config.vcs()].to_vec(),
        latency: reference.latency_mean(),
        end: reference.packets[last].delivered_at.expect("delivered"),
    }
}

fn by_fabric(config: &TorusConfig, list: &[Packet], from: u64, to: u64) -> Figures {
    let smallest = list.iter().map(|p| p.chunks).min().expect("packets");
    let options =
        BuildOptions { window: 100, smallest_chunks: smallest, block: vec![3, 4], ..BuildOptions::default() };
    let mut network =
        TorusNetwork::<_, 6>::new(config, &options, |n| ScriptHost::new(&config.topology, list, n))
            .expect("buildable");
    assert_eq!(network.run_until(Time::at(to * 10), 2, &Progress::default()), Reached::Idle);
    assert_eq!(network.in_flight(), 0);
    assert_eq!(network.unrest(), Vec::<String>::new());
    let links = network.links().len() as f64;
    let delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    assert_eq!(delivered.len(), list.len());
    let windows = &network.windows()[(from / 100) as usize..(to / 100) as usize];
    let link_ticks = (to - from) as f64 * links;
    let sum = |f: &dyn Fn(&netloom_fabric::router::WindowRecord) -> u64| {
        windows.iter().map(f).sum::<u64>() as f64 / link_ticks
    };
    Figures {
        utilization: sum(&|w| w.busy),
        occupancy: (0..config.vcs()).map(|vc| sum(&|w| w.occupancy[vc])).collect(),
        latency: network.totals().latency.mean(),
        end: delivered.iter().map(|d| d.2).max().expect("something was delivered"),
    }
}

/// Compares both models. A single VC's occupancy may also differ by 2% of all VCs', since small values are
/// random.
fn compare(name: &str, config: &TorusConfig, lists: &[Vec<Packet>], from: u64, to: u64, latency: f64) {
    let mean = |runs: Vec<Figures>| {
        let n = runs.len() as f64;
        Figures {
            utilization: runs.iter().map(|r| r.utilization).sum::<f64>() / n,
            occupancy: (0..config.vcs())
                .map(|vc| runs.iter().map(|r| r.occupancy[vc]).sum::<f64>() / n)
                .collect(),
            latency: runs.iter().map(|r| r.latency).sum::<f64>() / n,
            end: runs.iter().map(|r| r.end).max().expect("a run"),
        }
    };
    let clocked = mean(lists.iter().map(|l| by_reference(config, l, from, to)).collect());
    let fabric = mean(lists.iter().map(|l| by_fabric(config, l, from, to)).collect());
    println!("{name}\n  clocked {clocked:?}\n  fabric  {fabric:?}");
    let (a, b) = (clocked.utilization, fabric.utilization);
    assert!((b / a - 1.0).abs() < 0.01, "{name}: mean link utilization {a} clocked, {b} fabric");
    let total = |f: &Figures| f.occupancy.iter().sum::<f64>();
    let (a, b) = (total(&clocked), total(&fabric));
    assert!((a - b).abs() < (0.05 * a).max(0.03), "{name}: occupancy of all VCs {a} clocked, {b} fabric");
    for (vc, (a, b)) in clocked.occupancy.iter().zip(&fabric.occupancy).enumerate() {
        let allowed = (0.05 * a).max(0.02 * total(&clocked)).max(0.03);
        assert!((a - b).abs() < allowed, "{name}: occupancy of VC {vc} {a} clocked, {b} fabric");
    }
    let (a, b) = (clocked.latency, fabric.latency);
    assert!((b / a - 1.0).abs() < latency, "{name}: mean latency {a} clocked, {b} fabric");
}

/// All-to-all, each node in an order of its own, distributed over the normal FIFOs in turn.
fn all_to_all(config: &TorusConfig, seed: u64, flags: u16) -> Vec<Packet> {
    let nodes = config.nodes() as u32;
    let mut list = vec![];
    for source in 0..nodes {
        let mut stream = Stream::new(seed, 9, source.into());
        let mut others: Vec<u32> = (0..nodes).filter(|&n| n != source).collect();
        for i in (1..others.len()).rev() {
            others.swap(i, stream.below(i as u64 + 1) as usize);
        }
        list.extend(others.iter().enumerate().map(|(i, &destination)| Packet {
            made: 0,
            source,
            fifo: i % 6,
            destination,
            chunks: 8,
            flags,
            ..Packet::default()
        }));
    }
    list
}

/// Uniform random traffic in open loop.
fn uniform(
    config: &TorusConfig,
    interval: f64,
    ticks: u64,
    seed: u64,
    chunks: &[u32],
    flags: &[u16],
) -> Vec<Packet> {
    let nodes = config.nodes() as u64;
    let mut list = vec![];
    for source in 0..nodes {
        let mut stream = Stream::new(seed, 9, source);
        let mut at = 0.0;
        loop {
            at += interval * stream.exponential();
            if at >= ticks as f64 {
                break;
            }
            let destination = ((source + 1 + stream.below(nodes - 1)) % nodes) as u32;
            let chunks = chunks[stream.below(chunks.len() as u64) as usize];
            let flags = flags[stream.below(flags.len() as u64) as usize];
            let fifo = if flags & Header::HIGH != 0 { 6 } else { stream.below(6) as usize };
            list.push(Packet {
                made: at as u64,
                source: source as u32,
                fifo,
                destination,
                chunks,
                flags,
                ..Packet::default()
            });
        }
    }
    list
}

fn seeds<T>(f: impl Fn(u64) -> T) -> Vec<T> {
    (1..=4).map(f).collect()
}

#[test]
fn all_to_all_on_a_cube_and_on_a_square() {
    let cube = TorusConfig::bluegene_l(&[4, 4, 4]);
    compare("4x4x4", &cube, &seeds(|s| all_to_all(&cube, s, 0)), 1500, 7000, 0.03);
    let square = TorusConfig::bluegene_l(&[8, 8, 1]);
    compare("8x8x1", &square, &seeds(|s| all_to_all(&square, s, 0)), 3000, 14000, 0.03);
}

/// The longest dimension is full, and packets that wait for it hold the buffers of the others, so that much of the
/// traffic is on the escape VC: throughput swings there, and any difference of the models would show.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn all_to_all_on_asymmetric_machines() {
    let config = TorusConfig::bluegene_l(&[8, 4, 4]);
    compare("8x4x4", &config, &seeds(|s| all_to_all(&config, s, 0)), 5000, 25_000, 0.03);
    let config = TorusConfig::bluegene_l(&[16, 4, 4]);
    // The first packets of each node: as many as keep the machine full until the end of what is compared.
    let first = |seed| {
        let mut list = all_to_all(&config, seed, 0);
        let mut left = vec![90; config.nodes()];
        list.retain(|packet| {
            let left = &mut left[packet.source as usize];
            *left -= i32::from(*left > 0);
            *left > 0
        });
        list
    };
    compare("16x4x4", &config, &seeds(first), 10_000, 40_000, 0.03);
}

#[test]
fn uniform_random_on_a_cube_at_low_and_half_load() {
    uniform_random([4, 4, 4], 2641.0, 264.1);
}

#[test]
fn uniform_random_on_a_square_at_low_and_half_load() {
    uniform_random([8, 8, 1], 5283.0, 528.3);
}

fn uniform_random(dims: [u32; 3], low: f64, half: f64) {
    let config = TorusConfig::bluegene_l(&dims);
    let run = |name: &str, interval, latency| {
        let lists = seeds(|s| uniform(&config, interval, 60_000, s, &[8], &[0]));
        compare(&format!("{dims:?} {name}"), &config, &lists, 10_000, 60_000, latency);
    };
    run("low load", low, 0.02);
    run("half load", half, 0.02);
}

#[test]
fn mixed_sizes_and_classes() {
    let config = TorusConfig::bluegene_l(&[4, 3, 2]);
    let flags = [0, 0, Header::STATIC, Header::HIGH];
    let lists = seeds(|s| uniform(&config, 150.0, 30_000, s, &[1, 3, 8], &flags));
    compare("mixed", &config, &lists, 5000, 30_000, 0.03);
}

/// Each variant of section 4 under full load.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn variants() {
    type Change = fn(&mut TorusConfig);
    let variants: [(&str, u16, Change); 9] = [
        ("static", Header::STATIC, |_| ()),
        ("random choices", 0, |c| {
            c.router.direction_choice = DirectionChoice::Random;
            (c.router.receiver_slq_fraction, c.router.sender_slq_fraction) = (0.0, 0.0);
        }),
        ("one dynamic VC and path", 0, |c| (c.router.dynamic_vcs, c.router.paths) = (1, 1)),
        ("four of each", 0, |c| (c.router.dynamic_vcs, c.router.paths) = (4, 4)),
        ("no bypass", 0, |c| c.router.bypass = false),
        ("small buffers", 0, |c| c.router.vc_B = 512),
        ("injection first", 0, |c| c.router.in_network_fraction = 0.3),
        ("dateline, direction order", 0, |c| {
            (c.router.escape, c.router.escape_order) = (Escape::Dateline, EscapeOrder::Direction);
        }),
        ("gap", 0, |c| c.router.arbitration_gap = true),
    ];
    for (name, flags, change) in variants {
        let mut config = TorusConfig::bluegene_l(&[4, 4, 4]);
        change(&mut config);
        let lists: Vec<_> = (1..=8).map(|s| all_to_all(&config, s, flags)).collect();
        compare(name, &config, &lists, 1500, 7000, 0.04);
    }
}

/// The published bubble rule counts packets by size: with static packets of mixed sizes only the rule
/// differs.
#[test]
fn published_bubble_rule() {
    let mut config = TorusConfig::bluegene_l(&[4, 2, 2]);
    config.router.bubble_rule = BubbleRule::Published;
    let lists = seeds(|s| uniform(&config, 120.0, 30_000, s, &[1, 5, 8], &[Header::STATIC, 0]));
    compare("published", &config, &lists, 5000, 30_000, 0.03);
}
