//! Measurements of these machines by others (`published/further.toml`): messages between nodes, random rings,
//! all-to-alls, broadcasts, puts, atomics and collectives. Quick runs omit what takes minutes.

use super::pami;
use super::{Bench, Finding, Judge, programs};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::load_machine;

macro_rules! study {
    ($path:literal) => {
        (concat!("studies/", $path, ".toml"), include_str!(concat!("../../../../studies/", $path, ".toml")))
    };
}

const MESSAGES: (&str, &str) = study!("further/messages");
const RING: (&str, &str) = study!("further/random-ring");
const ALL_TO_ALL: (&str, &str) = study!("further/all-to-all");
const SHIFT: (&str, &str) = study!("further/shift");
const ONE_SIDED: (&str, &str) = study!("further/one-sided");
const PAIRINGS: (&str, &str) = study!("further/pairings");
const ENDLESS: (&str, &str) = study!("further/endless-all-to-all");
const BGL_ENDLESS: (&str, &str) = study!("further/bgl-all-to-all");
const RECTANGLE: (&str, &str) = study!("pami/rectangle-broadcast");
const ALLREDUCE: (&str, &str) = study!("pami/allreduce-throughput");
const GNI_LATENCY: (&str, &str) = study!("xc/put-get-latency");
const GNI_BANDWIDTH: (&str, &str) = study!("xc/put-bandwidth");
const AMO_RATES: (&str, &str) = study!("xc/amo-rates");
const GLEX_COLLECTIVES: (&str, &str) = study!("th/collectives");

/// Those who judge the tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "further.bgl_all_to_all", judge: bgl_all_to_all },
        Judge { table: "further.bgl_link_load", judge: bgl_link_load },
        Judge { table: "further.bgq_mpi", judge: bgq_mpi },
        Judge { table: "further.bgq_hop", judge: bgq_hop },
        Judge { table: "further.bgq_shift", judge: bgq_shift },
        Judge { table: "further.bgq_under_the_hood", judge: bgq_under_the_hood },
        Judge { table: "further.bgq_random_access", judge: bgq_random_access },
        Judge { table: "further.bgq_alltoall", judge: bgq_alltoall },
        Judge { table: "further.bgq_broadcast", judge: bgq_broadcast },
        Judge { table: "further.bgq_allreduce", judge: bgq_allreduce },
        Judge { table: "further.bgq_one_way", judge: bgq_one_way },
        Judge { table: "further.bgq_short", judge: bgq_short },
        Judge { table: "further.xc_ping_pong", judge: xc_ping_pong },
        Judge { table: "further.xc_random_ring", judge: xc_random_ring },
        Judge { table: "further.xc_all_to_all", judge: xc_all_to_all },
        Judge { table: "further.xc_bandwidth_by_ranks", judge: xc_bandwidth_by_ranks },
        Judge { table: "further.xc_put", judge: xc_put },
        Judge { table: "further.xc_put_stream", judge: xc_put_stream },
        Judge { table: "further.xc_transfer", judge: xc_transfer },
        Judge { table: "further.xc_osu", judge: xc_osu },
        Judge { table: "further.xc_atomics", judge: xc_atomics },
        Judge { table: "further.xc_latency_by_distance", judge: xc_latency_by_distance },
        Judge { table: "further.th_collectives", judge: th_collectives },
        Judge { table: "further.th_broadcast", judge: th_broadcast },
    ]
}

/// The value in this column of a program's only row.
fn only(rows: &[Vec<f64>], column: usize) -> f64 {
    rows.first().and_then(|row| row.get(column)).copied().unwrap_or(f64::NAN)
}

/// Two nodes that exchange messages.
struct Pair<'a> {
    /// The machine, and changes to it.
    machine: &'a [&'a str],
    /// The rank that rank 0 exchanges messages with.
    partner: &'a str,
}

/// Neighbours in D of a midplane of Blue Gene/Q, and its neighbours in E.
const BGQ: Pair = Pair { machine: &["machine=bgq"], partner: "64" };
const IN_E: &str = "256";
/// Nodes of neighbouring blades of a chassis of Cray XC, in a quiet system.
const XC: Pair = Pair { machine: &["machine=xc", "topology.groups=1", "topology.cables=1"], partner: "4" };
/// Messages on their way at once for a bandwidth: more change nothing.
const WINDOW: &str = "workload.window=8";

