//! From what a network of switches and its nodes counted to the figures of a result.

use super::throughput::Load;
use super::{Readout, Span, common, curve, jobs, latency, utilization};
use crate::driver::Driver;
use netloom_engine::Time;
use netloom_fabric::config::SwitchedTopology;
use netloom_fabric::histogram::Histogram;
use netloom_fabric::host::Host;
use netloom_fabric::router::tiled::{ErrorKind, FirstError, Reroute};
use netloom_fabric::router::tiled::{TileCounts, TiledBlock, TiledFamily, TiledNetwork};
use netloom_fabric::router::{self, RouterBlock, WindowRecord};
use netloom_fabric::topology::wiring::Wiring;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{
    ClassUse, ExtentBin, FaultFigures, FirstErrorFigures, LevelUse, LinkSummary, PortRow, Reordering,
    RerouteFigures, ResponseFigures, RunResult, Series, StallReport, SwitchedFigures, WaitingPacket,
};
use netloom_workload::traffic::{Counts, SwitchedPlan};
use std::sync::Arc;

/// The unit of rates of nodes.
const UNIT: &str = "flits/tick";

/// How networks of tiled routers are read out.
#[derive(Clone, Debug)]
pub(crate) struct SwitchedReadout {
    /// Flits that a node offers in a tick; none for as many as go.
    pub offered: Option<f64>,
    /// Offered load of nodes without programs.
    pub plan: Option<Arc<SwitchedPlan>>,
}

impl<H: Host<TiledFamily> + Driver> Readout<TiledBlock<H>> for SwitchedReadout {
    fn links(&self, network: &mut TiledNetwork<H>) -> f64 {
        links(network.shape().wiring()) as f64
    }

    fn result(
        &self,
        study: &ResolvedStudy,
        network: &mut TiledNetwork<H>,
        span: Span,
        links: f64,
    ) -> RunResult {
        let mut result = common(study, network, span);
        // Programs on network interfaces do not count packets, and some may be lost.
        let so_far = network.so_far();
        result.totals.packets_injected = so_far.injected;
        result.totals.packets_delivered = so_far.delivered;
        let ticks = (span.to - span.from) as f64;
        let wiring = network.shape().wiring().clone();
        let rows = rows(&wiring, &network.tiles(), ticks);
        let (mut own, mut counts) = (Counts::default(), Counts::default());
        network.blocks().filter_map(|b| b.host().counts()).for_each(|c| own.add(c));
        network.gather(own).iter().for_each(|c| counts.add(c));
        let nodes = f64::from(wiring.nodes());
        let per_tick = |flits: u64| flits as f64 / (ticks * nodes).max(1.0);
        let seconds = ticks / study.machine.ticks_per_second() as f64;
        let hops = counts.hops[..=counts.max_hops() as usize].to_vec();
        let packets = (counts.packets() as f64).max(1.0);
        // Links count all packets, also those of programs.
        let counted = (!study.study.workload.runs_programs()).then_some(packets);
        let payload = counts.requests.payload_bytes + counts.responses.payload_bytes;
        result.links = summary(&rows);
        result.switched = Some(SwitchedFigures {
            offered_flits_per_tick: self.offered,
            accepted_flits_per_tick: per_tick(counts.requests.size + counts.responses.size),
            bound_flits_per_tick: self
                .plan
                .as_ref()
                .filter(|_| study.study.measure.bound)
                .and_then(|plan| plan.bound(&study.switched().config)),
            accepted_payload_GB_per_s: payload as f64 / 1e9 / (seconds * nodes).max(f64::MIN_POSITIVE),
            hops_mean: counts.mean_hops(),
            hops_max: counts.max_hops(),
            packets_by_hops: hops,
            nonminimal_share: counts.nonminimal as f64 / packets,
            responses: study.study.traffic.responses.then(|| ResponseFigures {
                requests: counts.requests.packets,
                responses: counts.responses.packets,
                request_flits_per_tick: per_tick(counts.requests.size),
                response_flits_per_tick: per_tick(counts.responses.size),
                round_trip: latency(study, &counts.round_trip),
            }),
            reordering: study.study.measure.reordering.then(|| reordering(&counts.reordering)),
            classes: wiring.classes().iter().map(|class| class_use(class, &rows, counted)).collect(),
            faults: faults(study, network, &wiring),
            levels: levels(&study.switched().config.topology, &rows),
        });
        let unit = jobs::Unit {
            name: UNIT,
            offered: &|rate| rate.offered,
            accepted: &|counts, node_ticks| counts.arrived.size as f64 / node_ticks,
        };
        let plan = self.plan.as_ref().map(|plan| plan.plan());
        result.jobs = jobs::figures(study, network, plan, span, &unit);
        if study.study.measure.per_link {
            result.ports = rows;
        }
        let mut windows = network.windows();
        windows.truncate(span.to.div_ceil(study.window()) as usize);
        result.series = series(study, &windows, links, nodes);
        if let Some(report) = network.stall() {
            result.stall = Some(stall(study, network.now(), &wiring, &report));
        }
        result
    }

