//! The profile of a job, from what was recorded of its threads.

use netloom_messaging::pami::guest::ThreadNumber;
use netloom_messaging::pami::guest::profile::recorder::Recorder;
use netloom_messaging::pami::guest::profile::{Mark, Matched, Record, Shared};
use netloom_messaging::transit::{Hops, Unloaded};
use netloom_node::time::Microticks;
use netloom_study::profile::{CallSpan, CallTotals, Message, Parts, Profile, ThreadProfile};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls, and marks of messages, that are kept of each thread.
const ENTRIES_MAX: usize = 200_000;

/// By task and thread.
type ByThread<T> = BTreeMap<(u32, ThreadNumber), T>;

/// The recorders of a job's threads.
pub(crate) struct Recorders {
    shared: Arc<Shared>,
    list: Mutex<ByThread<Arc<Mutex<Recorder>>>>,
}

/// The ends of messages from one task to another, of one context and tag, in order: when it was sent, or
/// taken and received, and by which thread.
type Ends<E> = HashMap<Key, Vec<E>>;
type Key = (u32, u32, u32, i32);
type Sent = (f64, ThreadNumber, u64);
type Received = (f64, ThreadNumber);

impl Recorders {
    /// For a run on a machine with these times.
    pub fn new(unloaded: Unloaded, hops: Hops) -> Self {
        Recorders { shared: Arc::new(Shared::new(unloaded, hops)), list: Mutex::default() }
    }

    /// A recorder for a thread of a task, on this node.
    pub fn add(&self, task: u32, thread: ThreadNumber, node: u32) -> Arc<Mutex<Recorder>> {
        let recorder = Arc::new(Mutex::new(Recorder::new(&self.shared, node, ENTRIES_MAX)));
        self.list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((task, thread), Arc::clone(&recorder));
        recorder
    }

    /// What they recorded, of a job on these nodes of which the rest is known.
    pub fn profile(
        self,
        job: Profile,
        nodes: &[u32],
        ns: impl Fn(Microticks) -> f64,
        ended_ns: impl Fn(u32) -> f64,
    ) -> Profile {
        let recorders = self.list.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut records: ByThread<Record> = BTreeMap::new();
        for (key, recorder) in recorders {
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            records.insert(key, recorder.take_record());
        }
        // Those of threads that make no calls, too: communication threads take messages.
        let messages = messages(&records, &ns);
        let dropped = records.values().map(|record| record.dropped).sum();
        records.retain(|_, record| !record.by_name.is_empty());
        let names = records.values().flat_map(|record| &record.by_name).map(|calls| calls.name.clone());
        let names: Vec<String> = names.collect::<BTreeSet<_>>().into_iter().collect();
        let of_thread = |(&(task, thread), record): (&(u32, ThreadNumber), &Record)| {
            let end_ns = ended_ns(task);
            let node = nodes[(task / job.tasks_per_node) as usize];
            thread_profile(
                ThreadProfile { task, thread, node, end_ns, ..Default::default() },
                record,
                &names,
                &ns,
            )
        };
        Profile { threads: records.iter().map(of_thread).collect(), messages, dropped, names, ..job }
    }
}

fn thread_profile(
    of: ThreadProfile,
    record: &Record,
    names: &[String],
    ns: impl Fn(Microticks) -> f64,
) -> ThreadProfile {
    use netloom_messaging::pami::guest::profile::Parts as Recorded;
    let parts = |parts: &Recorded| Parts {
        software_ns: ns(parts.software),
        injection_ns: ns(parts.injection),
        partner_ns: ns(parts.partner()),
        wire_ns: ns(parts.wire),
        queueing_ns: ns(parts.queueing),
    };
    let place = |name: &String| names.binary_search(name).expect("all are in the list");
    let places: Vec<usize> = record.by_name.iter().map(|calls| place(&calls.name)).collect();
    let totals = record.by_name.iter().zip(&places).map(|(calls, &name)| CallTotals {
        name,
        count: calls.count,
        longest_ns: ns(calls.longest),
        parts: parts(&calls.parts),
    });
    let calls = record.calls.iter().map(|call| CallSpan {
        name: places[call.name as usize],
        from_ns: ns(call.from),
        to_ns: ns(call.to),
        parts: parts(&call.parts),
    });
    ThreadProfile { by_name: totals.collect(), calls: calls.collect(), ..of }
}

/// The messages. Those of one sender, receiver, context and tag are taken by receives in the order in which
/// they are sent (MPI 5.0, section 3.5).
fn messages(records: &ByThread<Record>, ns: impl Fn(Microticks) -> f64) -> Vec<Message> {
    let tasks: BTreeSet<u32> = records.keys().map(|&(task, _)| task).collect();
    let (mut sent, mut received): (Ends<Sent>, Ends<Received>) = (HashMap::new(), HashMap::new());
    for task in tasks {
        let of_task = records.range((task, 0)..=(task, ThreadNumber::MAX));
        let mut marks: Vec<(Microticks, ThreadNumber, &Mark)> = of_task
            .flat_map(|(&(_, thread), record)| {
                record.messages.iter().map(move |(at, mark)| (*at, thread, mark))
            })
            .collect();
        marks.sort_by_key(|&(at, ..)| at);
        // Receives whose data follows: where they stand.
        let mut open: HashMap<u64, (Key, usize)> = HashMap::new();
        for (at, thread, mark) in marks {
            match *mark {
                Mark::Sent(Matched { peer, context, tag, bytes }) => {
                    sent.entry((task, peer, context, tag)).or_default().push((ns(at), thread, bytes));
                }
                Mark::Taken { message: Matched { peer, context, tag, .. }, number } => {
                    let key = (peer, task, context, tag);
                    let list = received.entry(key).or_default();
                    // Unless its data comes later, it is there.
                    let time = if number.is_some() { f64::NAN } else { ns(at) };
                    open.extend(number.map(|number| (number, (key, list.len()))));
                    list.push((time, thread));
                }
                Mark::Received(number) => {
                    if let Some((key, place)) = open.remove(&number) {
                        received.get_mut(&key).expect("it was taken")[place] = (ns(at), thread);
                    }
                }
                _ => {}
            }
        }
    }
    let mut all: Vec<Message> = vec![];
    for (key @ (from, to, context, tag), ends) in sent {
        for ((sent_ns, by, bytes), (received_ns, receiver)) in
            ends.into_iter().zip(received.remove(&key).unwrap_or_default())
        {
            // Of one whose data never came, only the begin is known.
            if !received_ns.is_nan() {
                all.push(Message {
                    from: (from, by),
                    to: (to, receiver),
                    sent_ns,
                    received_ns,
                    bytes,
                    tag,
                    context,
                    // The odd contexts are those of collectives.
                    is_collective: context % 2 == 1,
                });
            }
        }
    }
    all.sort_by(|a, b| {
        let order = |m: &Message| (m.from, m.to, m.context, m.tag);
        let by_time = a.sent_ns.total_cmp(&b.sent_ns).then(a.received_ns.total_cmp(&b.received_ns));
        by_time.then(order(a).cmp(&order(b)))
    });
    all
}
