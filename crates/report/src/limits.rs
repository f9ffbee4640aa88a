//! What limits a run: sentences with numbers, from simulated quantities alone, and the busiest links.

use netloom_study::machine::Machine;
use netloom_study::number::{counted, grouped, percent, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{ProgramFigures, RunResult, TorusFigures, direction_name};
use serde::Serialize;

/// A link that is busy for this fraction of the measured time is saturated.
pub const SATURATED: f64 = 0.95;
/// Below this utilization of the busiest link, links limit nothing.
const IDLE: f64 = 0.5;
/// Links that are listed.
const LISTED: usize = 10;

/// A sentence about the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about: `programs`, `load`, `ports`, `links`, `balance`, `directions`, `buffers` or
    /// `latency`.
    pub about: &'static str,
    /// The sentence.
    pub text: String,
    /// The beginning of the names of the drawings that show it; empty if none does.
    #[serde(skip)]
    pub drawing: &'static str,
}

/// A link with what it carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyLink {
    /// Its name: the sender and the direction, or both ends.
    pub link: String,
    /// Fraction of the measured time that it is busy.
    pub utilization: f64,
    /// Of a torus, the fraction of its rate that is payload.
    pub payload: Option<f64>,
    /// Of a network of switches, the packets that it carries.
    pub packets: Option<u64>,
}

/// What limits the run, the most important first.
pub fn findings(study: &ResolvedStudy, result: &RunResult) -> Vec<Finding> {
    if result.simulated.ticks == 0 || result.links.count == 0 {
        return vec![];
    }
    let mut all = vec![];
    all.extend(result.programs.as_ref().and_then(programs));
    all.extend(load(result));
    all.extend(node_ports(study, result));
    all.extend(saturated_links(result));
    all.extend(imbalance(result));
    all.extend(directions(study, result));
    all.extend(result.torus.as_ref().and_then(buffers));
    all.extend(source_queue(result));
    all
}

fn finding(about: &'static str, drawing: &'static str, text: String) -> Option<Finding> {
    Some(Finding { about, text, drawing })
}

/// Where the ranks' time goes.
fn programs(p: &ProgramFigures) -> Option<Finding> {
    let parts = [
        ("computing", p.compute_us),
        ("waiting for a partner that has not sent yet", p.partner_us),
        ("waiting for messages on the wire", p.wire_us),
        ("waiting for messages queued behind others", p.queueing_us),
        ("in the network interface", p.injection_us),
        ("in messaging software", p.software_us),
    ];
    let whole: f64 = parts.iter().map(|(_, us)| us).sum();
    if whole <= 0.0 {
        return None;
    }
    let mut shares: Vec<(&str, f64)> = parts.map(|(what, us)| (what, us / whole)).into();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.retain(|(_, share)| *share >= 0.005);
    let list: Vec<String> =
        shares.iter().map(|(what, share)| format!("{} {what}", percent(*share))).collect();
    finding(
        "programs",
        "",
        format!("On average a rank spends its {} us as follows: {}.", short(whole), list.join(", ")),
    )
}

/// Offered against accepted load.
fn load(result: &RunResult) -> Option<Finding> {
    let load = result.throughput.as_ref()?;
    let (accepted, unit) = (short(load.accepted), &load.unit);
    let text = match (load.offered, load.saturated) {
        (Some(offered), Some(true)) => format!(
            "The network is saturated: it accepts {accepted} of {} {unit} offered per node ({}).",
            short(offered),
            percent(load.accepted / offered)
        ),
        (Some(offered), Some(false)) => {
            format!(
                "The network accepts {accepted} of {} {unit} offered per node: it keeps up.",
                short(offered)
            )
        }
        // Whether that is saturation is not known: packets were lost, the traffic ends, or they were few.
        (Some(offered), None) => {
            format!("The network accepts {accepted} of {} {unit} offered per node.", short(offered))
        }
        (None, _) => {
            format!("Nodes send as fast as the network accepts packets: {accepted} {unit} per node.")
        }
    };
    finding("load", "throughput", text)
}

/// Whether the nodes' own ports carry about as much as they can, on a machine of switches.
fn node_ports(study: &ResolvedStudy, result: &RunResult) -> Option<Finding> {
    let Machine::Switched(machine) = &study.machine else { return None };
    let load = result.throughput.as_ref()?;
    let most = machine.node_flits_per_tick();
    if load.accepted < SATURATED * most {
        return None;
    }
    let text = format!(
        "Nodes receive {} of the {} {} that a node's port carries: the ports of nodes are full.",
        short(load.accepted),
        short(most),
        load.unit
    );
    finding("ports", "throughput", text)
}

/// Utilization of every link that was recorded.
fn utilizations(result: &RunResult) -> Vec<f64> {
    let torus = result.per_link.iter().map(|link| link.utilization);
    torus.chain(result.ports.iter().map(|link| link.utilization)).collect()
}