    fn load(&self, study: &ResolvedStudy, result: &RunResult, windows: &[WindowRecord]) -> Load {
        let ticks = study.window() as f64 * f64::from(study.switched().wiring.nodes());
        // The offered load consists of requests alone.
        let responses = result.switched.as_ref().and_then(|s| s.responses.as_ref());
        let requests = responses.map_or(1.0, |r| {
            r.request_flits_per_tick / (r.request_flits_per_tick + r.response_flits_per_tick).max(1e-300)
        });
        Load {
            unit: UNIT,
            offered: self.offered,
            accepted: windows.iter().map(|w| w.delivered_chunks as f64 / ticks * requests).collect(),
        }
    }
}

/// Errors and failures, if any were configured.
fn faults<H: Host<TiledFamily>>(
    study: &ResolvedStudy,
    network: &mut TiledNetwork<H>,
    wiring: &Wiring,
) -> Option<FaultFigures> {
    if study.switched().config.faults.is_none() {
        return None;
    }
    let f = network.faults();
    let reroute = |r: &Reroute| RerouteFigures {
        failed_at_us: study.micros(r.failed_at.ticks()),
        notice_us: study.micros(r.noticed_at - r.failed_at),
        compute_us: study.micros(r.quiesced_at - r.noticed_at),
        quiesce_us: study.micros(r.released_at - r.quiesced_at),
        left: r.left,
        released_at_us: study.micros(r.released_at.ticks()),
    };
    let first = |e: FirstError| FirstErrorFigures {
        at_us: study.micros(e.at.ticks()),
        place: wiring.place(e.router).into(),
        tile: e.tile as u32,
        what: match e.kind {
            ErrorKind::Link => "a link failed",
            ErrorKind::Lane => "lanes failed",
            ErrorKind::Set => "a set with a wrong CRC",
            ErrorKind::Corrected => "a wrong bit in a memory, corrected",
            ErrorKind::Contained => "two wrong bits in a memory, contained",
            ErrorKind::NoRoute => "a packet without a route",
        }
        .into(),
    };
    Some(FaultFigures {
        corrupted_sets: f.links.corrupted_sets,
        repeated_flits: f.links.repeated_flits,
        escaped_sets: f.links.escaped_sets,
        lost_on_links: f.lost_on_links,
        lost_in_routers: f.lost_in_routers,
        without_route: f.without_route,
        without_header: f.without_header,
        words_corrected: f.words_corrected,
        words_contained: f.words_contained,
        damaged: f.delivered_damaged,
        timeouts: 0,
        reroutes: network.overseer().done.iter().map(reroute).collect(),
        first_errors: network.first_errors().into_iter().take(20).map(first).collect(),
    })
}

/// Links, each direction counted.
fn links(wiring: &Wiring) -> usize {
    let of = |router| (0..wiring.ports()).filter(move |&port| wiring.end(router, port).is_some()).count();
    (0..wiring.routers()).map(of).sum()
}

/// The links, from what each tile has sent; tiles of nodes left out.
fn rows(wiring: &Wiring, tiles: &[(u32, usize, TileCounts)], ticks: f64) -> Vec<PortRow> {
    let row = |&(router, port, counts): &(u32, usize, TileCounts)| {
        let end = (port < wiring.ports()).then(|| wiring.end(router, port)).flatten()?;
        Some(PortRow {
            router,
            port: port as u8,
            group: wiring.group(router),
            class: wiring.classes()[usize::from(end.class)].clone(),
            to: end.router,
            to_group: wiring.group(end.router),
            // Packets that began to leave are counted whole, so a full link may exceed its capacity by one
            // packet.
            utilization: (counts.busy_milliticks as f64 / 1000.0 / ticks.max(1.0)).min(1.0),
            flits: counts.flits,
            packets: counts.packets,
        })
    };
    tiles.iter().filter_map(row).collect()
}

