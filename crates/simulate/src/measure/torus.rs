//! From what a torus counted to the figures of a result.

use super::errors;
use super::throughput::Load;
use super::{Readout, Span, common, curve, jobs, latency, measured, utilization};
use crate::driver::Driver;
use netloom_fabric::config::{Outline, VcOutline};
use netloom_fabric::histogram::Histogram;
use netloom_fabric::router::{self, LinkCounts, Network, NodeBlock, PossibleOutput, VcClass, WindowRecord};
use netloom_fabric::topology::torus::Torus;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{
    ByClass, Counters, DirectionMean, FROM_IO, LinkRow, LinkSummary, Occupancy, RunResult, Series,
    StallReport, TorusFigures, TorusLinks, WaitingPacket, Waits, direction_name, sender,
};
use netloom_workload::traffic::TorusPlan;
use std::sync::Arc;

/// Data of a full packet, bytes.
pub(crate) fn payload_of_full_packet(network: &Outline) -> u32 {
    let p = &network.packet;
    p.chunk_B * p.chunks_max - p.header_B - p.software_header_B
}

/// Bytes on a link, by what they are. Software headers count as headers, and so does what a packet leaves
/// empty.
struct Bytes {
    chunks: [f64; 3],
    headers: f64,
    trailers: f64,
    acks: f64,
}

fn bytes(network: &Outline, packets: u64, chunks: [u64; 3], acks: u64) -> Bytes {
    let p = &network.packet;
    Bytes {
        chunks: chunks.map(|c| c as f64 * f64::from(p.chunk_B)),
        headers: packets as f64 * f64::from(p.header_B + p.software_header_B),
        trailers: packets as f64 * f64::from(p.trailer_B),
        acks: acks as f64 * f64::from(p.ack_wire_B()),
    }
}

impl Bytes {
    fn payload(&self) -> f64 {
        self.chunks.iter().sum::<f64>() - self.headers
    }
    fn by_class(&self) -> ByClass {
        ByClass { dynamic: self.chunks[0], escape: self.chunks[1], high: self.chunks[2] }
    }
}

fn per_tick(network: &Outline, links: f64, ticks: f64) -> f64 {
    f64::from(network.link.ticks_per_byte) / (links * ticks).max(1.0)
}

/// The classes of VCs, in the order in which figures by class stand.
const CLASSES: [VcClass; 3] = [VcClass::Dynamic, VcClass::Escape, VcClass::High];

fn class_chunks(network: &Outline, by_vc: &[u64; 8]) -> [u64; 3] {
    CLASSES.map(|class| {
        let of_class = network.vcs.iter().zip(by_vc).filter(|(vc, _)| vc.class == class);
        of_class.map(|(_, chunks)| chunks).sum()
    })
}

fn scaled(c: ByClass, by: f64) -> ByClass {
    ByClass { dynamic: c.dynamic * by, escape: c.escape * by, high: c.high * by }
}

/// The unit of rates of nodes.
const UNIT: &str = "MB/s";

/// How tori are read out.
#[derive(Clone, Debug, Default)]
pub(crate) struct TorusReadout {
    /// Packets that a node offers per tick; none for programs and for as many as the network takes.
    pub offered: Option<f64>,
    /// Offered load of nodes without programs.
    pub plan: Option<Arc<TorusPlan>>,
}

/// Payload of packets and their chunks, bytes.
fn payload(network: &Outline, packets: f64, chunks: f64) -> f64 {
    let p = &network.packet;
    chunks * f64::from(p.chunk_B) - packets * f64::from(p.header_B + p.software_header_B)
}

/// Data that a node offers at this rate of packets per tick, bytes per us.
fn offered(study: &ResolvedStudy, packets: f64) -> f64 {
    let mean = payload(study.torus(), 1.0, study.study.traffic.packet_chunks.mean_chunks());
    packets * mean / study.micros(1)
}

