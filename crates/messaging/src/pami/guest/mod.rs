//! Guests: real processes that run on simulated nodes. A guest's protocols are in its own process, where the
//! functions are that they call; its devices are in the simulator. The two exchange lists: what the guest did
//! since the last time, for which it did not wait, and what it waits for; then what has arrived, and the
//! time. So what only begins an operation costs no hand-over, and a guest runs only while its node's time
//! stands still: whatever the computer does meanwhile, the simulated times are the same.
//!
//! Each thread of a guest is a hardware thread of its node, and has a channel to the simulator. Since their
//! node's time stands still while one of them runs, one runs at a time, in the order of simulated times. A
//! thread that blocks hands over; who releases it tells the simulator so ([`Request::Unpark`]).
//!
//! - [`hub`] – the guest's side.
//! - [`interface`] – what carries the messages of a task on its node.
//! - `patience` – when a thread waits for ever.
//! - [`process`] – the simulator's side: a hardware thread.
//! - [`profile`] – what a profile records of a thread.
//! - [`task`] – what the hardware threads of a task share.
//! - `valid` – what a guest may ask for.

pub mod hub;
pub mod interface;
mod patience;
pub mod process;
pub mod profile;
pub mod task;
mod valid;

use super::device::{Collective, GroupLimits, Step, Ticket, Transfer};
use super::message_unit::memory::Mapping;
use profile::Mark;
use serde::{Deserialize, Serialize};

/// The number of a context among those of a task, over all of its clients.
pub type ContextNumber = u32;

/// The number of a thread among those of a task. The first calls the library first; numbers of threads that
/// have ended are used again.
pub type ThreadNumber = u32;

/// The number of polls of a call that only looks whether there is something, as `MPI_Test` does: the program has
/// other things to do, so it takes the time of one.
pub const LOOK: u64 = 0;

/// Contexts of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contexts(u64);

impl Contexts {
    /// All that there can be.
    pub const ALL: Contexts = Contexts(u64::MAX);

    /// These and another.
    #[must_use]
    pub fn with(self, context: ContextNumber) -> Self {
        assert!(context < u64::BITS, "context {context}");
        Contexts(self.0 | 1 << context)
    }

    /// These and others.
    #[must_use]
    pub fn or(self, others: Contexts) -> Self {
        Contexts(self.0 | others.0)
    }

    /// These without others.
    #[must_use]
    pub fn without(self, others: Contexts) -> Self {
        Contexts(self.0 & !others.0)
    }

    /// Those of these that are among others.
    #[must_use]
    pub fn and(self, others: Contexts) -> Self {
        Contexts(self.0 & others.0)
    }

    /// Whether a context is one of them.
    pub fn has(self, context: ContextNumber) -> bool {
        context < u64::BITS && self.0 & 1 << context != 0
    }
}

impl FromIterator<ContextNumber> for Contexts {
    fn from_iter<I: IntoIterator<Item = ContextNumber>>(list: I) -> Self {
        list.into_iter().fold(Contexts::default(), Contexts::with)
    }
}

/// What a thread of a guest did and what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// In order.
    pub list: Vec<Request>,
    /// When it goes on.
    pub then: Then,
}

/// What a guest did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// A context is created.
    Open(ContextNumber),
    /// A context is destroyed.
    Close(ContextNumber),
    /// The library took a step.
    Spend(Step),
    /// The program computed for this long, ns.
    Compute(f64),
    /// A thread begins.
    Start(ThreadNumber),
    /// The program is at a point that a profile records. It takes no time.
    Mark(Mark),
    /// The program's library did something that involves no other task, so a poll that follows is not another
    /// one in vain. It takes no time.
    Acts,
    /// What the guest waits for, since it was asked.
    Report(Report),
    /// A thread that is blocked or polls goes on, or does not begin to wait.
    Unpark(ThreadNumber),
    /// A packet is sent.
    Inject {
        /// By this context.
        from: ContextNumber,
        /// To this context of a task, as an [`super::Endpoint`].
        to: u32,
        /// Its head, as a word.
        head: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Memory is sent in packets.
    Data {
        /// By this context.
        from: ContextNumber,
        /// To this one.
        to: u32,
        /// The packets' head.
        head: u64,
        /// Address and length.
        data: (u64, u64),
        /// The guest's number of the operation.
        ticket: Ticket,
    },
    /// Data is moved between this task's memory and another's.
    Transfer {
        /// By this context.
        from: ContextNumber,
        /// Which way.
        way: Transfer,
        /// With this context's task.
        with: u32,
        /// Pieces: address and length here, and the address that the other task exposed.
        pieces: Vec<(u64, u64, u64)>,
        /// The guest's number of the operation.
        ticket: Ticket,
    },
    /// All earlier puts must be complete.
    Flush {
        /// By this context.
        from: ContextNumber,
        /// To this one.
        with: u32,
        /// The guest's number of the operation.
        ticket: Ticket,
    },
    /// A group of tasks is set up with a class.
    Join {
        /// By this context.
        by: ContextNumber,
        /// Ranges of tasks, both ends included.
        tasks: Vec<(u32, u32)>,
        /// The class.
        class: u8,
        /// The number that the group must get.
        group: usize,
    },
    /// The class of a group is freed.
    Leave {
        /// By this context.
        by: ContextNumber,
        /// The group.
        group: usize,
    },
    /// A collective operation begins.
    Collective {
        /// By this context.
        by: ContextNumber,
        /// Of this group.
        group: usize,
        /// The operation.
        operation: Collective,
        /// The guest's number of it.
        ticket: Ticket,
    },
}