impl<'a> Pair<'a> {
    fn with(&self, partner: &'a str) -> Self {
        Pair { machine: self.machine, partner }
    }

    /// What a program measures with messages of this length.
    fn measure(&self, bench: &Bench, bytes: u32, program: &[&str]) -> Result<f64, Problem> {
        let partner = format!("workload.partner={}", self.partner);
        let bytes = format!("workload.sizes_B=[{bytes}]");
        let sets = [self.machine, &[&partner, &bytes], program].concat();
        Ok(only(&programs::rows(bench, MESSAGES, &sets)?, 1))
    }

    /// Half a round trip, us.
    fn latency_us(&self, bench: &Bench, bytes: u32) -> Result<f64, Problem> {
        self.measure(bench, bytes, &[])
    }

    /// Bandwidth one way, GB/s.
    #[allow(non_snake_case)]
    fn bandwidth_GB_per_s(&self, bench: &Bench, bytes: u32) -> Result<f64, Problem> {
        let program = ["workload.program=bw", WINDOW, "workload.warmup=1", "workload.iterations=2"];
        self.measure(bench, bytes, &program)
    }

    fn note(&self) -> String {
        format!("{}, {}, with rank {}", MESSAGES.0, self.machine.join(", "), self.partner)
    }

    fn found(&self, id: &str, simulated: f64) -> Finding {
        Finding::run(format!("further.{id}"), simulated, self.note())
    }
}

/// A quarter of a midplane, which is open along its sides of two (see [`partition`]).
const BGQ_128: &[&str] =
    &["machine=bgq", "topology.dims=[2,2,4,4,2]", "topology.wrap=[false,false,true,true,true]"];

fn bgq_mpi(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let among_128 = |partner| Pair { machine: BGQ_128, partner };
    let [nearest, farthest] = ["nearest", "farthest"].map(among_128);
    let in_e = BGQ.with(IN_E);
    let [long, long_in_e] = [&BGQ, &in_e].map(|pair| pair.bandwidth_GB_per_s(bench, 4 << 20));
    let (long, long_in_e) = (long?, long_in_e?);
    Ok(vec![
        BGQ.found("bgq_mpi[latency between neighbours, us].value", BGQ.latency_us(bench, 0)?),
        nearest.found("bgq_mpi[least latency among 128, us].value", nearest.latency_us(bench, 0)?),
        farthest.found("bgq_mpi[greatest latency among 128, us].value", farthest.latency_us(bench, 0)?),
        BGQ.found("bgq_mpi[bandwidth of long messages, GB/s].value", long),
        in_e.found(
            "bgq_mpi[bandwidth between neighbours in E over that of others, times].value",
            long_in_e / long,
        ),
    ])
}

/// From a neighbour to the farthest node of a midplane, nine hops away.
fn bgq_hop(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let far = BGQ.with("farthest");
    let [near_us, far_us] = [&BGQ, &far].map(|pair| pair.latency_us(bench, 0));
    Ok(vec![far.found("bgq_hop.latency_ns", (far_us? - near_us?) / 8.0 * 1e3)])
}

fn bgq_one_way(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let long = BGQ.bandwidth_GB_per_s(bench, 4_000_000)?;
    let mut findings = vec![BGQ.found("bgq_one_way[ARMCI, peak].MB_per_s", long * 1e3)];
    // To a neighbour in E there are two links.
    let to = [BGQ.partner, IN_E].map(|to| format!("workload.to={to}"));
    let [in_d, in_e] = to.map(|to| programs::rows(bench, ONE_SIDED, &[&to]));
    let (in_d, in_e) = (in_d?, in_e?);
    for (what, simulated) in [
        ("PAMI_Rget", only(&in_d, 1)),
        ("PAMI_Rget between neighbours in E", only(&in_e, 1)),
        ("PAMI_Rput", only(&in_d, 2)),
    ] {
        findings.push(Finding::run(format!("further.bgq_one_way[{what}].MB_per_s"), simulated, ONE_SIDED.0));
    }
    Ok(findings)
}