/// Offered load, of this many packets of a node per tick, and the accepted load of some windows.
pub(crate) fn load(study: &ResolvedStudy, packets: Option<f64>, windows: &[WindowRecord]) -> Load {
    let (network, window_us) = (study.torus(), study.micros(study.window()));
    let nodes = network.nodes() as f64;
    let accepted = |w: &WindowRecord| {
        payload(network, w.delivered as f64, w.delivered_chunks as f64) / nodes / window_us
    };
    Load {
        unit: UNIT,
        offered: packets.map(|packets| offered(study, packets)),
        accepted: windows.iter().map(accepted).collect(),
    }
}

/// What the links of a torus carried: by node and port.
pub(crate) struct Links<'a> {
    pub torus: &'a Torus,
    /// Between nodes.
    pub between: Vec<(u32, usize, LinkCounts)>,
    /// To and from IO nodes.
    pub io: Vec<(u32, usize, LinkCounts)>,
}

impl<B: NodeBlock<Host: Driver>> Readout<B> for TorusReadout {
    fn links(&self, network: &mut Network<B>) -> f64 {
        network.links().len() as f64
    }

    fn load(&self, study: &ResolvedStudy, _: &RunResult, windows: &[WindowRecord]) -> Load {
        load(study, self.offered, windows)
    }

    fn stopped(&self, study: &ResolvedStudy, network: &mut Network<B>) -> Option<String> {
        errors::stopped(study, network)
    }

    fn escaped(&self, network: &mut Network<B>) -> Option<String> {
        errors::escaped(network)
    }

    fn result(&self, study: &ResolvedStudy, network: &mut Network<B>, span: Span, links: f64) -> RunResult {
        let mut result = common(study, network, span);
        let windows = network.windows();
        let ticks = (span.to - span.from) as f64;
        let mut torus = TorusFigures::default();
        let (between, io) = (network.links(), network.io_links());
        let links_of = Links { torus: network.torus(), between, io };
        link_figures(&mut result, &mut torus, study, &links_of, ticks);
        let [dynamic, escape, high] = &network.totals().waits;
        torus.waits = Waits {
            dynamic: latency(study, dynamic),
            escape: latency(study, escape),
            high: latency(study, high),
        };
        torus.counters = counters(study, network, ticks);
        errors::figures(&mut result, &mut torus, study, network);
        let measured = measured(study, &windows, span);
        torus.occupancy = occupancy(study, measured, links);
        let (hoped_for, unblocking) =
            measured.iter().fold((0, 0), |x, w| (x.0 + w.hoped_for, x.1 + w.unblocking));
        torus.unblock_probability = unblocking as f64 / (hoped_for as f64).max(1.0);
        result.torus = Some(torus);
        let unit = jobs::Unit {
            name: UNIT,
            offered: &|rate| rate.offered.map(|packets| offered(study, packets)),
            accepted: &|counts, node_ticks| {
                counts.arrived.payload_bytes as f64 / (node_ticks * study.micros(1))
            },
        };
        let plan = self.plan.as_ref().map(|plan| plan.plan());
        result.jobs = jobs::figures(study, network, plan, span, &unit);
        result.series = series(study, &windows, links, network.torus().nodes().into());
        if let Some(report) = network.stall() {
            result.stall = Some(stall(study, network, &report));
        }
        result
    }
}