/// Mean, least and most of what links are used; zeros of none.
fn spread<'a>(rows: impl Iterator<Item = &'a PortRow>) -> (u64, f64, f64, f64) {
    let (mut count, mut sum, mut least, mut most) = (0u64, 0.0, f64::INFINITY, 0.0f64);
    for row in rows {
        count += 1;
        sum += row.utilization;
        (least, most) = (least.min(row.utilization), most.max(row.utilization));
    }
    (count, sum / (count as f64).max(1.0), if count == 0 { 0.0 } else { least }, most)
}

fn summary(rows: &[PortRow]) -> LinkSummary {
    let (count, mean_utilization, min_utilization, max_utilization) = spread(rows.iter());
    LinkSummary { count, mean_utilization, min_utilization, max_utilization, torus: None }
}

fn class_use(class: &str, rows: &[PortRow], packets: Option<f64>) -> ClassUse {
    let of = || rows.iter().filter(|row| row.class == class);
    let (links, mean_utilization, min_utilization, max_utilization) = spread(of());
    let hops = packets.map(|packets| of().map(|row| row.packets).sum::<u64>() as f64 / packets);
    ClassUse { class: class.into(), links, mean_utilization, min_utilization, max_utilization, hops }
}

/// By how much packets arrived out of order.
fn reordering(extents: &Histogram) -> Reordering {
    let histogram: Vec<ExtentBin> =
        extents.bins().map(|(from, to, packets)| ExtentBin { from, to: to - 1, packets }).collect();
    let in_order = histogram.iter().filter(|bin| bin.from == 0).map(|bin| bin.packets).sum::<u64>();
    let (packets, reordered) = (extents.count(), (extents.count() - in_order) as f64);
    Reordering {
        packets,
        reordered_share: reordered / (packets as f64).max(1.0),
        extent_mean: extents.mean() * packets as f64 / reordered.max(1.0),
        extent_p99: extents.quantile(0.99),
        extent_max: extents.max(),
        histogram,
    }
}

/// The levels of a fat tree; none of other machines.
fn levels(topology: &SwitchedTopology, rows: &[PortRow]) -> Vec<LevelUse> {
    let SwitchedTopology::FatTree(tree) = topology else { return vec![] };
    let both = |level| [true, false].map(|up| LevelUse::of(level as u32, up, rows));
    (0..tree.up.len()).flat_map(both).collect()
}

/// The curves over time.
fn series(study: &ResolvedStudy, windows: &[WindowRecord], links: f64, nodes: f64) -> Vec<Series> {
    let cycles = study.window() as f64;
    let network = &study.switched().config;
    let mut all = vec![
        curve(study, windows, ("Throughput", "flits delivered", "flits/tick per node"), &|w| {
            w.delivered_chunks as f64 / cycles / nodes
        }),
        curve(study, windows, ("Link utilization", "all flits", "fraction"), &|w| {
            utilization(study, w, links)
        }),
    ];
    for vc in 0..network.vcs() as usize {
        let is_response = vc as u32 >= network.router.vcs;
        if is_response && !study.study.traffic.responses {
            break;
        }
        let chart = if is_response { "Flits of responses on links by VC" } else { "Flits on links by VC" };
        let name = format!("VC {}", vc as u32 % network.router.vcs);
        all.push(curve(study, windows, (chart, &name, "flits/tick per link"), &|w| {
            w.chunks_by_vc[vc] as f64 / cycles / links.max(1.0)
        }));
    }
    all.push(curve(study, windows, ("Latency", "since made, mean of those delivered", "us"), &|w| {
        study.micros(1) * w.latency as f64 / (w.delivered as f64).max(1.0)
    }));
    all
}

fn stall(study: &ResolvedStudy, now: Time, wiring: &Wiring, report: &router::StallReport) -> StallReport {
    let at_injection = report.waiting.iter().filter(|w| w.port.is_none()).count();
    let examples = report.waiting.iter().take(20).map(|w| WaitingPacket {
        at: vec![w.node],
        place: wiring.place(w.node).into(),
        buffer: match w.port {
            Some(tile) => format!("tile {tile} VC {}", w.slot),
            None => format!("injection FIFO {}", w.slot),
        },
        destination: w.destination.clone(),
        chunks: w.chunks,
        waits_for: match w.outputs.first() {
            Some(output) => format!("room in VC {} behind tile {}", output.vc, output.port),
            None => "a route".into(),
        },
    });
    StallReport {
        since_us: study.micros(now.ticks()),
        packets_waiting: report.in_flight.max(0) as u64 + at_injection as u64,
        examples: examples.collect(),
    }
}
