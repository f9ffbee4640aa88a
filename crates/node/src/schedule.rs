//! The schedule of a node: its network interface's actions, and its processes, each of which computes, has a
//! pending command, or waits.
//!
//! **A process is resumed once for each operation.** Each event that is to resume it carries the number of
//! that operation; if another has resumed it first, the number is outdated and the event is ignored. So a
//! wait that is over cannot end a later operation.

use crate::agenda::Agenda;
use crate::polling::Polling;
use crate::process::{ProcessId, Resumed, Wait};
use crate::time::Microticks;
use netloom_engine::Time;
use smallvec::SmallVec;

/// The schedule of a node. `A` is an action of its network interface, `W` a condition that its processes may
/// wait for.
pub struct Schedule<A, W> {
    agenda: Agenda<Due<A>>,
    /// The rank of processes among actions at the same time.
    rank: u32,
    /// By number; those after the last have not started.
    processes: Vec<Progress<W>>,
}

/// The state of a process.
struct Progress<W> {
    /// The number of its operation, which wraps around: agenda entries stay small, and none is that old.
    operation: u32,
    /// The conditions of its wait, and its start, while none of them holds.
    wait: Option<(Microticks, SmallVec<[W; 2]>)>,
    /// It sleeps meanwhile.
    sleeps: bool,
    /// The process of whose notices its wait ends.
    listens: Option<ProcessId>,
    /// Its wait ends when it is unparked.
    is_parked: bool,
    /// It was unparked while it was not parked.
    has_token: bool,
}

impl<W> Default for Progress<W> {
    fn default() -> Self {
        Progress {
            operation: 0,
            wait: None,
            sleeps: false,
            listens: None,
            is_parked: false,
            has_token: false,
        }
    }
}

/// An entry of the agenda.
enum Due<A> {
    Action(A),
    Resume {
        process: ProcessId,
        operation: u32,
        why: Resumed,
    },
    /// The time limit of a wait.
    TimeOut {
        process: ProcessId,
        operation: u32,
    },
}

// Heaps move these entries: a process's data fits next to the tag of an interface's action, so that it takes
// no more space.
const _: () = assert!(size_of::<Due<Result<Box<u8>, u8>>>() <= 16);

/// The next thing to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<A> {
    /// The network interface acts.
    Action(A),
    /// A process is resumed.
    Resume(ProcessId, Resumed),
}

impl<A, W> Default for Schedule<A, W> {
    fn default() -> Self {
        Schedule { agenda: Agenda::default(), rank: 0, processes: vec![] }
    }
}

impl<A, W> Schedule<A, W> {
    /// The schedule of an interface whose stations act in a fixed order within a tick ([`Self::at_ranked`]),
    /// before processes.
    pub fn clocked() -> Self {
        Schedule { rank: u32::MAX, ..Self::default() }
    }
}

impl<A, W: Copy> Schedule<A, W> {
    /// Schedules an action of the network interface; actions at the same time stay in order.
    pub fn at(&mut self, at: Microticks, action: A) {
        self.agenda.at(at, Due::Action(action));
    }

    /// The same for an interface whose stations act in a fixed order at the same time: the lowest rank first.
    pub fn at_ranked(&mut self, at: Microticks, rank: u32, action: A) {
        self.agenda.at_ranked(at, rank, Due::Action(action));
    }

    fn progress(&mut self, process: ProcessId) -> &mut Progress<W> {
        let place = usize::from(process);
        if self.processes.len() <= place {
            self.processes.resize_with(place + 1, Progress::default);
        }
        &mut self.processes[place]
    }

    /// Resumes a process at a time: its operation is complete.
    pub fn resume_at(&mut self, at: Microticks, process: ProcessId) {
        self.resume(at, process, Resumed::Done);
    }

    #[inline]
    fn resume(&mut self, at: Microticks, process: ProcessId, why: Resumed) {
        let operation = self.progress(process).operation;
        self.agenda.at_ranked(at, self.rank, Due::Resume { process, operation, why });
    }

