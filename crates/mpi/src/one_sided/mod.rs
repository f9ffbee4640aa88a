//! One-sided communication (MPI 5.0, chapter 12): each operation is a message to its target, which carries it
//! out when it arrives, from within the target's progress, and one after the other: that makes accumulates
//! atomic.
//!
//! - `message` – what messages say.
//! - `target` – what a target does with an operation.
//! - `lock` – the lock of a window at a target.
//! - `state` – what a process knows of its windows, and what messages do to it.
//! - `operation` – operations of an origin.
//! - `alone` – which puts a flush follows at once.
//! - `synchronization` – fences, post, start, complete and wait, locks, flushes.
//!
//! Where this process has the memory of a target too, it carries them out itself; accumulates exclude each
//! other by a lock that is in that memory. Elsewhere, those of one piece at both sides are left to the
//! transport, without the target, where it can do that: the origin asks where the memory is when it first
//! accesses it, and sends messages until it knows.
//!
//! Messages of an origin are carried out at a target in the order in which they are sent, also those whose
//! data arrives later. So a flush is one message, and its answer says that all before it has been carried
//! out; an unlock is the same. The first operation without a result since a flush is answered by itself, so a
//! flush after it alone sends nothing.

mod alone;
mod lock;
mod message;
mod operation;
mod state;
mod synchronization;
mod target;

pub(crate) use message::CONTEXT;
pub use message::{Kind, Label, Token};
pub use operation::{Accumulate, At, Data};
pub use state::Access;
pub(crate) use state::{Announced, Tables};
pub use target::{Exposed, OutOfRange, Place, Reply, carry_out_message};

use crate::collective::{Flags, Operation};
use crate::error::{Class, Error};
use crate::group::Group;
use crate::point_to_point::PointToPoint;
use crate::transport::{Memory, Process, Transport};
use state::{Payload, State};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// What an origin knows of the memory of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extents {
    /// Length in bytes and unit of displacements, the same at all.
    Uniform(u64, u32),
    /// Of each rank.
    Listed(Rc<[(u64, u32)]>),
    /// Displacements are addresses, and targets know what is attached.
    Dynamic,
}

impl Extents {
    /// Length in bytes and unit of displacements of a rank's memory; `None` in a dynamic window.
    pub fn of(&self, rank: u32) -> Option<(u64, u32)> {
        match self {
            &Extents::Uniform(bytes, unit) => Some((bytes, unit)),
            Extents::Listed(list) => Some(list[rank as usize]),
            Extents::Dynamic => None,
        }
    }
}

/// Addresses, by rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// That of rank 0, and bytes from one rank's to the next.
    Uniform(u64, u64),
    /// All.
    Listed(Rc<[u64]>),
}

impl Addresses {
    /// That of a rank.
    pub fn of(&self, rank: u32) -> u64 {
        match self {
            Addresses::Uniform(first, stride) => first + stride * u64::from(rank),
            Addresses::Listed(list) => list[rank as usize],
        }
    }
}

/// Memory of all ranks that this process has too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Where it is.
    pub memory: Addresses,
    /// For each rank a word of four bytes, 0 at first: whoever accumulates there sets it meanwhile.
    pub locks: Addresses,
}

/// A window of this process.
#[derive(Debug)]
pub struct Window<T> {
    point_to_point: Rc<PointToPoint<T>>,
    group: Group,
    extents: Extents,
    /// Operations are carried out by their origins where there is one.
    mapped: Option<Mapped>,
    /// Collective operations that it has begun.
    collectives: Cell<u32>,
    /// What it has of flags, for barriers.
    flags: Rc<Flags>,
    /// Where messages are made that are sent at once.
    message: RefCell<Vec<u8>>,
    /// The target, by rank, that this epoch was last seen to allow: mostly it is the next one, too.
    accessible: Cell<Option<u32>>,
    /// The target whose memory the transport was last found to reach, and where.
    reached: Cell<Option<(Process, u64)>>,
    puts: alone::Puts,
}

fn wrong_synchronization(text: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(Class::RmaSync, text)
}

impl<T: Transport> Window<T> {
    /// A window of a group, whose context is the window's alone. Other processes may access the memory from
    /// now on: they begin after a [`barrier`](Self::barrier).
    pub fn new(
        point_to_point: Rc<PointToPoint<T>>,
        group: Group,
        exposed: Exposed,
        extents: Extents,
        mapped: Option<Mapped>,
    ) -> Self {
        let address = match exposed {
            Exposed::Static(memory) if memory.bytes > 0 => point_to_point.transport().expose(memory),
            _ => None,
        };
        let state = State::new(exposed, address);
        point_to_point.one_sided.borrow_mut().windows.insert(group.context, state);
        Window {
            point_to_point,
            group,
            extents,
            mapped,
            collectives: Cell::new(0),
            flags: Rc::default(),
            message: RefCell::default(),
            accessible: Cell::default(),
            reached: Cell::default(),
            puts: alone::Puts::default(),
        }
    }

    /// Its processes.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// What is known of the memory of targets.
    pub fn extents(&self) -> &Extents {
        &self.extents
    }

    /// The next collective operation of its processes.
    pub fn collective(&self) -> Operation<T> {
        self.collectives.set(self.collectives.get().wrapping_add(1));
        Operation::new(Rc::clone(&self.point_to_point), self.group.clone(), self.collectives.get())
            .with_flags(Some(&self.flags))
    }