/// All distances, of which the ends of the range were published.
fn bgq_shift(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    if bench.quick {
        return Ok(vec![]);
    }
    let distances: Vec<u32> = (1..128).collect();
    let rows = programs::rows(bench, SHIFT, &[&format!("workload.distances={distances:?}")])?;
    let mb_per_s = |row: &Vec<f64>| row[2] * 1e3;
    let by_rate = |a: &&Vec<f64>, b: &&Vec<f64>| a[2].total_cmp(&b[2]);
    let ends = [("lowest", rows.iter().min_by(by_rate)), ("highest", rows.iter().max_by(by_rate))];
    let figure = |(which, row): (&str, Option<&Vec<f64>>)| {
        let row = row?;
        let note = format!("{}, all distances; distance {}", SHIFT.0, row[1]);
        Some(Finding::run(format!("further.bgq_shift[{which}].MB_per_s"), mb_per_s(row), note))
    };
    Ok(ends.into_iter().filter_map(figure).collect())
}

/// The longest side of the torus of pairings.
const PAIRINGS_LONGEST: f64 = 16.0;

/// The network and its FIFOs, without a library. A node's peak is what the two links of the longest dimension
/// carry, 2 x 1.8 GB/s, over its packets' mean hops along it: a quarter of its length for an all-to-all, half
/// of it for pairings.
fn bgq_under_the_hood(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    if bench.quick {
        return Ok(vec![]);
    }
    let mut findings = vec![];
    for (pattern, sets, length_over_hops, instead) in [
        (
            "all-to-all, at least",
            &["workload={kind='all-to-all'}", "traffic.zone=0"][..],
            4.0,
            "the network alone, 100 to 300 us",
        ),
        (
            "bisection pairings, at least",
            &[],
            2.0,
            "the network alone, the best of four zones, 100 to 300 us",
        ),
    ] {
        let [mb_per_s] = programs::figures(bench, PAIRINGS, sets, ["throughput.accepted"])?;
        let fraction = mb_per_s / 1e3 * PAIRINGS_LONGEST / (length_over_hops * 2.0 * 1.8);
        let id = format!("further.bgq_under_the_hood[{pattern}].fraction_of_peak");
        findings.push(Finding::run(id, fraction, PAIRINGS.0).instead(Some(instead.into())));
    }
    Ok(findings)
}

/// The network's share: an all-to-all of packets with four updates of 8 B each. HPCC lets a process hold 1,024
/// updates back, so the 64 of a node hold four for each of 16,384 nodes. Which packets the tuned program sent
/// is not known.
fn bgq_random_access(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    if bench.quick {
        return Ok(vec![]);
    }
    const NODES: f64 = 16384.0;
    // Chunks of 32 B: the header's, and four updates.
    let sets = ["workload={kind='all-to-all'}", "traffic.zone=0", "traffic.packet_chunks=2"];
    let [mb_per_s] = programs::figures(bench, PAIRINGS, &sets, ["throughput.accepted"])?;
    let updates_per_ns = mb_per_s / 1e3 / 8.0 * NODES;
    let instead = "the network alone, packets of four updates, 100 to 300 us";
    let finding = Finding::run("further.bgq_random_access.updates_per_ns", updates_per_ns, PAIRINGS.0);
    Ok(vec![finding.instead(Some(instead.into()))])
}

/// The times of PAMI's calls that its own authors measured, to which its steps are fitted; and a get of 8 B.
fn bgq_short(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let of_the_paper = pami::latency(bench)?.into_iter().filter_map(|finding| match finding {
        Finding::Figure { id, simulated, note, .. } => {
            let id = id.strip_prefix("pami.table1_pami_latency[")?.strip_suffix("].latency_us")?;
            Some(Finding::figure(format!("further.bgq_short[{id}].us"), simulated, note, Evidence::Derived))
        }
        _ => None,
    });
    let mut findings: Vec<Finding> = of_the_paper.collect();
    const BYTES: f64 = 8.0;
    let sets = [
        format!("workload.to={}", BGQ.partner),
        format!("workload.bytes={BYTES}"),
        "workload.rounds=20".into(),
    ];
    let mb_per_s = only(&programs::rows(bench, ONE_SIDED, &sets.each_ref().map(String::as_str))?, 1);
    let get = Finding::run("further.bgq_short[ARMCI get].us", BYTES / mb_per_s, ONE_SIDED.0);
    findings.push(get.instead(Some(format!("PAMI_Rget of {BYTES} B, without ARMCI"))));
    Ok(findings)
}