    /// A process starts to wait.
    pub fn wait(&mut self, now: Microticks, process: ProcessId, wait: Wait<W>) {
        let progress = self.progress(process);
        let operation = progress.operation;
        (progress.wait, progress.sleeps) = (Some((now, wait.any)), wait.sleeps);
        progress.listens = wait.listens;
        if let Some(most) = wait.at_most {
            self.agenda.at(now + most, Due::TimeOut { process, operation });
        }
    }

    /// A process parks, as in [`Self::wait`]. Returns whether it was unparked before, and so does not wait.
    pub fn park(&mut self, now: Microticks, process: ProcessId, wait: Wait<W>) -> bool {
        let progress = self.progress(process);
        if std::mem::take(&mut progress.has_token) {
            return true;
        }
        progress.is_parked = true;
        self.wait(now, process, wait);
        false
    }

    /// Unparks a process.
    pub fn unpark(&mut self, now: Microticks, process: ProcessId) {
        let progress = self.progress(process);
        if std::mem::take(&mut progress.is_parked) {
            progress.wait = None;
            self.resume(now, process, Resumed::Unparked);
        } else {
            progress.has_token = true;
        }
    }

    /// Resumes a process at a time, since the condition at index `place` of its wait holds.
    pub fn found_at(&mut self, at: Microticks, process: ProcessId, place: usize) {
        let progress = self.progress(process);
        (progress.wait, progress.is_parked) = (None, false);
        self.resume(at, process, Resumed::Found(place as u16));
    }

    /// Whether any process waits for a matching condition.
    pub fn is_awaited(&self, is_it: impl Fn(W) -> bool) -> bool {
        self.processes.iter().filter_map(|p| p.wait.as_ref()).any(|(_, any)| any.iter().any(|&w| is_it(w)))
    }

    /// A condition holds since `now`: each process that waits for it notices it after the delay of its
    /// polling loop, or of an interrupt. Returns their number.
    pub fn found(
        &mut self,
        now: Microticks,
        polling: impl Fn(W) -> Polling,
        is_it: impl Fn(ProcessId, W) -> bool,
    ) -> usize {
        let mut count = 0;
        for number in 0..self.processes.len() {
            let process = number as ProcessId;
            let Some((since, any)) = &self.processes[number].wait else { continue };
            let Some(place) = any.iter().position(|&watch| is_it(process, watch)) else { continue };
            let polling = match self.processes[number].sleeps {
                true => polling(any[place]).woken(),
                // Who listens looks at the memory for its notices, too.
                false => {
                    let notices = self.processes[number].listens.map(|_| polling(any[place]));
                    Polling::of_all(any.iter().map(|&w| polling(w)).chain(notices), place)
                }
            };
            let at = polling.seen(*since, now);
            self.found_at(at, process, place);
            count += 1;
        }
        count
    }

    /// A process is notified at `now`: those that listen to it notice it at the end of a poll, which looks at
    /// what else they wait for before. `polling` is that of memory.
    pub fn notified(&mut self, now: Microticks, listened: ProcessId, polling: Polling) {
        for number in 0..self.processes.len() {
            let progress = &mut self.processes[number];
            let Some((since, any)) = progress.wait.as_ref().filter(|_| progress.listens == Some(listened))
            else {
                continue;
            };
            let at = match progress.sleeps {
                true => polling.woken(),
                false => Polling::of_all(std::iter::repeat_n(polling, any.len() + 1), any.len()),
            };
            let at = at.seen(*since, now);
            (progress.wait, progress.is_parked) = (None, false);
            self.resume(at, number as ProcessId, Resumed::Notified);
        }
    }

    /// Prefetches what the next action needs first of the schedule.
    #[inline]
    pub fn prefetch(&self) {
        self.agenda.prefetch();
    }