    /// Ends when all its processes have begun it.
    ///
    /// # Errors
    /// If a process has ended.
    pub async fn barrier(&self) -> Result<(), Error> {
        crate::collective::barrier(self.collective()).await
    }

    fn with<R>(&self, f: impl FnOnce(&mut Tables) -> R) -> R {
        f(&mut self.point_to_point.one_sided.borrow_mut())
    }

    fn state<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        self.with(|tables| f(tables.window(self.group.context)))
    }

    /// Waits until this is true.
    async fn until(&self, mut is_true: impl FnMut(&mut State) -> bool) {
        poll_fn(|_| if self.state(&mut is_true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Waits for a result.
    async fn result(&self, token: Token) -> Result<(), Error> {
        let end =
            poll_fn(|_| self.with(|tables| tables.ended(token)).map_or(Poll::Pending, Poll::Ready)).await;
        self.with(|tables| tables.forget(token));
        end
    }

    /// The process of a rank.
    pub fn process(&self, rank: u32) -> Process {
        self.group.process(rank)
    }

    /// What it may access.
    pub fn access(&self) -> Access {
        self.state(|state| state.access.clone())
    }

    /// Adds memory to a dynamic window of this process.
    ///
    /// # Errors
    /// If the window is not dynamic, or some of the memory is attached already.
    pub fn attach(&self, memory: Memory) -> Result<(), Error> {
        self.state(|state| {
            let list = dynamic(&mut state.exposed)?;
            let overlaps = |of: &Memory| {
                of.address < memory.address + memory.bytes && memory.address < of.address + of.bytes
            };
            if list.iter().any(overlaps) {
                return Err(Error::new(Class::RmaAttach, "some of the memory is attached already"));
            }
            list.push(memory);
            Ok(())
        })
    }

    /// Takes away what was attached at this address.
    ///
    /// # Errors
    /// If the window is not dynamic, or nothing is attached there.
    pub fn detach(&self, address: u64) -> Result<(), Error> {
        self.state(|state| {
            let list = dynamic(&mut state.exposed)?;
            let Some(at) = list.iter().position(|of| of.address == address) else {
                return Err(Error::new(Class::Base, "base is no address of memory that is attached"));
            };
            list.swap_remove(at);
            Ok(())
        })
    }

    /// That no epoch is open, as a window that is freed needs.
    ///
    /// # Errors
    /// If one is.
    pub fn check_free(&self) -> Result<(), Error> {
        self.state(|state| match (&state.access, &state.posted_to) {
            (Access::None | Access::Fence { .. }, None) => Ok(()),
            (Access::Started { .. }, _) => {
                Err(wrong_synchronization("MPI_Win_complete has not ended an epoch"))
            }
            (_, Some(_)) => Err(wrong_synchronization("MPI_Win_wait has not ended an epoch")),
            _ => Err(wrong_synchronization("a lock has not been released")),
        })
    }

    /// Ends the window, once all its processes do.
    ///
    /// # Errors
    /// If a process has ended.
    pub async fn free(&self) -> Result<(), Error> {
        let flushed = self.flush_all_targets().await;
        self.barrier().await?;
        self.with(|tables| tables.windows.remove(&self.group.context));
        flushed
    }
}

fn dynamic(exposed: &mut Exposed) -> Result<&mut Vec<Memory>, Error> {
    match exposed {
        Exposed::Dynamic(list) => Ok(list),
        Exposed::Static(_) => {
            Err(Error::new(Class::RmaFlavor, "the window was not made by MPI_Win_create_dynamic"))
        }
    }
}

impl<T: Transport> PointToPoint<T> {
    /// How an operation of a window has ended that is awaited, if it has.
    pub fn operation_ended(&self, token: Token) -> Option<Result<(), Error>> {
        self.one_sided.borrow().ended(token)
    }

    /// A put or get of the transport has ended, or cannot be done.
    pub fn transferred(&self, number: u64, is_cut: bool) {
        self.one_sided.borrow_mut().transferred(number as Token, is_cut);
    }

    /// Nobody asks for such an operation any more.
    pub fn forget_operation(&self, token: Token) {
        self.one_sided.borrow_mut().forget(token);
    }

    /// Sends the messages of windows that are to be sent.
    pub(crate) fn send_of_windows(&self) {
        loop {
            let Some(next) = self.one_sided.borrow_mut().outgoing.pop_front() else { return };
            if next.to == self.transport().own() {
                self.transport().acts();
                let mut tables = self.one_sided.borrow_mut();
                match &next.data {
                    Payload::Bytes(bytes) => {
                        tables.arrived(next.to, &next.label.envelope(bytes.len()), bytes)
                    }
                    Payload::Memory(memory) => {
                        let envelope = next.label.envelope(memory.bytes as usize);
                        #[allow(unsafe_code)]
                        // SAFETY: it is within the window, and no call of the program is made meanwhile.
                        let bytes = unsafe { target::bytes_at(*memory) };
                        tables.arrived(next.to, &envelope, bytes);
                    }
                }
                continue;
            }
            let (memory, kept) = match next.data {
                Payload::Memory(memory) => (memory, None),
                Payload::Bytes(bytes) => {
                    (Memory { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 }, Some(bytes))
                }
            };
            // Who has ended waits for nothing, and the launcher ends those that wait for it.
            let _ = self.send_and_forget(next.to, next.label.envelope(memory.bytes as usize), memory, kept);
        }
    }
}
