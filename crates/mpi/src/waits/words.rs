//! For what a process waits, in words.

use super::{Communicator, OfWindow, Pending, Sent, Stage, WITHIN_GROUP, Waits};
use crate::matching::Pattern;
use crate::point_to_point::is_partitioned;
use crate::transport::Process;

/// Ranks that are named one by one; of more, the first of them are named. The same for operations.
const NAMED: usize = 8;
const LISTED: usize = 12;

/// Numbers in words: `0, 2 to 5 and 9`. They are in order.
pub fn numbers(list: &[u32]) -> String {
    let ranges = super::ranges(list.iter().copied());
    let mut words = vec![];
    for &(first, count) in &ranges {
        match count {
            1 => words.push(first.to_string()),
            2 => words.extend([first.to_string(), (first + 1).to_string()]),
            _ => words.push(format!("{first} to {}", first + count - 1)),
        }
    }
    if words.len() > NAMED {
        words.truncate(NAMED);
        words.push("others".into());
    }
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "none".into(),
    }
}

/// The same with the noun: `task 3`, `tasks 0 to 2`.
pub fn counted(noun: &str, list: &[u32]) -> String {
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("{noun}{plural} {}", numbers(list))
}

/// A rank of a communicator, with its task if that has another number.
fn rank(communicator: Option<&Communicator>, rank: u32) -> String {
    match communicator.and_then(|of| of.process(rank)) {
        Some(task) if task != rank => format!("rank {rank} (task {task})"),
        _ => format!("rank {rank}"),
    }
}

/// A process, as a rank if it is one of the communicator.
fn process(communicator: Option<&Communicator>, task: Process) -> String {
    match communicator.and_then(|of| of.rank(task)) {
        Some(number) => rank(communicator, number),
        None => format!("task {task}"),
    }
}

fn source(communicator: Option<&Communicator>, pattern: &Pattern) -> String {
    match u32::try_from(pattern.source) {
        Ok(number) => rank(communicator, number),
        Err(_) => "any rank".into(),
    }
}

fn partitioned(context: u32) -> &'static str {
    if is_partitioned(context) { "partitioned " } else { "" }
}

fn tag(tag: i32) -> String {
    if tag < 0 { "any tag".into() } else { format!("tag {tag}") }
}

impl Waits {
    /// The calls of its threads: `MPI_Recv`, `MPI_Recv, MPI_Wait of 2 threads`.
    pub fn calls_in_words(&self) -> String {
        let words = self.calls.iter().map(|(name, threads)| match threads {
            1 => name.clone(),
            _ => format!("{name} of {threads} threads"),
        });
        let words = words.collect::<Vec<String>>().join(", ");
        if words.is_empty() { "MPI".into() } else { words }
    }

    /// The name of the communicator of a context.
    pub fn name(&self, context: u32) -> &str {
        self.communicator(context).map_or("a communicator that is freed", |of| &of.name)
    }

    /// All that has not ended; of much, the first of it and how much more there is.
    pub fn pending_in_words(&self) -> Vec<String> {
        // The messages of one collective operation are one line, and so are those of a partitioned message.
        let mut list: Vec<String> = vec![];
        let mut collectives: Vec<(u32, u32)> = vec![];
        for pending in &self.pending {
            if let Pending::Collective { context, number, .. } = *pending {
                if collectives.contains(&(context, number)) {
                    continue;
                }
                collectives.push((context, number));
            }
            let words = self.in_words(pending);
            if pending.context().is_none_or(|context| !is_partitioned(context)) || !list.contains(&words) {
                list.push(words);
            }
        }
        let more = list.len().saturating_sub(LISTED);
        if more > 1 {
            list.truncate(LISTED);
            list.push(format!("{more} others"));
        }
        list
    }

