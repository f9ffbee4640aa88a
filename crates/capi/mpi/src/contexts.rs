//! How processes agree on the context of a communicator, a window or a file. Contexts count up, and each
//! process has used all below its next one.
//!
//! Each offers its next one, and the greatest is taken: no process has used that. A process may be in several
//! agreements at a time, where its threads make calls or where one of `MPI_Comm_idup` is under way, and in
//! another order than other processes; then these may come to the same context. So where any process may be,
//! all say whether the context is still unused when they hear of it, and have used it from then on; if it is
//! not, the agreement is tried again. What one has used in vain is lost: there are many.

use crate::library::CONTEXTS;
use netloom_mpi::error::{Class, Error};
use std::cell::Cell;
use std::rc::Rc;

/// Contexts that were agreed on while a process was in other agreements, or could have been.
pub const OVERLAPPING: u32 = 1 << 30;

/// How much higher a second offer may be, so that two agreements that failed for each other differ.
const SPREAD: u32 = 64;

/// The contexts of a process.
#[derive(Debug)]
pub struct Contexts {
    /// The next one that it has not used.
    next: Cell<u32>,
    random: Cell<u32>,
    /// Whether its threads make calls at a time.
    has_threads: bool,
    /// How many agreements are under way while the program goes on.
    under_way: Cell<usize>,
}

impl Contexts {
    /// Those of a process that has used all below `next`.
    pub fn new(next: u32, process: u32, has_threads: bool) -> Self {
        let random = Cell::new(process.wrapping_mul(0x9e37_79b9));
        Contexts { next: Cell::new(next), random, has_threads, under_way: Cell::new(0) }
    }

    /// Numbers that differ from process to process and from call to call, by an LCG.
    fn random(&self) -> u32 {
        self.random.set(self.random.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        self.random.get() >> 16
    }

    /// Uses a context, and all below it.
    fn take(&self, context: u32) -> Result<(), Error> {
        self.next.set(checked(context)?);
        Ok(())
    }
}

/// An agreement that is under way while the program goes on.
#[derive(Debug)]
pub struct UnderWay(Rc<Contexts>);

impl UnderWay {
    pub fn new(contexts: Rc<Contexts>) -> Self {
        contexts.under_way.set(contexts.under_way.get() + 1);
        UnderWay(contexts)
    }

    pub fn contexts(&self) -> &Contexts {
        &self.0
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.set(self.0.under_way.get() - 1);
    }
}

/// A context that no member of an agreement has used. `greatest` makes an offer the greatest of all members'.
/// Where it is called several times, its messages may have one tag: processes send and receive them in the
/// same order.
pub async fn agree(
    contexts: &Contexts,
    mut greatest: impl AsyncFnMut(&mut [u8; 4]) -> Result<(), Error>,
) -> Result<u32, Error> {
    let mut greatest = async |offer: u32| -> Result<u32, Error> {
        let mut bytes = offer.to_ne_bytes();
        greatest(&mut bytes).await?;
        Ok(u32::from_ne_bytes(bytes))
    };
    let may_overlap = contexts.has_threads || contexts.under_way.get() > 0;
    let mark = if may_overlap { OVERLAPPING } else { 0 };
    let mut offered = greatest(contexts.next.get() | mark).await?;
    let mut context = offered & !OVERLAPPING;
    if offered & OVERLAPPING == 0 {
        contexts.take(context)?;
        return Ok(context);
    }
    while offered != 0 {
        context = offered & !OVERLAPPING;
        let answer = if context >= contexts.next.get() {
            contexts.take(context)?;
            // It is unused here.
            0
        } else {
            let spread = CONTEXTS * (contexts.random() % SPREAD);
            let next = checked(contexts.next.get())?.saturating_add(spread);
            OVERLAPPING | next.min(OVERLAPPING - CONTEXTS)
        };
        offered = greatest(answer).await?;
    }
    Ok(context | OVERLAPPING)
}

/// The context after this one.
fn checked(context: u32) -> Result<u32, Error> {
    let next = context + CONTEXTS;
    let none_left = || Error::new(Class::Other, "no context is left for another communicator or window");
    if next < OVERLAPPING { Ok(next) } else { Err(none_left()) }
}
