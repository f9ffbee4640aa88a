//! How processes agree on the context of a communicator, a window or a file. Contexts count up, and a process
//! has used none from its next one on.
//!
//! Each offers its next one, and the greatest is taken: no process has used that. A process may be in several
//! agreements at a time, where its threads make calls or where one of `MPI_Comm_idup` is under way, and in
//! another order than other processes; then these may come to the same context. So where any process may be,
//! all say whether the context is still unused when they hear of it, and have used it from then on; if it is
//! not, the agreement is tried again. What one has used in vain is lost: there are many.
//!
//! A process remembers what it skipped, and says yes to that too. Otherwise each of two agreements could fail
//! because the other is ahead, with ever greater contexts, as long as one process hears of the first one
//! before another does, and of the second one after it.

use crate::error::{Class, Error};
use crate::waits::CONTEXTS;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

/// Contexts that were agreed on while a process was in other agreements, or could have been.
pub const OVERLAPPING: u32 = 1 << 30;

/// How much higher a second offer may be, so that two agreements that failed for each other differ.
const SPREAD: u32 = 64;

/// How many gaps a process remembers.
const GAPS: usize = 64;

/// The contexts of a process.
#[derive(Debug)]
pub struct Contexts {
    /// It has used none from this one on.
    next: Cell<u32>,
    /// What it has not used below that, in the order in which it skipped them.
    gaps: RefCell<VecDeque<Range<u32>>>,
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
        let gaps = RefCell::default();
        Contexts { next: Cell::new(next), gaps, random, has_threads, under_way: Cell::new(0) }
    }

    /// Numbers that differ from process to process and from call to call, by an LCG.
    fn random(&self) -> u32 {
        self.random.set(self.random.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        self.random.get() >> 16
    }

    /// Uses a context: whether it was unused.
    fn take(&self, context: u32) -> Result<bool, Error> {
        let next = self.next.get();
        let mut gaps = self.gaps.borrow_mut();
        let (before, after) = if context >= next {
            self.next.set(checked(context)?);
            (next..context, 0..0)
        } else {
            let Some(at) = gaps.iter().position(|gap| gap.contains(&context)) else { return Ok(false) };
            let gap = gaps.remove(at).expect("just found");
            (gap.start..context, context + CONTEXTS..gap.end)
        };
        gaps.extend([before, after].into_iter().filter(|gap| !gap.is_empty()));
        let forgotten = gaps.len().saturating_sub(GAPS);
        gaps.drain(..forgotten);
        Ok(true)
    }
}

/// An agreement that is under way while the program goes on.
#[derive(Debug)]
pub struct UnderWay(Rc<Contexts>);

impl UnderWay {
    /// One of the process with these contexts.
    pub fn new(contexts: Rc<Contexts>) -> Self {
        contexts.under_way.set(contexts.under_way.get() + 1);
        UnderWay(contexts)
    }

    /// Those of the process.
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
        let answer = if contexts.take(context)? {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    /// What the members of an agreement have offered, round by round.
    #[derive(Default)]
    struct Agreement {
        rounds: RefCell<Vec<BTreeMap<usize, u32>>>,
    }

    impl Agreement {
        /// One round of a member: its offer, and the greatest as soon as all of `members` have offered.
        async fn greatest(&self, round: usize, member: usize, members: usize, offer: u32) -> u32 {
            {
                let mut rounds = self.rounds.borrow_mut();
                let length = rounds.len().max(round + 1);
                rounds.resize_with(length, BTreeMap::new);
                rounds[round].insert(member, offer);
            }
            poll_fn(|_| {
                let rounds = self.rounds.borrow();
                let offers = &rounds[round];
                if offers.len() < members {
                    return Poll::Pending;
                }
                Poll::Ready(*offers.values().max().expect("there are members"))
            })
            .await
        }
    }

    type Member<'a> = Pin<Box<dyn Future<Output = Result<u32, Error>> + 'a>>;

    /// `agreements` at a time between all `processes`, whose members go on in the order of `schedule`, again and
    /// again.
    fn run(processes: usize, agreements: usize, schedule: &[(usize, usize)]) {
        let contexts: Vec<_> =
            (0..processes).map(|process| Contexts::new(CONTEXTS, process as u32, true)).collect();
        let all: Vec<_> = (0..agreements).map(|_| Agreement::default()).collect();
        let mut members: BTreeMap<(usize, usize), Member> = BTreeMap::new();
        for (at, agreement) in all.iter().enumerate() {
            for (process, of_process) in contexts.iter().enumerate() {
                let member = async move {
                    let mut round = 0;
                    agree(of_process, async |offer| {
                        let greatest =
                            agreement.greatest(round, process, processes, u32::from_ne_bytes(*offer));
                        *offer = greatest.await.to_ne_bytes();
                        round += 1;
                        Ok(())
                    })
                    .await
                };
                members.insert((process, at), Box::pin(member));
            }
        }
        let mut results: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
        let mut steps = 0;
        while !members.is_empty() {
            assert!(steps < 10_000, "agreements go on for ever");
            for &key in schedule {
                steps += 1;
                let Some(member) = members.get_mut(&key) else { continue };
                if let Poll::Ready(context) = member.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    results.entry(key.1).or_default().insert(context.unwrap());
                    members.remove(&key);
                }
            }
        }
        let of_each: BTreeSet<_> = results.values().flatten().collect();
        assert!(results.values().all(|of| of.len() == 1), "members differ: {results:?}");
        assert_eq!(of_each.len(), agreements, "agreements came to the same context: {results:?}");
    }

    /// A schedule in which each context that one process finds unused has been passed by another agreement where
    /// the next process hears of it.
    #[test]
    fn agreements_do_not_fail_for_each_other_for_ever() {
        #[rustfmt::skip]
        let schedule = [
            (1, 2), (1, 0), (0, 0), (0, 2), (2, 1), (0, 1), (1, 2), (2, 1), (2, 1), (1, 0), (1, 1), (1, 2), (2, 0), (0, 2), (2, 2), (2, 1),
        ];
        run(3, 3, &schedule);
    }

    proptest! {
        #[test]
        fn members_agree_and_agreements_differ(
            (processes, agreements, mut schedule) in (1usize..5, 1usize..6).prop_flat_map(|(processes, agreements)| {
                let steps = proptest::collection::vec((0..processes, 0..agreements), 0..40);
                (Just(processes), Just(agreements), steps)
            }),
        ) {
            schedule.extend((0..processes).flat_map(|process| (0..agreements).map(move |at| (process, at))));
            run(processes, agreements, &schedule);
        }
    }
}