    /// One of its pending operations.
    pub fn in_words(&self, pending: &Pending) -> String {
        let of = |context| (self.communicator(context), self.name(context));
        match pending {
            Pending::Receive(pattern) => {
                let (communicator, name) = of(pattern.context);
                let (kind, from) = (partitioned(pattern.context), source(communicator, pattern));
                format!("{kind}receive from {from} with {} of {name}", tag(pattern.tag))
            }
            Pending::Probe(pattern) => {
                let (communicator, name) = of(pattern.context);
                format!("message from {} with {} of {name}", source(communicator, pattern), tag(pattern.tag))
            }
            Pending::Send { sent, stage } => self.send_in_words(sent, *stage),
            Pending::Partitions { to, context, tag: number, unready, partitions } => {
                let (communicator, name) = of(*context);
                let (to, tag) = (process(communicator, *to), tag(*number));
                let are = if *unready == 1 { "is" } else { "are" };
                format!(
                    "partitioned send to {to} with {tag} of {name}: {unready} of {partitions} partitions {are} not \
                     ready (MPI_Pready)"
                )
            }
            Pending::Unexpected { from, of: pattern, bytes } => {
                let (communicator, name) = of(pattern.context);
                let (from, tag) = (process(communicator, *from), tag(pattern.tag));
                match partitioned(pattern.context) {
                    "" => format!("{bytes} B from {from} with {tag} of {name} that no receive has matched"),
                    kind => {
                        format!("{kind}message from {from} with {tag} of {name} that no receive has matched")
                    }
                }
            }
            Pending::Collective { context, number, from } => {
                let (communicator, name) = of(*context);
                let mut awaited: Vec<u32> = self.awaited(*context, *number).collect();
                let awaited = match (from, &mut awaited[..]) {
                    (None, _) | (_, []) => "other ranks".into(),
                    // Among groups that share a context, messages have the process as their source.
                    _ if context & WITHIN_GROUP != 0 => "messages of other ranks".into(),
                    (_, [one]) => format!("message of {}", rank(communicator, *one)),
                    (_, several) => {
                        several.sort_unstable();
                        format!("messages of {}", counted("rank", several))
                    }
                };
                match self.call_of(*context, *number) {
                    // The call's name stands before.
                    Some(call) if matches!(&self.calls[..], [(own, 1)] if own == call) => {
                        format!("{awaited} of {name}")
                    }
                    call => format!("{} of {name}: {awaited}", call.unwrap_or("collective operation")),
                }
            }
            Pending::Team(context) => format!("{} is set up: other ranks", of(*context).1),
            Pending::Freed => {
                "other ranks, which have not freed communicators that this rank has freed".into()
            }
            Pending::Window { context, what, process: other } => {
                let (communicator, name) = of(*context);
                let what = match what {
                    OfWindow::Lock => "the lock",
                    OfWindow::Results => "results of operations",
                    OfWindow::Post => "MPI_Win_post",
                    OfWindow::Complete => "MPI_Win_complete",
                };
                format!("{name}: {what} of {}", process(communicator, *other))
            }
            Pending::OtherThread => "a call of another thread".into(),
        }
    }

    fn send_in_words(&self, sent: &Sent, stage: Stage) -> String {
        let (communicator, name) = (self.communicator(sent.context), self.name(sent.context));
        let (to, bytes) = (process(communicator, sent.to), sent.bytes);
        if sent.context % 2 == 1 {
            let call = self.call_of(sent.context - 1, sent.tag as u32).unwrap_or("collective operation");
            return format!("{call} of {name}: message of {bytes} B to {to}");
        }
        let (kind, state) = match stage {
            Stage::Unread => ("send", "that no receive has taken"),
            Stage::Unmatched => ("synchronous send", "that no receive has taken"),
            Stage::Matched => ("synchronous send", "whose data is under way"),
        };
        let (of_partition, tag) = (partitioned(sent.context), tag(sent.tag));
        format!("{of_partition}{kind} of {bytes} B to {to} with {tag} of {name} {state}")
    }

    /// The call that began a collective operation, if it was one of the last.
    pub fn call_of(&self, context: u32, number: u32) -> Option<&str> {
        if context & WITHIN_GROUP != 0 {
            return None;
        }
        let recent = &self.communicator(context)?.recent;
        recent.iter().rev().find(|begun| begun.number == number).map(|begun| begun.call.as_str())
    }

    /// The ranks whose messages a collective operation waits for.
    fn awaited(&self, context: u32, number: u32) -> impl Iterator<Item = u32> {
        self.pending.iter().filter_map(move |pending| match *pending {
            Pending::Collective { context: c, number: n, from } if (c, n) == (context, number) => {
                from.and_then(|from| u32::try_from(from).ok())
            }
            _ => None,
        })
    }

    /// What it does, in a sentence about all: the call, and what it waits for first.
    pub fn in_short(&self) -> String {
        let is_own = |pending: &&Pending| !matches!(pending, Pending::Unexpected { .. });
        let of_collective = self.collective_of_call();
        let first = of_collective.or_else(|| self.pending.iter().find(is_own));
        let calls = self.calls_in_words();
        match first {
            None => calls,
            Some(Pending::Collective { context, number, .. })
                if self.call_of(*context, *number) == Some(&*calls) =>
            {
                format!("{calls} of {}", self.name(*context))
            }
            Some(first) => format!("{calls} ({})", self.in_words(first)),
        }
    }