    /// The next action of the network interface, if it comes next.
    #[inline]
    pub fn first_action(&self) -> Option<&A> {
        match self.agenda.first()? {
            Due::Action(action) => Some(action),
            _ => None,
        }
    }

    /// Whether anything is due by a tick.
    pub fn is_due(&self, now: Time) -> bool {
        self.agenda.is_due(now)
    }

    /// The next due item by a tick, with its exact time.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<(Microticks, Next<A>)> {
        loop {
            let (t, due) = self.agenda.due(now)?;
            let (process, operation, why) = match due {
                Due::Action(action) => return Some((t, Next::Action(action))),
                Due::Resume { process, operation, why } => (process, operation, why),
                Due::TimeOut { process, operation } => {
                    let progress = self.progress(process);
                    if progress.operation != operation || progress.wait.take().is_none() {
                        continue;
                    }
                    (process, operation, Resumed::TimedOut)
                }
            };
            let progress = self.progress(process);
            if progress.operation == operation {
                progress.operation = progress.operation.wrapping_add(1);
                (progress.wait, progress.is_parked) = (None, false);
                return Some((t, Next::Resume(process, why)));
            }
        }
    }

    /// The tick of the next wake-up, if the fabric does not know it yet.
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        self.agenda.arm(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Microticks;
    use proptest::prelude::*;

    fn poll(_: char) -> Polling {
        Polling::memory(Microticks(10), Microticks(3))
    }

    #[test]
    fn who_polls_resumes_at_the_end_of_a_turn() {
        let mut s: Schedule<(), char> = Schedule::default();
        for (process, now, watch) in [(1, 500, 'a'), (2, 600, 'b'), (3, 700, 'a')] {
            s.wait(Microticks(now), process, Wait::for_one(watch));
        }
        assert!(s.is_awaited(|w| w == 'b') && !s.is_awaited(|w| w == 'c'));
        // Turns of 10: the second ends at 520, and a process that has just started needs at least one turn.
        s.found(Microticks(512), poll, |process, w| process == 1 && w == 'a');
        s.found(Microticks(700), poll, |_, w| w == 'a');
        assert_eq!(s.due(Time::at(1)), Some((Microticks(523), Next::Resume(1, Resumed::Found(0)))));
        assert_eq!(s.due(Time::at(1)), Some((Microticks(713), Next::Resume(3, Resumed::Found(0)))));
        assert_eq!(s.due(Time::at(1)), None);
    }

    /// Regression: a second event for a wait that is over must not end the process's next operation.
    #[test]
    fn a_late_wake_up_does_nothing() {
        let mut s: Schedule<(), char> = Schedule::default();
        s.wait(Microticks(0), 0, Wait { at_most: Some(Microticks(100)), ..Wait::for_any(['a', 'b']) });
        s.found(Microticks(5), poll, |_, w| w == 'b');
        s.found(Microticks(6), poll, |_, w| w == 'a');
        s.found(Microticks(7), poll, |_, w| w == 'b');
        assert_eq!(s.due(Time::at(0)), None);
        assert_eq!(s.due(Time::at(1)), Some((Microticks(23), Next::Resume(0, Resumed::Found(1)))));
        // It computes for a long time; the time limit of the wait passes meanwhile.
        s.resume_at(Microticks::TICK / 2, 0);
        assert_eq!(s.due(Time::at(1)), Some((Microticks::TICK / 2, Next::Resume(0, Resumed::Done))));
        assert_eq!(s.due(Time::at(9)), None);
    }

    #[test]
    fn a_process_is_unparked_while_it_is_parked_or_before() {
        let mut s: Schedule<(), char> = Schedule::default();
        let limit = |at_most| Wait { at_most, ..Wait::for_one('a') };
        s.unpark(Microticks(1), 0);
        s.unpark(Microticks(2), 0);
        assert!(s.park(Microticks(3), 0, limit(None)), "unparked before, which counts once");
        assert!(!s.park(Microticks(4), 0, limit(Some(Microticks(10)))));
        s.unpark(Microticks(5), 0);
        assert_eq!(s.due(Time::at(1)), Some((Microticks(5), Next::Resume(0, Resumed::Unparked))));
        assert_eq!(s.due(Time::at(1)), None, "its time limit does nothing any more");
        // What it waits for comes first.
        assert!(!s.park(Microticks(20), 0, limit(None)));
        s.found(Microticks(21), poll, |_, w| w == 'a');
        s.unpark(Microticks(22), 0);
        assert_eq!(s.due(Time::at(1)), Some((Microticks(33), Next::Resume(0, Resumed::Found(0)))));
        assert!(s.park(Microticks(40), 0, limit(None)));
    }

    #[test]
    fn who_listens_sees_a_notice_after_what_else_it_polls() {
        let mut s: Schedule<(), char> = Schedule::default();
        let listening = |any: &[char]| Wait { listens: Some(3), ..Wait::for_any(any.iter().copied()) };
        s.wait(Microticks(0), 0, listening(&[]));
        s.wait(Microticks(0), 1, listening(&['a', 'b']));
        assert!(!s.park(Microticks(0), 2, Wait { sleeps: true, ..listening(&['a']) }));
        s.wait(Microticks(0), 4, Wait::for_one('a'));
        s.notified(Microticks(35), 2, poll('m'));
        assert_eq!(s.due(Time::at(1)), None, "nobody listens to process 2");
        s.notified(Microticks(35), 3, poll('m'));
        // Turns of 10, of 30 in which the notices are last, and asleep.
        for (at, process) in [(43, 0), (48, 2), (63, 1)] {
            assert_eq!(s.due(Time::at(1)), Some((Microticks(at), Next::Resume(process, Resumed::Notified))));
        }
        // A condition of one who listens is polled in turns with the notices.
        s.wait(Microticks(100), 0, listening(&['a']));
        s.found(Microticks(111), poll, |process, w| process == 0 && w == 'a');
        assert_eq!(s.due(Time::at(1)), Some((Microticks(133), Next::Resume(0, Resumed::Found(0)))));
        assert_eq!(s.due(Time::at(1)), None);
    }

    proptest! {
        /// In whatever order events arrive while a process goes from one operation to the next, each
        /// operation ends once, by its own event.
        #[test]
        fn each_operation_ends_once(events in proptest::collection::vec((0u64..40, 0u8..3), 1..60), limit in proptest::option::of(1u64..50)) {
            let mut s: Schedule<u8, u8> = Schedule::default();
            for &(at, watch) in &events {
                s.at(Microticks(at), watch);
            }
            // Waits for 0, computes for 7, waits for 1 with a time limit, computes for 7, and so on.
            let mut in_flight = 0;
            let begin = |s: &mut Schedule<u8, u8>, t: Microticks, number: u64| match number % 4 {
                0 => s.wait(t, 0, Wait::for_one(0)),
                2 => s.wait(t, 0, Wait { at_most: limit.map(Microticks), ..Wait::for_any([1, 2]) }),
                _ => s.resume_at(t + Microticks(7), 0),
            };
            begin(&mut s, Microticks(0), 0);
            let mut began = Microticks(0);
            while let Some((t, next)) = s.due(Microticks::MAX.tick()) {
                match next {
                    Next::Action(watch) => {
                        s.found(t, |_| Polling::memory(Microticks(2), Microticks(1)), |_, w| w == watch);
                    }
                    Next::Resume(process, why) => {
                        prop_assert_eq!(process, 0);
                        match in_flight % 4 {
                            0 => prop_assert_eq!(why, Resumed::Found(0)),
                            2 => prop_assert!(why != Resumed::Done && (why != Resumed::TimedOut || Some((t - began).0) == limit)),
                            _ => prop_assert!(why == Resumed::Done && (t - began).0 == 7),
                        }
                        in_flight += 1;
                        began = t;
                        begin(&mut s, t, in_flight);
                    }
                }
            }
        }
    }
}
