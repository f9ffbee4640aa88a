//! Records a thread: its calls, the parts of their time, and its messages' marks.

use super::super::ContextNumber;
use super::groups::{Groups, Operation, Shared};
use super::{Call, Calls, Mark, Parts, Record};
use crate::pami::device::Collective;
use crate::transit::Flight;
use netloom_node::process::Noted;
use netloom_node::time::Microticks;
use std::collections::VecDeque;
use std::sync::Arc;

/// A wait whose reason is not known yet: what ends it has not come.
#[derive(Clone, Copy, Debug)]
struct OpenWait {
    from: Microticks,
    to: Microticks,
    of: Of,
}

/// The call that a wait is part of.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// The one that the thread is in, if it is in one.
    Current,
    /// One of this name that has ended, and its place if it is kept.
    Ended(u32, Option<usize>),
}

/// A point that the hardware thread has not reached.
#[derive(Debug)]
enum Point {
    Mark(Mark),
    /// It enters a collective operation by hardware; others wait for it or not.
    Enter(Operation, bool),
}

/// Most waits whose reason is not known.
const OPEN_WAITS_MAX: usize = 10_000;
/// Most names of calls.
const NAMES_MAX: usize = 4096;

/// Records a thread.
pub struct Recorder {
    shared: Arc<Shared>,
    node: u32,
    record: Record,
    entries_max: usize,
    /// Marks that its hardware thread has not reached, and the time that it had waited when they came.
    pending: VecDeque<(Point, Microticks)>,
    /// The time that it has waited.
    waited: Microticks,
    open_waits: Vec<OpenWait>,
    /// The call that it is in: its name, when it began, and the time that it had waited then.
    open: Option<(u32, Noted, Microticks)>,
    /// The known parts of its waiting.
    open_parts: Parts,
    /// The operation by hardware that it has entered in this call.
    collective: Option<Operation>,
    /// When the thread began.
    began: Noted,
}

impl Recorder {
    /// A recorder that keeps at most this number of calls, and of messages' marks.
    pub fn new(shared: &Arc<Shared>, node: u32, entries_max: usize) -> Self {
        Recorder {
            shared: Arc::clone(shared),
            node,
            record: Record::default(),
            entries_max,
            pending: VecDeque::new(),
            waited: Microticks::ZERO,
            open_waits: vec![],
            open: None,
            open_parts: Parts::default(),
            collective: None,
            began: Noted::default(),
        }
    }

    /// What it has recorded.
    pub fn take_record(&mut self) -> Record {
        std::mem::take(&mut self.record)
    }

    /// The thread begins.
    pub(in super::super) fn begin(&mut self, now: Microticks) {
        self.began = Noted { at: now, computed: Microticks::ZERO };
    }

    /// Whether a mark is one that a library sets.
    pub(in super::super) fn is_valid(&self, mark: &Mark, tasks: u32) -> bool {
        let of_pending = |(point, _): &(Point, Microticks)| matches!(point, Point::Mark(Mark::Name(_)));
        let names = || self.record.by_name.len() + self.pending.iter().filter(|p| of_pending(p)).count();
        match mark {
            Mark::Name(_) => names() < NAMES_MAX,
            Mark::Begin(name) | Mark::BeginFirst(name) | Mark::Brief(name, _) => (*name as usize) < names(),
            Mark::Sent(message) | Mark::Taken { message, .. } => message.peer < tasks,
            Mark::End | Mark::Received(_) => true,
        }
    }

    /// The hardware thread will reach a mark.
    pub(in super::super) fn expect(&mut self, mark: Mark) {
        self.pending.push_back((Point::Mark(mark), self.waited));
    }

    /// The hardware thread will enter an operation by hardware. Returns whether its group is known.
    pub(in super::super) fn expect_entry(
        &mut self,
        groups: &mut Groups,
        of: (ContextNumber, usize),
        operation: &Collective,
        task: u32,
    ) -> bool {
        let entered = groups.enter(of, operation, task);
        let is_known = entered.is_some();
        self.pending
            .extend(entered.map(|(operation, counts)| (Point::Enter(operation, counts), self.waited)));
        is_known
    }

    /// The thread has waited.
    pub(in super::super) fn wait(&mut self, from: Microticks, to: Microticks) {
        self.waited += to - from;
        if from < to {
            // What is forgotten is taken for waiting for others.
            if self.open_waits.len() == OPEN_WAITS_MAX {
                self.open_waits.clear();
            }
            self.open_waits.push(OpenWait { from, to, of: Of::Current });
        }
    }

    /// Something has arrived for which the thread may have waited. During an operation by hardware it waits
    /// for others to enter that.
    pub(in super::super) fn arrived(&mut self, flight: Flight) {
        if self.collective.is_some() || self.open_waits.is_empty() {
            return;
        }
        let took = flight.found.saturating_sub(flight.sent);
        let hops = (self.shared.hops)(flight.node, self.node);
        // Without measurements all is attributed to the wire.
        let alone = self.shared.unloaded.time(flight.part, flight.bytes, hops).unwrap_or(took);
        self.explain(flight.sent, alone, took);
    }