fn xc_ping_pong(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    const LONG: u32 = 2_000_000;
    let [short_us, long_us] = [8, LONG].map(|bytes| XC.latency_us(bench, bytes));
    Ok(vec![
        XC.found("xc_ping_pong[8 B, us].value", short_us?),
        XC.found("xc_ping_pong[2,000,000 B, GB/s].value", f64::from(LONG) / long_us? / 1e3),
    ])
}

fn xc_osu(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    Ok(vec![
        XC.found("xc_osu[bandwidth, GB/s].value", XC.bandwidth_GB_per_s(bench, 4 << 20)?),
        XC.found("xc_osu[latency, us].value", XC.latency_us(bench, 8)?),
    ])
}

/// One rank a node, between two nodes of a router.
fn xc_bandwidth_by_ranks(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let pair = XC.with("1");
    let figure = |bytes: u32| {
        let id = format!("xc_bandwidth_by_ranks[1/{bytes}].GB_per_s");
        Ok(pair.found(&id, pair.bandwidth_GB_per_s(bench, bytes)?))
    };
    [512, 4096, 65_536, 4_194_304].map(figure).into_iter().collect()
}

/// Within a blade; to the next one; to the next chassis; to another group.
fn xc_latency_by_distance(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let far =
        Pair { machine: &["machine=xc", "topology.groups=2", "topology.cables=1"], partner: "farthest" };
    let pairs =
        [("blade", XC.with("1")), ("rank 1", XC.with("4")), ("rank 2", XC.with("64")), ("rank 3", far)];
    let figure = |(distance, pair): (&str, Pair)| {
        let id = format!("xc_latency_by_distance[{distance}].us");
        Ok(pair.found(&id, pair.latency_us(bench, 8)?))
    };
    pairs.map(figure).into_iter().collect()
}

/// An endless all-to-all of machines that take minutes, as a fraction of what their longest side carries.
fn bgl_all_to_all(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    // The whole takes hundreds of ms. A direct one's use of the links falls as buffers fill; in two phases
    // buffers are nearly empty.
    const SCHEDULES: [(&str, &[&str], &str); 2] = [
        ("direct", &[], "4 to 6 ms"),
        (
            "optimized, at least",
            &["workload.first_phase=\"x\"", "measure.warmup_us=1_000", "measure.time_us=1_500"],
            "1 to 1.5 ms",
        ),
    ];
    let of = |torus: &'static str| SCHEDULES.map(|schedule| (torus, schedule));
    let runs = if bench.quick { vec![] } else { ["64x32x32", "40x32x16"].map(of).concat() };
    let sets = |&(torus, (_, of_schedule, _)): &(&str, (_, &[&str], _))| {
        [dims(torus)].into_iter().chain(of_schedule.iter().map(|&set| set.to_owned())).collect::<Vec<_>>()
    };
    let sets: Vec<Vec<String>> = runs.iter().map(sets).collect();
    let figures =
        programs::figures_of_each(bench, BGL_ENDLESS, &sets, ["links.mean_utilization", "peak_of_shape"])?;
    let finding = |((torus, (schedule, _, span)), [used, peak]): ((_, (_, _, _)), [f64; 2])| {
        let id = format!("further.bgl_all_to_all[{torus}/{schedule}].fraction_of_peak");
        let finding = Finding::run(id, used / peak, format!("{}, {torus}", BGL_ENDLESS.0));
        finding.instead(Some(format!("{span} of an endless one in place of a whole call")))
    };
    Ok(runs.into_iter().zip(figures).map(finding).collect())
}

/// The setting of a torus of these sides.
fn dims(torus: &str) -> String {
    format!("topology.dims=[{}]", torus.replace('x', ","))
}

