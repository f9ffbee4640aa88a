//! The profile of programs that ran on a simulated machine: their calls, where the time in them went, and
//! their messages. Times are in nanoseconds.

/// A profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What ran: the program's name.
    pub program: String,
    /// The machine and its shape.
    pub machine: String,
    /// Tasks of the job, and on each node.
    pub tasks: u32,
    /// See `tasks`.
    pub tasks_per_node: u32,
    /// The simulated time at which the last task ended.
    pub end_ns: f64,
    /// Names of the calls, in alphabetical order; others refer to them by their place.
    pub names: Vec<String>,
    /// The threads that made calls, by task and number.
    pub threads: Vec<ThreadProfile>,
    /// The messages whose two ends are known, in the order in which they were sent.
    pub messages: Vec<Message>,
    /// Calls and ends of messages that were left out, because a thread had as many as are kept.
    pub dropped: u64,
}

/// The profile of a thread of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadProfile {
    /// The task, which is its rank in `MPI_COMM_WORLD`.
    pub task: u32,
    /// The thread's number; the first is 0.
    pub thread: u32,
    /// The node of the task.
    pub node: u32,
    /// When the task ended.
    pub end_ns: f64,
    /// Its calls by name.
    pub by_name: Vec<CallTotals>,
    /// Its calls in order, but for those that took no time.
    pub calls: Vec<CallSpan>,
}

impl ThreadProfile {
    /// The parts of its time in all calls.
    pub fn parts(&self) -> Parts {
        self.by_name.iter().fold(Parts::default(), |sum, calls| sum.plus(&calls.parts))
    }

    /// Its calls.
    pub fn count(&self) -> u64 {
        self.by_name.iter().map(|calls| calls.count).sum()
    }
}

/// The calls of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallTotals {
    /// The place of the name.
    pub name: usize,
    /// How many there were.
    pub count: u64,
    /// The longest of them.
    pub longest_ns: f64,
    /// The parts of their time.
    pub parts: Parts,
}

/// A call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallSpan {
    /// The place of its name.
    pub name: usize,
    /// When it began.
    pub from_ns: f64,
    /// When it ended.
    pub to_ns: f64,
    /// The parts of its time.
    pub parts: Parts,
}

/// The parts of a time in calls; they add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// The library's instructions.
    pub software_ns: f64,
    /// The network interface took commands from the thread.
    pub injection_ns: f64,
    /// It waited for others, which had not sent yet.
    pub partner_ns: f64,
    /// It waited for what was in flight, as long as that takes on a machine that is otherwise empty.
    pub wire_ns: f64,
    /// The additional time of what was in flight.
    pub queueing_ns: f64,
}

impl Parts {
    /// Their names, in the order of [`Self::list`].
    pub const NAMES: [&str; 5] = ["software", "injection", "queueing", "wire", "partner"];

    /// As a list.
    pub fn list(&self) -> [f64; 5] {
        [self.software_ns, self.injection_ns, self.queueing_ns, self.wire_ns, self.partner_ns]
    }

    /// The whole time.
    pub fn sum_ns(&self) -> f64 {
        self.list().iter().sum()
    }

    /// These and others.
    #[must_use]
    pub fn plus(&self, other: &Parts) -> Parts {
        Parts {
            software_ns: self.software_ns + other.software_ns,
            injection_ns: self.injection_ns + other.injection_ns,
            partner_ns: self.partner_ns + other.partner_ns,
            wire_ns: self.wire_ns + other.wire_ns,
            queueing_ns: self.queueing_ns + other.queueing_ns,
        }
    }
}

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Message {
    /// The sending task and thread.
    pub from: (u32, u32),
    /// The receiving task and thread.
    pub to: (u32, u32),
    /// When it was given to the library.
    pub sent_ns: f64,
    /// When a receive had taken it and its data was there.
    pub received_ns: f64,
    /// Its length.
    pub bytes: u64,
    /// Its tag.
    pub tag: i32,
    /// The context of its communicator.
    pub context: u32,
    /// Whether a collective operation sent it.
    pub is_collective: bool,
}

impl Profile {
    /// All threads' calls by name, those that took the most time first.
    pub fn by_name(&self) -> Vec<CallTotals> {
        let mut all: Vec<CallTotals> =
            (0..self.names.len()).map(|name| CallTotals { name, ..CallTotals::default() }).collect();
        for calls in self.threads.iter().flat_map(|thread| &thread.by_name) {
            let sum = &mut all[calls.name];
            sum.count += calls.count;
            sum.longest_ns = sum.longest_ns.max(calls.longest_ns);
            sum.parts = sum.parts.plus(&calls.parts);
        }
        all.sort_by(|a, b| b.parts.sum_ns().total_cmp(&a.parts.sum_ns()).then(a.name.cmp(&b.name)));
        all
    }
}