    /// Why the waits since the last arrival took as long as they did: nothing was in flight before it was
    /// `sent`; the rest has the shares of the time that it `took`.
    fn explain(&mut self, sent: Microticks, alone: Microticks, took: Microticks) {
        let share = if took > alone { alone.0 as f64 / took.0 as f64 } else { 1.0 };
        for OpenWait { from, to, of } in self.open_waits.drain(..) {
            let in_flight = to.saturating_sub(from.max(sent));
            let wire = Microticks::of_f64(in_flight.0 as f64 * share).min(in_flight);
            let parts = Parts { wire, queueing: in_flight - wire, ..Parts::default() };
            match of {
                Of::Current => self.open_parts.add(&parts),
                Of::Ended(name, place) => {
                    self.record.by_name[name as usize].parts.add(&parts);
                    if let Some(place) = place {
                        self.record.calls[place].parts.add(&parts);
                    }
                }
            }
        }
    }

    /// The hardware thread has reached the next marks.
    pub(in super::super) fn reached(&mut self, notes: Vec<Noted>) {
        for noted in notes {
            match self.pending.pop_front() {
                Some((Point::Mark(mark), waited)) => self.reach(mark, waited, noted),
                Some((Point::Enter(operation, counts), _)) => {
                    if counts {
                        self.shared.enters(&operation, noted.at);
                    }
                    self.collective = Some(operation);
                }
                None => return,
            }
        }
    }

    fn reach(&mut self, mark: Mark, waited: Microticks, noted: Noted) {
        match mark {
            Mark::Name(name) => self.record.by_name.push(Calls { name, ..Calls::default() }),
            Mark::Begin(name) => self.open_call(name, noted, waited),
            Mark::BeginFirst(name) => self.open_call(name, self.began, Microticks::ZERO),
            Mark::End => {
                self.explain_collective();
                let Some((name, began, waited_before)) = self.open.take() else { return };
                let (took, waiting) = (noted.at - began.at, waited - waited_before);
                let software = noted.computed - began.computed;
                let injection = took.saturating_sub(software + waiting);
                let Parts { wire, queueing, .. } = std::mem::take(&mut self.open_parts);
                let parts = Parts { software, injection, waiting, wire, queueing };
                self.add(Call { name, from: began.at, to: noted.at, parts });
            }
            Mark::Brief(name, count) => self.record.by_name[name as usize].count += count,
            Mark::Sent(_) | Mark::Taken { .. } | Mark::Received(_) => {
                if self.record.messages.len() < self.entries_max {
                    self.record.messages.push((noted.at, mark));
                } else {
                    self.record.dropped += 1;
                }
            }
        }
    }

    /// A call begins. Waits before it are outside of calls, and of no interest.
    fn open_call(&mut self, name: u32, noted: Noted, waited: Microticks) {
        self.open_waits.retain(|wait| !matches!(wait.of, Of::Current));
        self.open = Some((name, noted, waited));
        self.open_parts = Parts::default();
    }

    /// An operation by hardware in the call has ended: what came after the last task had entered it was in
    /// flight.
    fn explain_collective(&mut self) {
        if let Some(operation) = self.collective.take() {
            let last = self.shared.last_to_enter(&operation);
            self.explain(last, Microticks::ZERO, Microticks::ZERO);
        }
    }