/// What a guest waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In words, a line for each thing.
    pub lines: Vec<String>,
    /// As the library above PAMI has it (of MPI `netloom_mpi::waits::Waits`), to be compared with what others
    /// report; empty if there is none.
    pub state: Vec<u8>,
}

/// When a guest goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Then {
    /// As soon as all that it did has taken its time.
    Go,
    /// The same, with the mapping of this memory, by which others reach it.
    Expose(u64, u64),
    /// The same, with the classes that a context may take for a group: ranges of tasks, both ends included.
    Classes(ContextNumber, Vec<(u32, u32)>),
    /// When something has arrived at any of these contexts, when it is unparked, or after this number of
    /// polls.
    Wait(Contexts, u64),
    /// When something has arrived at any of these contexts, or another thread unparks it: until then it
    /// sleeps.
    WakeUp(Contexts),
    /// When it is unparked, or after this time, ns.
    Block(Option<f64>),
    /// After this time, ns.
    Sleep(f64),
    /// Never: the thread ends.
    EndThread,
    /// Never: the process ends.
    End,
}

/// What a guest is told when it goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The time, ns.
    pub now_ns: f64,
    /// What has arrived, in order, at which context.
    pub arrivals: Vec<(ContextNumber, Arrived)>,
    /// Packets that each context may send before it must ask again.
    pub room: Vec<(ContextNumber, u64)>,
    /// The answer to [`Then::Expose`].
    pub exposed: Mapping,
    /// The guest must tell what it waits for, and goes on waiting.
    pub wants_report: bool,
    /// The answer to [`Then::Classes`], one bit each.
    pub classes: u64,
    /// What it must know of its job; only in the first reply.
    pub facts: Option<Facts>,
}

impl Reply {
    /// A reply at this time, with nothing else.
    pub fn at(now_ns: f64) -> Self {
        Reply { now_ns, ..Reply::default() }
    }
}

/// What has arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrived {
    /// A packet: its head and bytes.
    Packet(u64, Vec<u8>),
    /// The end of an operation.
    Finished(Ticket),
}

/// How a device moves data between the memory of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// It puts and gets what was exposed, by addresses of its own.
    Exposed,
    /// It gets, by the programs' addresses.
    Gets,
    /// It does not: all data goes through packets.
    Packets,
}

/// What a guest must know of its job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The machine's name.
    pub machine: String,
    /// Tasks of the job, and on each node.
    pub tasks: u32,
    /// See `tasks`. Task *n* runs on the node with place *n* / `tasks_per_node` in `nodes`.
    pub tasks_per_node: u32,
    /// The nodes of the job; empty if they are the first ones, in order.
    pub nodes: Vec<u32>,
    /// The dimensions of the machine's torus: the length of each, and whether it closes into a ring. Nodes
    /// are numbered along the first dimension first.
    pub torus: Vec<(u32, bool)>,
    /// Contexts that a task may have.
    pub contexts: u32,
    /// Hardware threads of a task.
    pub threads: u32,
    /// Whether the first of them has the group of all tasks, as its first group.
    pub has_world_group: bool,
    /// The limits of groups.
    pub group_limits: GroupLimits,
    /// Most bytes of a packet.
    pub packet_max_bytes: usize,
    /// What the device does with other tasks' memory.
    pub reach: Reach,
    /// Data of this length and more is sent by rendezvous, bytes.
    pub rendezvous_from_bytes: u64,
    /// To read the clock, ns.
    pub clock_ns: f64,
    /// The clock of the machine's cores, MHz.
    pub core_mhz: f64,
    /// What of the program's own computing counts: its time is multiplied by this.
    pub compute_scale: f64,
    /// Whether guests mark what a profile records.
    pub is_profiled: bool,
}
