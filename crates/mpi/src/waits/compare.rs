//! Why the processes of a job wait for ever: what they say is compared. A sentence for each cause that is
//! certain; what is not known is left out.

use super::words::{counted, numbers};
use super::{Begun, Communicator, OfWindow, Pending, Ranges, WITHIN_GROUP, Waits, base};
use crate::matching::{ANY_SOURCE, Pattern};
use crate::point_to_point::is_partitioned;
use crate::transport::Process;
use std::collections::{BTreeMap, BTreeSet};

/// Most sentences.
const SENTENCES: usize = 12;
/// Most tasks of a cycle that are named.
const CYCLE: usize = 8;

/// What all tasks of a job do when some of them wait for ever.
#[derive(Debug)]
pub struct Job {
    /// Those that wait for ever.
    pub waits: BTreeMap<Process, Waits>,
    /// Those that have ended.
    pub ended: BTreeSet<Process>,
}

/// A communicator, the same at all its processes.
type Key = (u32, Ranges);

/// What a member of a communicator does about one of its collective operations.
enum Member<'a> {
    Waits(Option<&'a Begun>),
    /// It has begun it, and does not wait for it any more.
    Left(Option<&'a Begun>),
    NotBegun,
    Unknown,
}

impl Job {
    /// The sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut list = vec![];
        let mut edges = self.edges();
        for (key, number) in self.collectives() {
            self.collective(&key, number, &mut list, &mut edges);
        }
        for (&task, waits) in &self.waits {
            self.near_misses(task, waits, &mut list);
        }
        self.cycles(&edges, &mut list);
        if list.len() > SENTENCES {
            let more = list.len() - SENTENCES;
            list.truncate(SENTENCES);
            list.push(format!("and {more} more"));
        }
        list
    }

    /// The first collective operation of each communicator that somebody waits for.
    fn collectives(&self) -> BTreeMap<Key, u32> {
        let mut first = BTreeMap::new();
        for waits in self.waits.values() {
            for pending in &waits.pending {
                let (context, number) = match *pending {
                    Pending::Collective { context, number, .. } => (context, number),
                    Pending::Send { sent, .. } if sent.context % 2 == 1 => {
                        (sent.context - 1, sent.tag as u32)
                    }
                    _ => continue,
                };
                if context & WITHIN_GROUP != 0 {
                    continue;
                }
                let Some(communicator) = waits.communicator(context) else { continue };
                let least = first.entry((base(context), communicator.all())).or_insert(number);
                *least = number.min(*least);
            }
        }
        first
    }

    fn member(&self, task: Process, (context, processes): &Key, number: u32) -> Member<'_> {
        let Some(waits) = self.waits.get(&task) else {
            return if self.ended.contains(&task) { Member::NotBegun } else { Member::Unknown };
        };
        let is_pending = waits.pending.iter().any(|pending| match *pending {
            Pending::Collective { context: c, number: n, .. } => (base(c), n) == (*context, number),
            Pending::Send { sent, .. } => {
                sent.context % 2 == 1 && (base(sent.context), sent.tag as u32) == (*context, number)
            }
            _ => false,
        });
        let Some(communicator) = waits.communicator(*context).filter(|of| of.all() == *processes) else {
            return Member::Unknown;
        };
        let begun = communicator.recent.iter().rev().find(|begun| begun.number == number);
        match begun {
            _ if is_pending => Member::Waits(begun),
            Some(_) => Member::Left(begun),
            None if number > communicator.begun => Member::NotBegun,
            None => Member::Unknown,
        }
    }

    fn collective(
        &self,
        key: &Key,
        number: u32,
        list: &mut Vec<String>,
        edges: &mut BTreeMap<Process, Process>,
    ) {
        let tasks: Vec<Process> = key.1.iter().flat_map(|&(first, count)| first..first + count).collect();
        let (mut waiting, mut missing, mut begun, mut is_known) = (vec![], vec![], vec![], true);
        for &task in &tasks {
            match self.member(task, key, number) {
                Member::Waits(of) => {
                    waiting.push(task);
                    begun.extend(of.map(|of| (task, of)));
                }
                Member::Left(of) => begun.extend(of.map(|of| (task, of))),
                Member::NotBegun => missing.push(task),
                Member::Unknown => is_known = false,
            }
        }
        let Some(communicator) = waiting.first().and_then(|task| self.waits[task].communicator(key.0)) else {
            return;
        };
        let call = begun.iter().find(|(task, _)| waiting.contains(task)).map(|(_, begun)| &*begun.call);
        let of = format!("{} of {}", call.unwrap_or("a collective operation"), communicator.name);
        if let Some(text) = differs(&begun, |of| Some(of.call.clone())) {
            list.push(format!(
                "{}: {text} as the same collective operation; all ranks call those of a communicator in the same order",
                communicator.name
            ));
        } else if let Some(text) = differs(&begun, |of| Some(format!("root {}", of.root?))) {
            list.push(format!("{of}: {text}; the root must be the same at all ranks"));
        } else if let Some(text) = differs(&begun, |of| Some(format!("{} B", of.bytes?))) {
            list.push(format!("{of}: {text}; the length must be the same at all ranks"));
        } else if !missing.is_empty() {
            list.push(format!("{of}: {}; {}", waits_in_words(&waiting), self.missing(&missing)));
        } else if is_known {
            list.push(format!("{of}: {}, and all others have called it", waits_in_words(&waiting)));
        }
        if let [one] = missing[..] {
            for task in waiting {
                edges.entry(task).or_insert(one);
            }
        }
    }

    /// Those that have not called a collective operation, by what they do instead.
    fn missing(&self, missing: &[Process]) -> String {
        let mut doing = BTreeMap::<String, Vec<Process>>::new();
        for &task in missing {
            let text = match self.waits.get(&task) {
                Some(waits) => format!("waiting in {}", waits.in_short()),
                None => "ended".into(),
            };
            doing.entry(text).or_default().push(task);
        }
        let mut words: Vec<String> = doing
            .iter()
            .map(|(text, tasks)| {
                let has = if tasks.len() == 1 { "has" } else { "have" };
                let tasks = counted("task", tasks);
                match &**text {
                    "ended" => format!("{tasks} {has} ended without calling it"),
                    text => format!("{tasks} {has} not called it, {text}"),
                }
            })
            .collect();
        const NAMED: usize = 4;
        if words.len() > NAMED {
            let named: usize = doing.values().take(NAMED).map(Vec::len).sum();
            words.truncate(NAMED);
            words.push(format!("{} more tasks have not called it either", missing.len() - named));
        }
        words.join("; ")
    }

    /// Messages that are there, but not those that a receive or a probe waits for; partners that have ended.
    fn near_misses(&self, task: Process, waits: &Waits, list: &mut Vec<String>) {
        for pending in &waits.pending {
            let (Pending::Receive(wanted) | Pending::Probe(wanted)) = pending else { continue };
            let communicator = waits.communicator(wanted.context);
            let partner = match u32::try_from(wanted.source) {
                Ok(rank) => communicator.and_then(|of| of.process(rank)),
                Err(_) => None,
            };
            let waits_for =
                || format!("task {task}: {}: {}", waits.calls_in_words(), waits.in_words(pending));
            let others = waits.pending.iter().filter_map(|pending| match pending {
                Pending::Unexpected { from, of, bytes } => Some((*from, of, *bytes)),
                _ => None,
            });
            let near =
                others.filter_map(|(from, of, bytes)| Some((miss(wanted, partner, from, of)?, of, bytes)));
            if let Some(((_, what), of, bytes)) = near.min_by_key(|((rank, _), ..)| *rank) {
                let what = what.in_words(waits);
                list.push(match is_partitioned(of.context) {
                    true => format!("{}; a partitioned message has come {what}", waits_for()),
                    false => format!("{}; {bytes} B have come {what}", waits_for()),
                });
            } else if let Some(partner) = partner.filter(|of| self.ended.contains(of)) {
                list.push(format!("{}; task {partner} has ended", waits_for()));
            }
        }
        for pending in &waits.pending {
            match *pending {
                Pending::Send { sent, .. } if self.ended.contains(&sent.to) => {
                    list.push(format!(
                        "task {task}: {}; task {} has ended",
                        waits.in_words(pending),
                        sent.to
                    ));
                }
                Pending::Window { context, what: OfWindow::Lock, process } => {
                    if let Some(holders) = self.holders(context, process) {
                        list.push(format!("task {task}: {}; {holders}", waits.in_words(pending)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Who has the lock of a process.
    fn holders(&self, context: u32, process: Process) -> Option<String> {
        let mut tasks: Vec<Process> =
            self.waits.get(&process)?.locked_by.iter().filter(|of| of.0 == context).map(|of| of.1).collect();
        tasks.sort_unstable();
        let first = tasks.first()?;
        let doing = match self.waits.get(first).filter(|_| tasks.len() == 1) {
            Some(waits) => format!(", waiting in {}", waits.in_short()),
            None => String::new(),
        };
        let has = if tasks.len() == 1 { "has" } else { "have" };
        Some(format!("{} {has} it{doing}", counted("task", &tasks)))
    }

    /// Whom each task waits for, if that is one.
    fn edges(&self) -> BTreeMap<Process, Process> {
        let edge = |(&task, waits): (&Process, &Waits)| {
            let [(call, 1)] = &waits.calls[..] else { return None };
            // These wait for one of several, or do not wait.
            if ["any", "some", "MPI_Test", "MPI_Iprobe", "MPI_Improbe"].iter().any(|part| call.contains(part))
            {
                return None;
            }
            let mut own = waits.pending.iter().filter(|of| !matches!(of, Pending::Unexpected { .. }));
            let (Some(only), None) = (own.next(), own.next()) else { return None };
            let to = match only {
                Pending::Receive(pattern) | Pending::Probe(pattern) if pattern.source != ANY_SOURCE => {
                    waits.communicator(pattern.context)?.process(u32::try_from(pattern.source).ok()?)?
                }
                Pending::Send { sent, .. } if sent.context % 2 == 0 => sent.to,
                Pending::Window { context, what: OfWindow::Lock, process } => {
                    let mut holders = self.waits.get(process)?.locked_by.iter().filter(|of| of.0 == *context);
                    match (holders.next(), holders.next()) {
                        (Some(holder), None) => holder.1,
                        _ => return None,
                    }
                }
                _ => return None,
            };
            Some((task, to))
        };
        self.waits.iter().filter_map(edge).collect()
    }

    /// Tasks that wait for each other in a circle.
    fn cycles(&self, edges: &BTreeMap<Process, Process>, list: &mut Vec<String>) {
        let mut seen = BTreeSet::new();
        for &start in edges.keys() {
            let (mut path, mut at) = (vec![], start);
            while seen.insert(at) {
                path.push(at);
                let Some(&next) = edges.get(&at) else { break };
                at = next;
            }
            let Some(begin) = path.iter().position(|&of| of == at && edges.contains_key(&of)) else {
                continue;
            };
            let cycle = &path[begin..];
            if edges.get(cycle.last().expect("it has one")) != Some(&at) {
                continue;
            }
            if let [one] = cycle {
                list.push(format!("task {one} waits for itself ({})", self.waits[one].in_short()));
                continue;
            }
            let step = |&task: &Process| {
                format!("{task} for {} ({})", edges[&task], self.waits[&task].calls_in_words())
            };
            let mut steps: Vec<String> = cycle.iter().take(CYCLE).map(step).collect();
            if cycle.len() > CYCLE {
                steps.push("and so on".into());
            }
            let mut tasks = cycle.to_vec();
            tasks.sort_unstable();
            list.push(format!("{} wait for each other: {}", counted("task", &tasks), steps.join(", ")));
        }
    }
}

fn waits_in_words(waiting: &[Process]) -> String {
    format!("{} {}", counted("task", waiting), if waiting.len() == 1 { "waits" } else { "wait" })
}

/// If something is not the same at all that have begun an operation: who has what.
fn differs(begun: &[(Process, &Begun)], what: impl Fn(&Begun) -> Option<String>) -> Option<String> {
    let mut by_value = BTreeMap::<String, Vec<Process>>::new();
    for (task, of) in begun {
        if let Some(value) = what(of) {
            by_value.entry(value).or_default().push(*task);
        }
    }
    let mut groups: Vec<(String, Vec<Process>)> = by_value.into_iter().collect();
    groups.sort_by(|a, b| a.1.cmp(&b.1));
    let give = |(value, tasks): &(String, Vec<Process>)| {
        let is_call = value.starts_with("MPI_");
        let verb = match (is_call, tasks.len()) {
            (true, 1) => "calls",
            (true, _) => "call",
            (false, 1) => "gives",
            (false, _) => "give",
        };
        format!("{} {verb} {value}", counted("task", tasks))
    };
    (groups.len() > 1).then(|| groups.iter().map(give).collect::<Vec<_>>().join(", "))
}

/// In what a message is not the one that is waited for.
enum Miss {
    Tag(i32),
    Source(Process, u32),
    Communicator(u32),
}

impl Miss {
    fn in_words(&self, waits: &Waits) -> String {
        match self {
            Miss::Tag(tag) => format!("from there with tag {tag}, which no receive has matched"),
            Miss::Source(from, context) => {
                let communicator: Option<&Communicator> = waits.communicator(*context);
                let from = match communicator.and_then(|of| of.rank(*from)) {
                    Some(rank) => format!("rank {rank}"),
                    None => format!("task {}", numbers(&[*from])),
                };
                format!("with that tag from {from}, which no receive has matched")
            }
            Miss::Communicator(context) => {
                format!("from there with that tag by {}, which no receive has matched", waits.name(*context))
            }
        }
    }
}

/// Whether a message is nearly the one that is waited for, and how near: the less the nearer.
fn miss(wanted: &Pattern, partner: Option<Process>, from: Process, of: &Pattern) -> Option<(u8, Miss)> {
    let is_tag = wanted.tag < 0 || wanted.tag == of.tag;
    let is_source = wanted.source < 0 || partner == Some(from);
    match (wanted.context == of.context, is_source, is_tag) {
        (true, true, false) => Some((0, Miss::Tag(of.tag))),
        (true, false, true) => Some((1, Miss::Source(from, of.context))),
        (false, true, true) if wanted.source >= 0 && wanted.tag >= 0 => {
            Some((2, Miss::Communicator(of.context)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::{Sent, Stage};

    const WORLD: u32 = 0;

    fn world(size: u32, begun: &[(u32, &str, Option<u32>, Option<u64>)]) -> Communicator {
        let of = |&(number, call, root, bytes): &(u32, &str, _, _)| Begun {
            number,
            call: call.into(),
            root,
            bytes,
        };
        Communicator {
            context: WORLD,
            name: "MPI_COMM_WORLD".into(),
            processes: vec![(0, size)],
            remote: None,
            begun: begun.iter().map(|of| of.0).max().unwrap_or(0),
            recent: begun.iter().map(of).collect(),
        }
    }

    fn waits(call: &str, pending: Vec<Pending>, communicator: Communicator) -> Waits {
        Waits { calls: vec![(call.into(), 1)], pending, communicators: vec![communicator], locked_by: vec![] }
    }

    fn receive(source: i32, tag: i32) -> Pending {
        Pending::Receive(Pattern { context: WORLD, source, tag })
    }

    fn collective(number: u32) -> Pending {
        Pending::Collective { context: WORLD, number, from: None }
    }

    fn sentences(waits: Vec<Waits>, ended: &[Process]) -> Vec<String> {
        let waits = (0..).zip(waits).filter(|(task, _)| !ended.contains(task)).collect();
        Job { waits, ended: ended.iter().copied().collect() }.sentences()
    }

    #[test]
    fn a_ring_of_receives_is_a_cycle() {
        let ring = (0..3).map(|n| waits("MPI_Recv", vec![receive((n + 1) % 3, 4)], world(3, &[]))).collect();
        let expected =
            "tasks 0 to 2 wait for each other: 0 for 1 (MPI_Recv), 1 for 2 (MPI_Recv), 2 for 0 (MPI_Recv)";
        assert_eq!(sentences(ring, &[]), [expected]);
        // What leads to a cycle is no part of it.
        let mut lead: Vec<Waits> =
            [1, 2, 1].map(|to| waits("MPI_Recv", vec![receive(to, 4)], world(3, &[]))).into();
        let expected = "tasks 1 and 2 wait for each other: 1 for 2 (MPI_Recv), 2 for 1 (MPI_Recv)";
        assert_eq!(sentences(lead.clone(), &[]), [expected]);
        // Who takes any message, or one of several, waits for nobody in particular.
        lead[1] = waits("MPI_Waitany", vec![receive(2, 4)], world(3, &[]));
        assert_eq!(sentences(lead.clone(), &[]), [""; 0]);
        lead[1] = waits("MPI_Recv", vec![receive(-1, 4)], world(3, &[]));
        assert_eq!(sentences(lead, &[]), [""; 0]);
    }

    #[test]
    fn long_sends_to_each_other_are_a_cycle() {
        let send = |to| {
            let sent = Sent { to, context: WORLD, tag: 1, bytes: 100_000 };
            waits("MPI_Send", vec![Pending::Send { sent, stage: Stage::Unread }], world(2, &[]))
        };
        let expected = "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Send), 1 for 0 (MPI_Send)";
        assert_eq!(sentences(vec![send(1), send(0)], &[]), [expected]);
    }

    #[test]
    fn who_has_not_called_a_collective_is_named_with_what_it_does() {
        let barrier =
            || waits("MPI_Barrier", vec![collective(5)], world(5, &[(5, "MPI_Barrier", None, None)]));
        let other = || waits("MPI_Recv", vec![receive(4, 3)], world(5, &[(4, "MPI_Bcast", Some(0), None)]));
        let expected = [
            "MPI_Barrier of MPI_COMM_WORLD: tasks 0 to 2 wait; task 4 has ended without calling it; task 3 has not called it, \
             waiting in MPI_Recv (receive from rank 4 with tag 3 of MPI_COMM_WORLD)",
            "task 3: MPI_Recv: receive from rank 4 with tag 3 of MPI_COMM_WORLD; task 4 has ended",
        ];
        let list = vec![barrier(), barrier(), barrier(), other(), Waits::default()];
        assert_eq!(sentences(list, &[4]), expected);
    }

    #[test]
    fn different_collectives_roots_and_lengths_are_told_apart() {
        let call = |name: &'static str, root, bytes| {
            waits(
                name,
                vec![collective(2)],
                world(3, &[(1, "MPI_Barrier", None, None), (2, name, root, bytes)]),
            )
        };
        let mixed = |of: [(&'static str, Option<u32>, Option<u64>); 3]| {
            sentences(of.map(|(name, root, bytes)| call(name, root, bytes)).into(), &[])
        };
        let calls = mixed([
            ("MPI_Bcast", Some(0), Some(4)),
            ("MPI_Reduce", Some(0), Some(4)),
            ("MPI_Bcast", Some(0), Some(4)),
        ]);
        assert_eq!(
            calls,
            [
                "MPI_COMM_WORLD: tasks 0 and 2 call MPI_Bcast, task 1 calls MPI_Reduce as the same collective operation; all ranks \
              call those of a communicator in the same order"
            ]
        );
        let roots = mixed([
            ("MPI_Bcast", Some(0), Some(4)),
            ("MPI_Bcast", Some(1), Some(4)),
            ("MPI_Bcast", Some(0), Some(4)),
        ]);
        assert_eq!(
            roots,
            [
                "MPI_Bcast of MPI_COMM_WORLD: tasks 0 and 2 give root 0, task 1 gives root 1; the root must be the same at all ranks"
            ]
        );
        let lengths = mixed([
            ("MPI_Bcast", Some(0), Some(4)),
            ("MPI_Bcast", Some(0), Some(8)),
            ("MPI_Bcast", Some(0), Some(8)),
        ]);
        assert_eq!(
            lengths,
            [
                "MPI_Bcast of MPI_COMM_WORLD: task 0 gives 4 B, tasks 1 and 2 give 8 B; the length must be the same at all ranks"
            ]
        );
        // One that has left it counts, too; of one that has begun another since, long ago, nothing is known.
        let left = waits("MPI_Recv", vec![receive(1, 0)], world(2, &[(2, "MPI_Reduce", Some(0), None)]));
        let list = sentences(
            vec![left, waits("MPI_Bcast", vec![collective(2)], world(2, &[(2, "MPI_Bcast", Some(0), None)]))],
            &[],
        );
        assert!(
            list[0].starts_with("MPI_COMM_WORLD: task 0 calls MPI_Reduce, task 1 calls MPI_Bcast"),
            "{list:?}"
        );
        let ago = waits("MPI_Recv", vec![receive(-1, 0)], world(2, &[(90, "MPI_Barrier", None, None)]));
        let list = sentences(
            vec![ago, waits("MPI_Bcast", vec![collective(2)], world(2, &[(2, "MPI_Bcast", Some(0), None)]))],
            &[],
        );
        assert_eq!(list, [""; 0]);
    }

    #[test]
    fn who_has_a_lock_is_named() {
        let lock = |process| Pending::Window { context: WORLD, what: OfWindow::Lock, process };
        let target =
            Waits { locked_by: vec![(WORLD, 1)], ..waits("MPI_Win_lock", vec![lock(0)], world(3, &[])) };
        let holder = waits("MPI_Recv", vec![receive(0, 42)], world(3, &[]));
        let other = waits("MPI_Win_lock", vec![lock(0)], world(3, &[]));
        let has = "task 1 has it, waiting in MPI_Recv (receive from rank 0 with tag 42 of MPI_COMM_WORLD)";
        let expected = [
            format!("task 0: MPI_COMM_WORLD: the lock of rank 0; {has}"),
            format!("task 2: MPI_COMM_WORLD: the lock of rank 0; {has}"),
            "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Win_lock), 1 for 0 (MPI_Recv)".into(),
        ];
        assert_eq!(sentences(vec![target, holder, other], &[]), expected);
    }

    #[test]
    fn a_message_with_another_tag_source_or_communicator_is_a_near_miss() {
        let unexpected = |from: u32, context, tag| Pending::Unexpected {
            from,
            of: Pattern { context, source: from as i32, tag },
            bytes: 4,
        };
        let with = |message| {
            let mut all = waits("MPI_Recv", vec![receive(1, 42), message], world(3, &[]));
            let name = "\"other\" (communicator of 3 ranks)".into();
            all.communicators.push(Communicator { context: 8, name, ..world(3, &[]) });
            sentences(vec![all], &[])
        };
        let begin = "task 0: MPI_Recv: receive from rank 1 with tag 42 of MPI_COMM_WORLD; 4 B have come";
        assert_eq!(
            with(unexpected(1, WORLD, 43)),
            [format!("{begin} from there with tag 43, which no receive has matched")]
        );
        assert_eq!(
            with(unexpected(2, WORLD, 42)),
            [format!("{begin} with that tag from rank 2, which no receive has matched")]
        );
        assert_eq!(
            with(unexpected(1, 8, 42)),
            [format!(
                "{begin} from there with that tag by \"other\" (communicator of 3 ranks), which no receive has matched"
            )]
        );
        assert_eq!(with(unexpected(2, WORLD, 43)), [""; 0]);
    }
}