fn saturated_links(result: &RunResult) -> Option<Finding> {
    let most = result.links.max_utilization;
    if most < 0.001 {
        return finding("links", "links", "The links are nearly idle: they do not limit this run.".into());
    }
    if most < IDLE {
        let text = format!("No link is busier than {}: the links do not limit this run.", percent(most));
        return finding("links", "links", text);
    }
    let all = utilizations(result);
    if all.is_empty() {
        let is = if most >= SATURATED { "is saturated" } else { "is the busiest" };
        return finding(
            "links",
            "link-utilization",
            format!("A link that is busy {} of the time {is}.", percent(most)),
        );
    }
    let saturated: Vec<f64> = all.iter().copied().filter(|&u| u >= SATURATED).collect();
    if saturated.is_empty() {
        return finding(
            "links",
            "links",
            format!("No link is saturated; the busiest is busy {} of the time.", percent(most)),
        );
    }
    let share = saturated.iter().sum::<f64>() / all.iter().sum::<f64>();
    let text = format!(
        "{} of {} ({}) are saturated (busy at least {} of the time); they carry {} of the traffic.{}",
        grouped(saturated.len() as i64),
        counted(all.len(), "link"),
        percent(saturated.len() as f64 / all.len() as f64),
        percent(SATURATED),
        percent(share),
        since(result).map_or(String::new(), |us| {
            format!(" The mean of all links reaches its level at {} us.", short(us))
        })
    );
    finding("links", "links", text)
}

/// When the mean utilization first reaches 95% of its mean over the measured part, us.
fn since(result: &RunResult) -> Option<f64> {
    let curve = result.series.iter().find(|series| series.chart == "Link utilization")?;
    let level = SATURATED * result.links.mean_utilization;
    let window = curve.values.iter().position(|&value| value >= level).filter(|&window| window > 0)?;
    Some(window as f64 * curve.window_us)
}

/// The busiest link against the mean.
fn imbalance(result: &RunResult) -> Option<Finding> {
    let links = &result.links;
    if links.max_utilization < IDLE || links.max_utilization < 1.25 * links.mean_utilization {
        return None;
    }
    let text = format!(
        "Load is uneven: the busiest link is busy {} of the time, the mean link {}, the minimum is {}.",
        percent(links.max_utilization),
        percent(links.mean_utilization),
        percent(links.min_utilization)
    );
    finding("balance", "links", text)
}

/// Of a torus, the dimension whose links are busiest; of other networks, the class of links.
fn directions(study: &ResolvedStudy, result: &RunResult) -> Option<Finding> {
    if result.links.max_utilization < IDLE {
        return None;
    }
    let mut parts: Vec<(String, f64)> = match (&result.links.torus, &result.switched) {
        (Some(torus), _) => torus.by_direction.iter().map(|d| (d.direction.clone(), d.utilization)).collect(),
        (None, Some(switched)) if !switched.levels.is_empty() => {
            switched.levels.iter().map(|l| (l.name(), l.mean_utilization)).collect()
        }
        (None, Some(switched)) => {
            switched.classes.iter().map(|c| (c.class.clone(), c.mean_utilization)).collect()
        }
        (None, None) => return None,
    };
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [first, .., last] = &parts[..] else { return None };
    if first.1 < 1.1 * last.1 {
        return None;
    }
    let list: Vec<String> = parts.iter().map(|(name, u)| format!("{name} {}", percent(*u))).collect();
    let (kind, drawing) = match study.network.torus() {
        Some(_) => ("direction", "links-by-direction"),
        None => ("kind of link", "links"),
    };
    finding("directions", drawing, format!("Mean utilization by {kind}: {}.", list.join(", ")))
}

/// Whether packets wait for buffers downstream.
fn buffers(torus: &TorusFigures) -> Option<Finding> {
    let full = &torus.occupancy.fraction;
    if full.dynamic < 0.25 && torus.escape_share < 0.01 {
        return None;
    }
    let text = format!(
        "Buffers of receivers: dynamic VCs are {} full and escape VCs {} full on average; {} of the hops use an escape VC.",
        percent(full.dynamic),
        percent(full.escape),
        percent(torus.escape_share)
    );
    finding("buffers", "buffer-occupancy", text)
}

/// The wait before the network.
fn source_queue(result: &RunResult) -> Option<Finding> {
    let (total, network) = (result.latency.total.mean_ns, result.latency.network.mean_ns);
    if result.latency.total.count == 0 || total <= 0.0 {
        return None;
    }
    let wait = (total - network).max(0.0);
    let text = format!(
        "A packet takes {} ns on average: {} ns in the source queue ({}) and {} ns in the network.",
        short(total),
        short(wait),
        percent(wait / total),
        short(network)
    );
    finding("latency", "latency", text)
}