    fn add(&mut self, call: Call) {
        let took = call.to - call.from;
        let calls = &mut self.record.by_name[call.name as usize];
        calls.count += 1;
        calls.longest = calls.longest.max(took);
        calls.parts.add(&call.parts);
        let mut place = None;
        if took.is_zero() {
        } else if self.record.calls.len() < self.entries_max {
            place = Some(self.record.calls.len());
            self.record.calls.push(call);
        } else {
            self.record.dropped += 1;
        }
        for wait in &mut self.open_waits {
            if let Of::Current = wait.of {
                wait.of = Of::Ended(call.name, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transit::{Part, Passage, Unloaded};

    fn at(microticks: u64) -> Microticks {
        Microticks(microticks)
    }

    fn recorder(shared: &Arc<Shared>) -> Recorder {
        let mut recorder = Recorder::new(shared, 0, 100);
        recorder.expect(Mark::Name("MPI_Recv".into()));
        recorder.reached(vec![Noted::default()]);
        recorder
    }

    /// A packet takes 100 when the machine is empty.
    fn shared() -> Arc<Shared> {
        let passage = Passage { part: Part::Eager, bytes: 32, from: 1, to: 0 };
        let hops: crate::transit::Hops = Arc::new(|_, _| 1);
        Arc::new(Shared::new(Unloaded::new(&[(passage, at(100))], &hops), hops))
    }

    fn begins(recorder: &mut Recorder, now: u64, computed: u64) {
        recorder.expect(Mark::Begin(0));
        recorder.reached(vec![Noted { at: at(now), computed: at(computed) }]);
    }

    fn ends(recorder: &mut Recorder, now: u64, computed: u64) {
        recorder.expect(Mark::End);
        recorder.reached(vec![Noted { at: at(now), computed: at(computed) }]);
    }

    fn flight(sent: u64, found: u64) -> Flight {
        Flight { part: Part::Eager, bytes: 32, node: 1, sent: at(sent), found: at(found) }
    }

    /// Software, injection, partner, wire, queueing.
    fn list(parts: &Parts) -> [u64; 5] {
        [parts.software, parts.injection, parts.partner(), parts.wire, parts.queueing].map(|part| part.0)
    }

    #[test]
    fn parts_of_a_call_add_up() {
        let mut recorder = recorder(&shared());
        begins(&mut recorder, 1000, 40);
        // 30 of software and 5 of the unit, then 400 of waiting: 150 before the partner sends.
        recorder.wait(at(1035), at(1435));
        recorder.arrived(flight(1185, 1435));
        ends(&mut recorder, 1450, 85);
        let record = recorder.take_record();
        let call = record.calls[0];
        assert_eq!(list(&call.parts), [45, 5, 150, 100, 150]);
        assert_eq!(call.parts.sum(), call.to - call.from);
        assert_eq!((record.by_name[0].parts, record.by_name[0].count), (call.parts, 1));
    }

    #[test]
    fn waits_of_several_calls_for_one_message_are_explained_when_it_comes() {
        let mut recorder = recorder(&shared());
        for call in 0..3 {
            begins(&mut recorder, 1000 * call, 0);
            recorder.wait(at(1000 * call), at(1000 * call + 500));
            if call == 2 {
                recorder.arrived(flight(1400, 2500));
            }
            ends(&mut recorder, 1000 * call + 500, 0);
        }
        // Of 1,100 in flight 100 are the wire's: a share of each wait after it was sent.
        let record = recorder.take_record();
        let parts: Vec<_> = record.calls.iter().map(|call| list(&call.parts)).collect();
        assert_eq!(parts, [[0, 0, 500, 0, 0], [0, 0, 400, 9, 91], [0, 0, 0, 45, 455]]);
        assert_eq!(list(&record.by_name[0].parts), [0, 0, 900, 54, 546]);
    }

    #[test]
    fn an_operation_by_hardware_is_in_flight_when_the_last_task_has_entered() {
        let shared = shared();
        let tasks = [(0, 1)];
        let mut all = [0, 1].map(|task| (task, recorder(&shared), Groups::default()));
        for (task, recorder, groups) in &mut all {
            groups.join(0, 3, &tasks);
            let enters = 1000 + 700 * u64::from(*task);
            begins(recorder, enters, 0);
            assert!(recorder.expect_entry(groups, (0, 3), &Collective::Barrier, *task));
            assert!(!recorder.expect_entry(groups, (0, 4), &Collective::Barrier, *task), "no such group");
            recorder.reached(vec![Noted { at: at(enters), computed: at(0) }]);
        }
        let parts = all.map(|(task, mut recorder, _)| {
            recorder.wait(at(1000 + 700 * u64::from(task)), at(1900));
            // What arrives meanwhile is not what it waits for.
            recorder.arrived(flight(0, 1900));
            ends(&mut recorder, 1900, 0);
            list(&recorder.take_record().calls[0].parts)
        });
        assert_eq!(parts, [[0, 0, 700, 200, 0], [0, 0, 0, 200, 0]]);
    }

    #[test]
    fn what_no_library_marks_is_refused_and_what_is_too_much_is_counted() {
        let mut recorder = Recorder::new(&shared(), 0, 1);
        assert!(!recorder.is_valid(&Mark::Begin(0), 2));
        recorder.expect(Mark::Name("MPI_Send".into()));
        assert!(recorder.is_valid(&Mark::Begin(0), 2) && !recorder.is_valid(&Mark::Brief(1, 1), 2));
        let to = |peer| Mark::Sent(super::super::Matched { peer, context: 0, tag: 0, bytes: 0 });
        assert!(recorder.is_valid(&to(1), 2) && !recorder.is_valid(&to(2), 2));
        recorder.reached(vec![Noted::default()]);
        // An end without a begin is nothing.
        ends(&mut recorder, 5, 0);
        for call in 1..4 {
            begins(&mut recorder, 10 * call, 0);
            ends(&mut recorder, 10 * call + 3, 0);
        }
        let record = recorder.take_record();
        assert_eq!((record.calls.len(), record.dropped), (1, 2));
        assert_eq!((record.by_name[0].count, record.by_name[0].longest), (3, at(3)));
    }
}