/// Packets of this much data with what comes back for each, as the machine's file has them.
fn bgl_link_load(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let machine = load_machine("bgl", &[])?;
    let packet = &machine.torus().ok_or_else(|| Problem::new("bgl is no torus"))?.packet;
    let figure = |payload: u32| {
        let chunks = (payload + packet.header_B + packet.software_header_B).div_ceil(packet.chunk_B);
        let load = packet.wire_B(chunks) + packet.ack_wire_B();
        let note = format!("{chunks} chunks of {} B, trailer and acknowledgement", packet.chunk_B);
        let id = format!("further.bgl_link_load[{payload}].load_B");
        Finding::figure(id, load.into(), note, Evidence::ClosedForm)
    };
    Ok([64, 128].map(figure).into())
}

/// The network's share in long messages, without MPI's software, for each torus by its ranks per node.
fn bgq_alltoall(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    const ROWS: [(&str, f64, &[u32]); 5] = [
        ("4x4x16x16x2", 16.0, &[16]),
        ("4x4x8x16x2", 16.0, &[16]),
        ("4x4x4x16x2", 16.0, &[16, 4, 1]),
        ("4x4x4x8x2", 8.0, &[16, 4, 1]),
        ("4x4x4x4x2", 4.0, &[16, 4, 1]),
    ];
    let sets = ROWS.map(|(torus, ..)| vec![dims(torus)]);
    let figures = programs::figures_of_each(bench, ENDLESS, &sets, ["throughput.accepted"])?;
    let mut findings = vec![];
    for ((torus, longest, ranks), [mb_per_s]) in ROWS.into_iter().zip(figures) {
        let fraction = mb_per_s / 1e3 * longest / (8.0 * 1.8);
        findings.extend(ranks.iter().map(|ranks| {
            let id = format!("further.bgq_alltoall[{torus}/{ranks}].fraction_of_peak");
            Finding::run(id, fraction, ENDLESS.0).instead(Some("the network alone in place of MPI".into()))
        }));
    }
    Ok(findings)
}

/// The settings of a partition of Blue Gene/Q of these sides: within a midplane its link chips leave a
/// dimension open that is shorter than the midplane's; rings are as long as one or several [Q II.G].
fn partition(torus: &str) -> [String; 2] {
    let sides = torus.split('x').zip([4, 4, 4, 4, 2]);
    let closes: Vec<bool> = sides.map(|(a, whole)| a.parse::<u32>().is_ok_and(|a| a >= whole)).collect();
    [dims(torus), format!("topology.wrap={closes:?}")]
}

/// 32 MiB over all links. More than 1,024 nodes take a quarter of an hour.
fn bgq_broadcast(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let tori = ["4x4x4x8x2", "4x4x4x4x2", "4x2x4x4x2", "2x2x4x4x2"];
    let tori = &tori[if bench.quick { tori.len() - 1 } else { 0 }..];
    let sets = |torus: &&str| {
        let [dims, wrap] = partition(torus);
        vec![dims, wrap, "workload.bytes=33_554_432".into()]
    };
    let sets: Vec<Vec<String>> = tori.iter().map(sets).collect();
    let figures = programs::figures_of_each(bench, RECTANGLE, &sets, ["measured.throughput_MB_per_s"])?;
    let finding = |(torus, [mb_per_s]): (&&str, [f64; 1])| {
        let id = format!("further.bgq_broadcast[{torus}].GB_per_s");
        Finding::run(id, mb_per_s / 1e3, format!("{}, 32 MiB", RECTANGLE.0))
    };
    Ok(tori.iter().zip(figures).map(finding).collect())
}