/// The figures of links over this many ticks.
pub(crate) fn link_figures(
    result: &mut RunResult,
    figures: &mut TorusFigures,
    study: &ResolvedStudy,
    Links { torus, between: list, io: io_links }: &Links,
    ticks: f64,
) {
    let dimensions = torus.dimensions();
    let config = study.torus();
    let one = per_tick(config, 1.0, ticks);
    let share = |c: &LinkCounts| bytes(config, c.packets, c.chunks, c.acks);
    let sum = list.iter().fold(LinkCounts::default(), |mut sum, l| {
        sum.packets += l.2.packets;
        sum.acks += l.2.acks;
        sum.busy += l.2.busy;
        (0..3).for_each(|c| sum.chunks[c] += l.2.chunks[c]);
        sum
    });
    let mean = per_tick(config, list.len() as f64, ticks);
    let all = share(&sum);
    // Not from the bytes, which are those of packets that began in the span: a full link would come out above
    // 1 at times.
    let used = |c: &LinkCounts| c.busy as f64 / ticks.max(1.0);
    let each = |f: fn(f64, f64) -> f64, start| list.iter().map(|l| used(&l.2)).fold(start, f);
    // All of them, with those to and from IO nodes, which are not in the means.
    let all_links: Vec<_> = list
        .iter()
        .chain(io_links)
        .map(|&(node, port, counts)| {
            let (node, direction) = sender(torus, node, port);
            (node, direction, counts)
        })
        .collect();
    let by_direction = (0..=FROM_IO)
        .filter_map(|direction| {
            let of: Vec<f64> = all_links.iter().filter(|l| l.1 == direction).map(|l| used(&l.2)).collect();
            (!of.is_empty()).then(|| DirectionMean {
                direction: direction_name(direction),
                utilization: of.iter().sum::<f64>() / of.len() as f64,
            })
        })
        .collect();
    result.links = LinkSummary {
        count: list.len() as u64,
        mean_utilization: used(&sum) / (list.len() as f64).max(1.0),
        min_utilization: if list.is_empty() { 0.0 } else { each(f64::min, f64::INFINITY) },
        max_utilization: each(f64::max, 0.0),
        torus: Some(TorusLinks {
            payload_utilization: all.payload() * mean,
            header_utilization: all.headers * mean,
            trailer_utilization: all.trailers * mean,
            ack_utilization: all.acks * mean,
            by_class: scaled(all.by_class(), mean),
            by_direction,
        }),
    };
    let chunks: u64 = sum.chunks.iter().sum();
    figures.escape_share = sum.chunks[1] as f64 / (chunks as f64).max(1.0);
    if study.study.measure.per_link {
        result.per_link = all_links
            .iter()
            .map(|(node, direction, counts)| {
                let b = share(counts);
                LinkRow {
                    node: torus.coordinates(*node)[..dimensions].iter().map(|&x| x.into()).collect(),
                    direction: *direction,
                    utilization: used(counts),
                    payload: b.payload() * one,
                    acks: b.acks * one,
                    by_class: scaled(b.by_class(), one),
                }
            })
            .collect();
    }
}

/// How full the receivers' buffers were, of this many links.
pub(crate) fn occupancy(study: &ResolvedStudy, windows: &[WindowRecord], links: f64) -> Occupancy {
    let mut sum = [0u64; 8];
    windows.iter().for_each(|w| (0..8).for_each(|vc| sum[vc] += w.occupancy[vc]));
    let ticks = windows.len() as f64 * study.window() as f64;
    let chunks = class_chunks(study.torus(), &sum).map(|c| c as f64 / (ticks * links).max(1.0));
    let [a, b, c] = CLASSES.map(|class| f64::from(study.torus().room(class)));
    Occupancy {
        mean_chunks: ByClass { dynamic: chunks[0], escape: chunks[1], high: chunks[2] },
        fraction: ByClass { dynamic: chunks[0] / a, escape: chunks[1] / b, high: chunks[2] / c },
    }
}