    /// The collective operation that the call began.
    fn collective_of_call(&self) -> Option<&Pending> {
        let [(call, 1)] = &self.calls[..] else { return None };
        self.pending.iter().find(|pending| {
            matches!(pending, Pending::Collective { context, number, .. }
                if self.call_of(*context, *number) == Some(call))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::Begun;

    /// The rank of a communicator is said, and the task where it has another number.
    #[test]
    fn partners_are_ranks_of_the_communicator() {
        let begun = |number, call: &str| Begun { number, call: call.into(), root: None, bytes: None };
        let name = "communicator \"left\" of 3 ranks".into();
        let recent = vec![begun(1, "MPI_Barrier"), begun(2, "MPI_Ibcast")];
        let processes = vec![(0, 1), (5, 2)];
        let communicator = Communicator { context: 8, name, processes, remote: None, begun: 2, recent };
        let pattern = |source, tag| Pattern { context: 8, source, tag };
        let sent = Sent { to: 5, context: 8, tag: 3, bytes: 10 };
        let of_message = |number, from| Pending::Collective { context: 8, number, from: Some(from) };
        let pending = vec![
            Pending::Receive(pattern(1, 4)),
            Pending::Receive(pattern(0, -2)),
            Pending::Receive(pattern(-1, 4)),
            Pending::Send { sent, stage: Stage::Unread },
            Pending::Unexpected { from: 6, of: pattern(2, 7), bytes: 12 },
            Pending::Collective { context: 8, number: 1, from: None },
            of_message(2, 2),
            of_message(2, 1),
            Pending::Collective { context: 8, number: 9, from: None },
            Pending::Window { context: 8, what: OfWindow::Lock, process: 6 },
            Pending::Receive(Pattern { context: 12, source: 0, tag: 1 }),
        ];
        let waits = Waits {
            calls: vec![("MPI_Wait".into(), 2)],
            pending,
            communicators: vec![communicator],
            ..Waits::default()
        };
        let left = "communicator \"left\" of 3 ranks";
        let expected = [
            format!("receive from rank 1 (task 5) with tag 4 of {left}"),
            format!("receive from rank 0 with any tag of {left}"),
            format!("receive from any rank with tag 4 of {left}"),
            format!("send of 10 B to rank 1 (task 5) with tag 3 of {left} that no receive has taken"),
            format!("12 B from rank 2 (task 6) with tag 7 of {left} that no receive has matched"),
            format!("MPI_Barrier of {left}: other ranks"),
            format!("MPI_Ibcast of {left}: messages of ranks 1 and 2"),
            format!("collective operation of {left}: other ranks"),
            format!("{left}: the lock of rank 2 (task 6)"),
            "receive from rank 0 with tag 1 of a communicator that is freed".into(),
        ];
        assert_eq!(waits.pending_in_words(), expected);
        assert_eq!(waits.calls_in_words(), "MPI_Wait of 2 threads");
        // The name of the call itself is not said again.
        let waits = Waits { calls: vec![("MPI_Ibcast".into(), 1)], ..waits };
        assert_eq!(waits.pending_in_words()[6], format!("messages of ranks 1 and 2 of {left}"));
        assert_eq!(waits.in_short(), format!("MPI_Ibcast of {left}"));
    }

    #[test]
    fn of_much_only_the_first_is_listed() {
        let pending = |count| {
            let receive = |tag| Pending::Receive(Pattern { context: 0, source: -1, tag });
            Waits { pending: (0..count).map(receive).collect(), ..Waits::default() }.pending_in_words()
        };
        assert_eq!(pending(13).len(), 13);
        let many = pending(300);
        assert_eq!((many.len(), &*many[12]), (13, "288 others"));
        assert!(many[11].contains("tag 11"));
    }

    #[test]
    fn numbers_are_ranges() {
        assert_eq!(numbers(&[3]), "3");
        assert_eq!(numbers(&[0, 1]), "0 and 1");
        assert_eq!(numbers(&[0, 1, 2, 5]), "0 to 2 and 5");
        assert_eq!(numbers(&[0, 2, 4, 5, 6]), "0, 2 and 4 to 6");
        let odd: Vec<u32> = (0..100).map(|n| 2 * n).collect();
        assert_eq!(numbers(&odd), "0, 2, 4, 6, 8, 10, 12, 14 and others");
        assert_eq!([counted("task", &[1]), counted("task", &[1, 2])], ["task 1", "tasks 1 and 2"]);
    }
}