/// Sums of doubles over all nodes, one rank per node.
fn bgq_allreduce(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    const ROWS: [(&str, u32); 6] = [
        ("4x4x4x8x2", 33_554_432),
        ("4x4x4x4x2", 33_554_432),
        ("4x4x4x8x2", 8_388_608),
        ("4x4x4x4x2", 8_388_608),
        ("4x4x4x4x2", 1_048_576),
        ("4x4x4x4x2", 65_536),
    ];
    let rows = &ROWS[if bench.quick { 4 } else { 0 }..];
    let sets = |&(torus, bytes): &(&str, u32)| {
        vec![dims(torus), "workload.processes=1".into(), format!("workload.bytes={bytes}")]
    };
    let sets: Vec<Vec<String>> = rows.iter().map(sets).collect();
    let measured = programs::rows_of_each(bench, ALLREDUCE, &sets)?;
    let finding = |(&(torus, bytes), measured): (&(&str, u32), Vec<Vec<f64>>)| {
        let id = format!("further.bgq_allreduce[{torus}/{bytes}].us");
        Finding::run(id, only(&measured, 2), ALLREDUCE.0)
    };
    Ok(rows.iter().zip(measured).map(finding).collect())
}

/// Those of some numbers of nodes, the greatest first, that are run; a quick run has few nodes.
fn nodes_of<const N: usize>(bench: &Bench, nodes: [u32; N]) -> Vec<u32> {
    nodes.into_iter().filter(|&nodes| !bench.quick || nodes <= 4).collect()
}

fn xc_random_ring(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let nodes = nodes_of(bench, [256, 128, 32, 16, 8, 4, 2]);
    // Few nodes are soon done.
    let rings = |nodes: u32| (16 / nodes).max(1);
    let sets =
        |&nodes: &u32| vec![format!("workload.ranks={nodes}"), format!("workload.rings={}", rings(nodes))];
    let sets: Vec<Vec<String>> = nodes.iter().map(sets).collect();
    let rows = programs::rows_of_each(bench, RING, &sets)?;
    let finding = |(nodes, rows): (u32, Vec<Vec<f64>>)| {
        let note = format!("{}, the first nodes of a quiet machine, rings: {}", RING.0, rings(nodes));
        Finding::run(format!("further.xc_random_ring[{nodes}].GB_per_s"), only(&rows, 1), note)
    };
    Ok(nodes.into_iter().zip(rows).map(finding).collect())
}

/// More than 64 nodes take an hour.
fn xc_all_to_all(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let nodes = nodes_of(bench, [64, 32, 16, 8, 4, 2]);
    let sets: Vec<Vec<String>> = nodes.iter().map(|nodes| vec![format!("workload.ranks={nodes}")]).collect();
    let figures = programs::figures_of_each(bench, ALL_TO_ALL, &sets, ["simulated.run_time_us"])?;
    let finding = |(nodes, [us]): (u32, [f64; 1])| {
        let note = format!("{}, the first nodes of a quiet machine", ALL_TO_ALL.0);
        Finding::run(format!("further.xc_all_to_all[{nodes}].time_us"), us, note)
    };
    Ok(nodes.into_iter().zip(figures).map(finding).collect())
}

/// A put by FMA until its response has come.
fn xc_put(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let sizes = [8, 64, 512, 1024, 2048, 4096];
    let rows = programs::rows(bench, GNI_LATENCY, &[&format!("workload.sizes_B={sizes:?}")])?;
    let figure = |(row, bytes): (&Vec<f64>, i32)| {
        let id = format!("further.xc_put[{bytes}].us");
        Finding::run(id, row[3] / 1e3, format!("{}, one process, to the next blade", GNI_LATENCY.0))
    };
    Ok(rows.iter().zip(sizes).map(figure).collect())
}

/// A window of 64 puts until the last has ended, as OSU's benchmark has it; those of 2 KiB or more by the block
/// transfer engine, since the measured rate falls there. Short ones took the time of Open MPI and UCX, which is
/// not here.
fn xc_put_stream(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let sizes: Vec<u32> = (9..=17).map(|log2| 1 << log2).collect();
    let sets = |bytes: &u32| {
        [("bytes", *bytes), ("puts", 64), ("outstanding", 64), ("block_from_B", 2048)]
            .map(|(key, value)| format!("workload.{key}={value}"))
            .to_vec()
    };
    let sets: Vec<Vec<String>> = sizes.iter().map(sets).collect();
    let rows = programs::rows_of_each(bench, GNI_BANDWIDTH, &sets)?;
    let finding = |(bytes, rows): (&u32, Vec<Vec<f64>>)| {
        let id = format!("further.xc_put_stream[{bytes}].MB_per_s");
        let found = Finding::run(id, only(&rows, 1) * 1e3, GNI_BANDWIDTH.0);
        found.instead((*bytes < 16_384).then(|| "uGNI alone, without Open MPI and UCX".into()))
    };
    Ok(sizes.iter().zip(rows).map(finding).collect())
}

