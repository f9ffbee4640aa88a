//! What a profile records of a thread of a guest: the calls of its program and the messages that it sends and
//! receives, with their simulated times. The guest puts marks ([`Mark`]) among its requests; its hardware
//! thread notes when it reaches them, which takes no time. So a run has the same times with and without a
//! profile, and what a guest did before it crashed is known.
//!
//! - [`recorder`] – records a thread.
//! - `groups` – when tasks enter collective operations by hardware.
//! - `thread` – a hardware thread that is recorded.

mod groups;
pub mod recorder;
mod thread;

pub(super) use groups::Groups;
pub use groups::Shared;
pub(super) use thread::Recorded;

use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};

/// A point in a program that a profile records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// A call of this name may follow. Names have numbers in the order of these marks.
    Name(String),
    /// A call begins; the number of its name.
    Begin(u32),
    /// The same for one that began with the thread: the call that starts the library.
    BeginFirst(u32),
    /// The call ends.
    End,
    /// Calls in a row of one name that took no time: the name, and how many there were.
    Brief(u32, u64),
    /// The call sends a message.
    Sent(Matched),
    /// A receive takes a message, whose data is there, or else follows ([`Mark::Received`]).
    Taken {
        /// The message.
        message: Matched,
        /// The receive's number, if the data follows.
        number: Option<u64>,
    },
    /// The data of a message that was taken is there; the receive's number.
    Received(u64),
}

/// What a message is matched by, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Matched {
    /// The task at its other end.
    pub peer: u32,
    /// The context of its communicator.
    pub context: u32,
    /// Its tag.
    pub tag: i32,
    /// Its length, bytes.
    pub bytes: u64,
}

/// The parts of a time in calls; they add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The library's instructions.
    pub software: Microticks,
    /// The Message Unit took commands from the thread.
    pub injection: Microticks,
    /// The thread waited.
    pub waiting: Microticks,
    /// The part of its waiting that what was in flight takes on a machine that is otherwise empty.
    pub wire: Microticks,
    /// The part that what was in flight took longer.
    pub queueing: Microticks,
}

impl Parts {
    /// The whole time.
    pub fn sum(&self) -> Microticks {
        self.software + self.injection + self.waiting
    }

    /// The part of its waiting before others had sent.
    pub fn partner(&self) -> Microticks {
        self.waiting.saturating_sub(self.wire + self.queueing)
    }

    fn add(&mut self, other: &Parts) {
        self.software += other.software;
        self.injection += other.injection;
        self.waiting += other.waiting;
        self.wire += other.wire;
        self.queueing += other.queueing;
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The number of its name.
    pub name: u32,
    /// When it began.
    pub from: Microticks,
    /// When it ended.
    pub to: Microticks,
    /// Its time.
    pub parts: Parts,
}

/// The calls of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The name.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// The longest of them.
    pub longest: Microticks,
    /// Their times.
    pub parts: Parts,
}

/// What was recorded of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its calls by the numbers of their names.
    pub by_name: Vec<Calls>,
    /// Its calls in order, but for those that took no time.
    pub calls: Vec<Call>,
    /// Its messages' marks, in order.
    pub messages: Vec<(Microticks, Mark)>,
    /// Calls and messages that are not in the lists, which are full.
    pub dropped: u64,
}