/// The busiest links, if links were recorded one by one.
pub fn busiest(study: &ResolvedStudy, result: &RunResult) -> Vec<BusyLink> {
    let torus = most_used(&result.per_link, |link| link.utilization);
    let torus = torus.into_iter().map(|link| BusyLink {
        link: format!("{:?} {}", link.node, direction_name(link.direction)),
        utilization: link.utilization,
        payload: Some(link.payload),
        packets: None,
    });
    let wiring = study.network.switched().map(|outline| &outline.wiring);
    let name = |router: u32| wiring.map_or(router.to_string(), |wiring| wiring.place(router).to_owned());
    let switched = most_used(&result.ports, |link| link.utilization);
    let switched = switched.into_iter().map(|link| BusyLink {
        link: format!("{} port {} to {} ({})", name(link.router), link.port, name(link.to), link.class),
        utilization: link.utilization,
        payload: None,
        packets: Some(link.packets),
    });
    torus.chain(switched).collect()
}

/// The links that are used most, [`LISTED`] at most, in order; links that are equally busy keep theirs.
fn most_used<L>(links: &[L], utilization: impl Fn(&L) -> f64) -> Vec<&L> {
    let mut used: Vec<&L> = links.iter().filter(|link| utilization(link) > 0.0).collect();
    used.sort_by(|a, b| utilization(b).total_cmp(&utilization(a)));
    used.truncate(LISTED);
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_study::resolve::load;
    use netloom_study::result::{LinkRow, Throughput};

    fn study() -> ResolvedStudy {
        load("all-to-all", &["topology.dims=[4,4,4]".into()]).expect("built in")
    }

    /// Links with these utilizations.
    fn result(utilizations: &[f64]) -> RunResult {
        let mut result = RunResult::default();
        result.simulated.ticks = 1000;
        let links = &mut result.links;
        links.count = utilizations.len() as u64;
        links.mean_utilization = utilizations.iter().sum::<f64>() / utilizations.len() as f64;
        links.max_utilization = utilizations.iter().copied().fold(0.0, f64::max);
        links.min_utilization = utilizations.iter().copied().fold(1.0, f64::min);
        let row = |(node, &utilization): (usize, &f64)| LinkRow {
            node: vec![node as u32, 0, 0],
            utilization,
            ..LinkRow::default()
        };
        result.per_link = utilizations.iter().enumerate().map(row).collect();
        result
    }

    fn reported(result: &RunResult) -> String {
        findings(&study(), result).into_iter().map(|finding| finding.text + "\n").collect()
    }

    #[test]
    fn idle_links_limit_nothing() {
        let reported = reported(&result(&[0.1, 0.2, 0.05]));
        assert!(
            reported.contains("No link is busier than 20.0%") && !reported.contains("uneven"),
            "{reported}"
        );
    }

    #[test]
    fn saturated_links_are_counted_and_weighed() {
        let result = result(&[0.99, 0.96, 0.2, 0.05]);
        let reported = reported(&result);
        assert!(reported.contains("2 of 4 links (50.0%) are saturated"), "{reported}");
        assert!(
            reported.contains("they carry 88.6% of the traffic") && reported.contains("Load is uneven"),
            "{reported}"
        );
        let busiest = busiest(&study(), &result);
        assert_eq!((busiest.len(), busiest[0].link.as_str()), (4, "[0, 0, 0] +x"));
        assert!(busiest.windows(2).all(|pair| pair[0].utilization >= pair[1].utilization));
    }

    #[test]
    fn offered_and_accepted_load_are_compared() {
        let throughput = |offered, saturated| RunResult {
            throughput: Some(Throughput {
                unit: "MB/s".into(),
                offered,
                accepted: 90.0,
                saturated,
                ..Throughput::default()
            }),
            ..result(&[0.99])
        };
        assert!(
            reported(&throughput(Some(120.0), Some(true)))
                .contains("accepts 90.0 of 120 MB/s offered per node (75.0%)")
        );
        assert!(reported(&throughput(Some(90.1), Some(false))).contains("it keeps up"));
        assert!(reported(&throughput(None, None)).contains("as fast as the network accepts"));
        assert!(!reported(&throughput(Some(120.0), None)).contains("keeps up"));
    }

    #[test]
    fn the_parts_of_a_ranks_time_are_sorted() {
        let programs =
            ProgramFigures { compute_us: 60.0, partner_us: 30.0, wire_us: 10.0, ..ProgramFigures::default() };
        let reported = reported(&RunResult { programs: Some(programs), ..result(&[0.1]) });
        assert!(
            reported.starts_with(
                "On average a rank spends its 100 us as follows: 60.0% computing, 30.0% waiting"
            ),
            "{reported}"
        );
    }

    #[test]
    fn of_a_run_without_links_nothing_is_said() {
        assert!(findings(&study(), &RunResult::default()).is_empty());
    }
}