/// The curves over time.
pub(crate) fn series(study: &ResolvedStudy, windows: &[WindowRecord], links: f64, nodes: f64) -> Vec<Series> {
    let network = study.torus();
    let cycles = study.window();
    let window_us = study.micros(cycles);
    let curve = |chart: &str, name: &str, unit: &str, f: &dyn Fn(&WindowRecord) -> f64| {
        curve(study, windows, (chart, name, unit), f)
    };
    let scale = per_tick(network, links, cycles as f64);
    let p = &network.packet;
    let headers = f64::from(p.header_B + p.software_header_B);
    let mut all = vec![
        curve("Throughput", "payload delivered", "MB/s per node", &|w| {
            (w.delivered_chunks as f64 * f64::from(p.chunk_B) - w.delivered as f64 * headers)
                / window_us
                / nodes
        }),
        curve("Link utilization", "all bytes", "fraction", &|w| utilization(study, w, links)),
    ];
    for (vc, VcOutline { name, .. }) in network.vcs.iter().enumerate() {
        all.push(curve("Link utilization by VC", name, "fraction", &|w| {
            w.chunks_by_vc[vc] as f64 * f64::from(p.chunk_B) * scale
        }));
        all.push(curve("Buffer occupancy", name, "chunks", &|w| {
            w.occupancy[vc] as f64 / cycles as f64 / links.max(1.0)
        }));
    }
    all.push(curve("Latency", "since made, mean of those delivered", "us", &|w| {
        study.micros(1) * w.latency as f64 / (w.delivered as f64).max(1.0)
    }));
    if study.study.measure.unblocking {
        let chart = "Token-acks that free a blocked packet";
        all.push(curve(chart, "of those to nodes with blocked packets", "fraction", &|w| {
            w.unblocking as f64 / (w.hoped_for as f64).max(1.0)
        }));
        all.push(curve(chart, "of all", "fraction", &|w| {
            w.unblocking as f64 / (w.token_acks as f64).max(1.0)
        }));
    }
    all
}

fn stall<B: NodeBlock<Host: Driver>>(
    study: &ResolvedStudy,
    network: &Network<B>,
    report: &router::StallReport,
) -> StallReport {
    let torus = network.torus();
    let n = torus.dimensions();
    // Packets without a VC of their own are in the bypass.
    let vc = |number: usize| study.torus().vcs.get(number).map_or("bypass", |vc| &vc.name);
    let output = |o: &PossibleOutput| {
        let tokens = o.tokens.unwrap_or_default();
        format!("{} {} ({tokens} free)", direction_name(o.port as u8), vc(o.vc))
    };
    let at_injection = report.waiting.iter().filter(|w| w.port.is_none()).count();
    let examples = report.waiting.iter().take(20).map(|w| WaitingPacket {
        at: torus.coordinates(w.node)[..n].iter().map(|&x| x.into()).collect(),
        buffer: match w.port {
            Some(port) => format!("{} {}", direction_name(port as u8), vc(w.slot)),
            None => format!("injection FIFO {}", w.slot),
        },
        destination: w.destination[..n].to_vec(),
        chunks: w.chunks,
        place: String::new(),
        waits_for: if w.outputs.is_empty() {
            "its reception FIFO".into()
        } else {
            format!("tokens of {}", w.outputs.iter().map(output).collect::<Vec<_>>().join(" or "))
        },
    });
    StallReport {
        since_us: study.micros(network.now().ticks()),
        packets_waiting: report.in_flight.max(0) as u64 + at_injection as u64,
        examples: examples.collect(),
    }
}

/// The sums of the performance counters of all links, if they are on.
fn counters<B: NodeBlock>(study: &ResolvedStudy, network: &mut Network<B>, ticks: f64) -> Option<Counters> {
    let all = network.counters();
    if all.is_empty() || ticks == 0.0 {
        return None;
    }
    let (mut chunks, mut packets, mut queued) = ([0; 4], 0, 0);
    for (_, _, port) in &all {
        chunks.iter_mut().zip(port.chunks).for_each(|(sum, chunks)| *sum += chunks);
        (packets, queued) = (packets + port.packets, queued + port.queued);
    }
    let waits = &network.totals().waits;
    let waited: f64 = waits.iter().map(|w| w.mean() * w.count() as f64).sum();
    let moved: u64 = waits.iter().map(Histogram::count).sum();
    let ns = |ticks: f64| ticks * study.micros(1) * 1e3;
    Some(Counters {
        chunks,
        packets,
        queue_packets: queued as f64 / ticks / all.len() as f64,
        wait_ns: ns(queued as f64 / (packets as f64).max(1.0)),
        measured_wait_ns: ns(waited / (moved as f64).max(1.0)),
    })
}