/// Arrays of 16 MiB, one after another: by FMA in parts of 1 MiB.
fn xc_transfer(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    const BY: [(&str, [&str; 3]); 2] = [
        ("FMA", ["bytes=1_048_576", "puts=16", "block_from_B=1_073_741_824"]),
        ("block transfer engine", ["bytes=16_777_216", "puts=2", "block_from_B=4096"]),
    ];
    let mut cases = vec![];
    for (by, sets) in BY {
        for (operation, gets) in [("put", "gets=false"), ("get", "gets=true")] {
            let sets = sets.iter().copied().chain([gets, "outstanding=1"]);
            let sets: Vec<String> = sets.map(|set| format!("workload.{set}")).collect();
            cases.push((format!("further.xc_transfer[{by}/{operation}].GB_per_s"), sets));
        }
    }
    let (ids, sets): (Vec<String>, Vec<Vec<String>>) = cases.into_iter().unzip();
    let rows = programs::rows_of_each(bench, GNI_BANDWIDTH, &sets)?;
    let finding = |(id, rows): (String, Vec<Vec<f64>>)| Finding::run(id, only(&rows, 1), GNI_BANDWIDTH.0);
    Ok(ids.into_iter().zip(rows).map(finding).collect())
}

/// The same run as for the paper's entry.
fn xc_atomics(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let rate = only(&programs::rows(bench, AMO_RATES, &[])?, 1);
    let note = format!("{}, one variable", AMO_RATES.0);
    Ok(vec![Finding::figure("further.xc_atomics.million_per_s", rate, note, Evidence::Derived)])
}

fn th_collectives(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let by = if bench.quick { vec![] } else { vec![("messages", false), ("interface", true)] };
    let sets = |(_, offload): &(&str, bool)| {
        let offload = format!("workload.offload={offload}");
        vec!["topology.down=[32,16,32]".to_owned(), "topology.up=[13,16]".into(), offload]
    };
    let sets: Vec<Vec<String>> = by.iter().map(sets).collect();
    let mut findings = vec![];
    for ((by, _), rows) in by.into_iter().zip(programs::rows_of_each(bench, GLEX_COLLECTIVES, &sets)?) {
        for (column, operation) in ["barrier", "broadcast"].into_iter().enumerate() {
            let id = format!("further.th_collectives[{operation}/{by}].us");
            let note = format!("{}, 16,384 nodes in a tree of the usual degree", GLEX_COLLECTIVES.0);
            findings.push(Finding::run(id, only(&rows, column), note));
        }
    }
    Ok(findings)
}

/// What a NIC broadcasts at once: 48 B of 1 KB.
fn th_broadcast(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    if bench.quick {
        return Ok(vec![]);
    }
    let sets =
        ["topology.down=[32,16,24]", "topology.up=[13,16]", "workload.offload=true", "workload.bytes=48"];
    let rows = programs::rows(bench, GLEX_COLLECTIVES, &sets)?;
    let finding = Finding::run("further.th_broadcast[1 KB, us].value", only(&rows, 1), GLEX_COLLECTIVES.0);
    Ok(vec![finding.instead(Some("48 B by the interface, 12,288 nodes, without MPI".into()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule II.G of the paper: a ring needs the midplane's length.
    #[test]
    fn partitions_are_open_along_sides_shorter_than_a_midplane() {
        let wrap = |torus| partition(torus)[1].clone();
        assert_eq!(wrap("2x2x4x4x2"), "topology.wrap=[false, false, true, true, true]");
        assert_eq!(wrap("4x4x4x4x2"), "topology.wrap=[true, true, true, true, true]");
        assert_eq!(wrap("4x4x4x8x2"), "topology.wrap=[true, true, true, true, true]");
    }
}
