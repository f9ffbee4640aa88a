//! `netloom machines describe`: what can be said of a machine without a run, for people.

use crate::args::{Sets, Size};
use netloom_study::diagnose::Problem;
use netloom_study::machine::{
    CableFacts, Facts, Machine, PackagingFacts, Rounding, Routers, SwitchedFacts, SwitchedMachine,
    TorusFacts, TorusMachine,
};
use netloom_study::number::{grouped, percent, plain, short};
use netloom_study::resolve::load_machine;
use std::io::Write;

/// Names and values.
type Rows = Vec<(&'static str, String)>;

/// What becomes of a machine's cables when it gets more groups.
pub(crate) fn upgrade(
    name: &str,
    before: &Machine,
    groups: u32,
    size: &Size,
    sets: &Sets,
) -> Result<CableFacts, Problem> {
    let after = load_machine(name, &Size { groups: Some(groups), ..size.clone() }.sets(sets))?;
    before.cables_when(&after).ok_or_else(|| {
        Problem::new(format!("{} has no bundles of cables between groups", before.title()))
            .help("--upgrade-to-groups is for machines with topology.cabling = \"bundles\", such as xc")
    })
}

/// Prints a machine.
pub(crate) fn describe(
    m: &Machine,
    upgrade: Option<&CableFacts>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let facts = m.facts();
    writeln!(out, "{} ({})", m.title(), m.name())?;
    let mut rows = vec![("shape", m.shape())];
    rows.extend(match (m, &facts) {
        (Machine::Torus(m), Facts::Torus(f)) => torus(m, f),
        (Machine::Switched(m), Facts::Switched(f)) => switched(m, f),
        _ => unreachable!("a machine's facts are of its own kind"),
    });
    if let Some(u) = upgrade {
        let value = format!("{} cables stay, {} are removed, {} are new", u.kept, u.removed, u.added);
        rows.push(("upgrade", format!("to {} groups: {value}", u.groups)));
    }
    for (name, value) in rows {
        writeln!(out, "  {name:<18}{value}")?;
    }
    if let Facts::Switched(f) = &facts {
        f.warnings.iter().try_for_each(|warning| writeln!(out, "  warning: {warning}"))?;
    }
    Ok(())
}

/// Relative rounding that is worth a line.
const NOTED: f64 = 0.001;

/// Prints which values of a machine's file are rounded, and by how much.
pub(crate) fn rounded(all: &[Rounding], out: &mut dyn Write) -> std::io::Result<()> {
    let mut noted = all.iter().filter(|rounding| rounding.error().abs() >= NOTED);
    noted.try_for_each(|rounding| writeln!(out, "  rounded: {}", rounding.sentence()))
}

/// Prints what is simulated in place of each value that has another unit in files.
pub(crate) fn simulated(all: &[Rounding], out: &mut dyn Write) -> std::io::Result<()> {
    let width = all.iter().map(|rounding| rounding.key.len()).max().unwrap_or_default();
    writeln!(out, "  {:<width$}  {:>12}  {:>12}  {:>7}  simulated", "key", "file", "used", "off by")?;
    all.iter().try_for_each(|rounding| {
        let Rounding { key, written, unit, simulated, simulated_as, used, .. } = rounding;
        let [written, used] = [written, used].map(|value| format!("{} {unit}", plain(*value)));
        let off = if rounding.error().abs() < 5e-5 {
            String::new()
        } else {
            format!("{:+.2}%", 100.0 * rounding.error())
        };
        writeln!(out, "  {key:<width$}  {written:>12}  {used:>12}  {off:>7}  {simulated_as} = {simulated}")
    })
}

fn torus(m: &TorusMachine, f: &TorusFacts) -> Rows {
    let cycle_ns = 1e9 / m.ticks_per_second as f64;
    let l = &m.link;
    let paths = match &m.router {
        Routers::Torus(router) => router.paths,
        Routers::Queued(router) => router.paths,
    };
    let vcs: Vec<String> =
        m.network().outline().vcs.iter().map(|vc| format!("{} {} chunks", vc.name, vc.chunks)).collect();
    vec![
        ("nodes", grouped(f.nodes as i64)),
        ("links", format!("{} (each direction counted)", grouped(f.links as i64))),
        ("link", format!("{} MB/s per direction", short(f.link_mb_per_s))),
        (
            "hop",
            format!(
                "{} ns ({} ticks of {} ns: receive {}, arbitrate {}, send {}, wire {})",
                short(f.hop_ns),
                l.hop_ticks(),
                short(cycle_ns),
                l.receive_ticks,
                l.arbitrate_ticks,
                l.send_ticks,
                l.wire_ticks
            ),
        ),
        (
            "distance",
            format!(
                "{} hops on average, {} at most: {} ns in the network for a packet of two chunks",
                short(f.mean_hops),
                f.diameter_hops,
                short(f.farthest_ns)
            ),
        ),
        (
            "bisection",
            format!(
                "{} GB/s over {} links, both directions",
                short(f.bisection_gb_per_s),
                grouped(f.bisection_links as i64)
            ),
        ),
        ("virtual channels", format!("{} a receiver: {}", f.virtual_channels, vcs.join(", "))),
        ("buffers", format!("{} KiB per node", short(f.buffer_kb_per_node))),
        ("paths", format!("{paths} from each receiver to the senders")),
        (
            "packets",
            format!(
                "up to {} chunks of {} B, {} B of payload",
                m.packet.chunks_max, m.packet.chunk_B, f.payload_of_full_packet_b
            ),
        ),
        (
            "all-to-all peak",
            format!(
                "{} of the links, {} payload",
                percent(f.peak_all_to_all_link_utilization),
                percent(f.peak_all_to_all_payload_utilization)
            ),
        ),
    ]
}

fn switched(m: &SwitchedMachine, f: &SwitchedFacts) -> Rows {
    let links = f.classes.iter().map(|c| format!("{} {}", grouped(c.links as i64), c.class));
    let rates = f.classes.iter().map(|c| format!("{} {} GB/s", c.class, short(c.flits_GB_per_s)));
    let hops = f.classes.iter().map(|c| format!("{} {} ns", c.class, short(c.hop_ns)));
    let [links, rates, hops] =
        [links.collect::<Vec<_>>(), rates.collect(), hops.collect()].map(|l| l.join(", "));
    let r = &m.router;
    let alone = match r.nodes_per_share {
        1 => String::new(),
        shared => {
            let alone = short(f.node_flits_GB_per_s * f64::from(shared));
            format!(", {alone} while those that share its tiles are idle")
        }
    };
    let node = format!("{} GB/s of flits per direction{alone}", short(f.node_flits_GB_per_s));
    let mut rows = vec![
        ("nodes", grouped(f.nodes as i64)),
        (
            "routers",
            format!(
                "{} of {}x{} tiles, in {} groups",
                grouped(f.routers as i64),
                r.rows,
                r.columns,
                f.groups
            ),
        ),
        ("links", format!("{} (each direction counted): {links}", grouped(f.links as i64))),
        ("link", format!("{rates} of flits per direction")),
        ("node", node),
        ("hop", format!("{hops} in a quiet network")),
        (
            "virtual channels",
            format!(
                "{} a port{}",
                f.virtual_channels,
                if r.response_vcs { ", half of them for responses" } else { "" }
            ),
        ),
        ("buffers", format!("{} KiB a router", short(f.buffer_kb_per_router))),
        (
            "packets",
            format!(
                "up to {} flits of {} bits, {} B of payload",
                f.flits_of_full_packet, m.packet.flit_bits, f.payload_of_full_packet_b
            ),
        ),
    ];
    rows.extend(f.packaging.iter().flat_map(packaging));
    rows
}

fn packaging(p: &PackagingFacts) -> Rows {
    vec![
        ("cabinets", format!("{}, {} chassis, {} routers", p.cabinets, p.chassis, grouped(p.routers.into()))),
        (
            "cables",
            format!(
                "{} copper inside groups, {} between groups (up to {} for each two)",
                grouped(p.copper_cables.into()),
                grouped(p.global_cables.into()),
                p.cables_per_pair_max
            ),
        ),
        (
            "bisection",
            format!(
                "{} GB/s over {} cables, both directions, at the links' raw rate",
                short(p.bisection_GB_per_s),
                p.cables_across_bisection
            ),
        ),
        ("of a group", format!("{} GB/s, likewise", short(p.group_bisection_GB_per_s))),
        (
            "global",
            format!(
                "{} GB/s a node at the raw rate, {} GB/s of it data",
                short(p.global_GB_per_s_per_node),
                short(p.payload_global_GB_per_s_per_node)
            ),
        ),
    ]
}
