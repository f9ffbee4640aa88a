//! A communication thread of a rank (sections III.D and IV.A): it sleeps until the wake-up unit sees a packet
//! for one of its contexts, or work for them, and advances them.
//!
//! In a thread-optimised library it is the only one that advances its contexts, whose locks it holds. In a
//! classic one it shares the only context with the program's thread: it needs the lock of all calls and the
//! context's.

use super::library::Locking;
use super::process::{Lock, Process, Work};
use netloom_mpi::point_to_point::Number;
use netloom_node::process::{Resumed, Wait};
use netloom_node::program::lock;
use std::sync::Arc;

/// What the communication thread of this number does, 1 the first.
pub(super) async fn run(process: Arc<Process>, thread: usize) {
    let contexts = (thread - 1..process.contexts).step_by(process.threads);
    while !lock(&process.state).is_over {
        let has_progress = match process.library.locking {
            Locking::Classic => process.advance_classic(thread).await,
            Locking::ThreadOptimised => {
                let has_worked = process.work(contexts.clone()).await;
                process.advance(thread, contexts.clone()).await || has_worked
            }
        };
        if !has_progress {
            process.sleep(thread, contexts.clone()).await;
        }
    }
}

impl Process {
    async fn advance_classic(&self, thread: usize) -> bool {
        if lock(&self.state).found[thread].is_none() {
            return false;
        }
        self.lock(Lock::Global, thread).await;
        self.lock(Lock::Context(0), thread).await;
        let has_progress = self.advance(thread, 0..1).await;
        self.unlock(Lock::Context(0)).await;
        self.unlock(Lock::Global).await;
        has_progress
    }

    /// Does what has been posted to contexts; returns whether there was anything.
    async fn work(&self, contexts: impl Iterator<Item = usize> + Clone) -> bool {
        let mut has_worked = false;
        loop {
            let next = {
                let mut state = lock(&self.state);
                contexts.clone().find_map(|at| state.work[at].pop_front())
            };
            let Some(work) = next else { return has_worked };
            has_worked = true;
            // Another core has written it.
            self.spend(self.costs.atomic).await;
            let number = self.carry_out(work);
            self.spend(self.costs.synchronize).await;
            self.publish(Some(number)).await;
        }
    }

    /// Does a piece of work; returns its request.
    fn carry_out(&self, work: Work) -> Number {
        let mut state = lock(&self.state);
        let number = match work {
            Work::Send { number, to, envelope, data } => {
                let sent = state.mpi.carry_out(number, to, envelope, data);
                sent.expect("ranks are tasks of the job");
                number
            }
            Work::Collective { number, team, collective } => {
                let started = state.mpi.carry_out_collective(number, team, &collective);
                assert_eq!(started, Ok(true), "{collective:?} by the network");
                number
            }
        };
        state.completing.push(number);
        number
    }

    /// Sleeps until there is something to do.
    async fn sleep(&self, thread: usize, contexts: impl Iterator<Item = usize>) {
        let mut of_packets = vec![];
        {
            let mut state = lock(&self.state);
            if state.is_over {
                return;
            }
            let mut watches = vec![];
            {
                let mut list = state.mpi.transport().list.borrow_mut();
                let mut others = vec![];
                for at in contexts {
                    let mut of_context = list[at].device_mut().watches_of_wait().into_iter();
                    watches.extend(of_context.next());
                    others.extend(of_context);
                    of_packets.push(at);
                }
                watches.extend(others);
            }
            state.sleeps[thread] = true;
            self.core.thread().park(Wait { sleeps: true, ..Wait::for_any(watches) });
        }
        let why = self.done().await;
        let mut state = lock(&self.state);
        state.sleeps[thread] = false;
        if let Resumed::Found(place) = why {
            // What is not a packet is seen when the contexts are advanced; the first of them will do.
            state.found[thread] = of_packets.get(usize::from(place)).or(of_packets.first()).copied();
        }
    }
}
