//! What others measured on these machines (`published/further.toml`): as much of it as messages between two
//! nodes give.

use super::pami;
use super::{Bench, Finding, Judge, programs::rows};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;

const MESSAGES: (&str, &str) =
    ("studies/further/messages.toml", include_str!("../../../../studies/further/messages.toml"));

/// Those who judge the tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "further.bgq_mpi", judge: bgq_mpi },
        Judge { table: "further.bgq_hop", judge: bgq_hop },
        Judge { table: "further.bgq_one_way", judge: bgq_one_way },
        Judge { table: "further.bgq_short", judge: bgq_short },
        Judge { table: "further.xc_ping_pong", judge: xc_ping_pong },
        Judge { table: "further.xc_bandwidth_by_ranks", judge: xc_bandwidth_by_ranks },
        Judge { table: "further.xc_osu", judge: xc_osu },
        Judge { table: "further.xc_latency_by_distance", judge: xc_latency_by_distance },
    ]
}

/// Two nodes that exchange messages.
struct Pair<'a> {
    /// The machine, and changes to it.
    machine: &'a [&'a str],
    /// The rank that rank 0 exchanges messages with.
    partner: &'a str,
}

/// Neighbours in D of a midplane of Blue Gene/Q.
const BGQ: Pair = Pair { machine: &["machine=bgq"], partner: "2" };
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
        Ok(rows(bench, MESSAGES, &sets)?.first().map_or(f64::NAN, |row| row[1]))
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

fn bgq_mpi(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let in_e = BGQ.with("1");
    let [long, long_in_e] = [&BGQ, &in_e].map(|pair| pair.bandwidth_GB_per_s(bench, 4 << 20));
    let (long, long_in_e) = (long?, long_in_e?);
    Ok(vec![
        BGQ.found("bgq_mpi[latency between neighbours, us].value", BGQ.latency_us(bench, 0)?),
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
    Ok(vec![BGQ.found("bgq_one_way[ARMCI, peak].MB_per_s", long * 1e3)])
}

/// The times of PAMI's calls that its own authors measured, to which its steps are fitted.
fn bgq_short(bench: &Bench) -> Result<Vec<Finding>, Problem> {
    let of_the_paper = pami::latency(bench)?.into_iter().filter_map(|finding| match finding {
        Finding::Figure { id, simulated, note, .. } => {
            let id = id.strip_prefix("pami.table1_pami_latency[")?.strip_suffix("].latency_us")?;
            Some(Finding::figure(format!("further.bgq_short[{id}].us"), simulated, note, Evidence::Derived))
        }
        _ => None,
    });
    Ok(of_the_paper.collect())
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
