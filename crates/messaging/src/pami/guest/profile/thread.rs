//! A hardware thread that is recorded, or is not.

use super::super::interface::Interface;
use super::super::process::invalid;
use super::super::task::Task;
use super::super::{Request, ThreadNumber};
use super::recorder::Recorder;
use netloom_node::process::Failure;
use netloom_node::program::lock;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex};

/// A recorder and the hardware thread that it records.
type WithThread<C, W> = (Arc<Mutex<Recorder>>, Thread<C, W>);

/// What records a hardware thread, and the thread itself, which notes the times; nothing if the run has no
/// profile.
pub struct Recorded<C, W>(Option<WithThread<C, W>>);

impl<C, W> Default for Recorded<C, W> {
    fn default() -> Self {
        Recorded(None)
    }
}

impl<C, W> Recorded<C, W> {
    /// By a recorder.
    pub fn new(recorder: &Arc<Mutex<Recorder>>, thread: &Thread<C, W>) -> Self {
        Recorded(Some((Arc::clone(recorder), thread.clone())))
    }

    /// The thread begins.
    pub fn begin(&self, now: Microticks) {
        if let Some((recorder, _)) = &self.0 {
            lock(recorder).begin(now);
        }
    }

    /// Records what the thread did until now: the marks that it has reached, and its wait, if it began one.
    pub fn advance(&self, wait_from: Option<Microticks>, now: Microticks) {
        let Some((recorder, thread)) = &self.0 else { return };
        let mut recorder = lock(recorder);
        recorder.reached(thread.take_noted());
        if let Some(from) = wait_from {
            recorder.wait(from, now);
        }
    }

    /// The thread will do what is asked for: the points of it that are recorded.
    pub fn expect<I: Interface>(&self, task: &mut Task<I>, request: &Request) -> Result<(), Failure> {
        let is_point = match (request, &self.0) {
            (Request::Mark(mark), Some((recorder, _))) => {
                let mut recorder = lock(recorder);
                if !recorder.is_valid(mark, task.settings.placement.tasks) {
                    return Err(invalid(format!("the mark {mark:?}")));
                }
                recorder.expect(mark.clone());
                true
            }
            (Request::Mark(_), None) => return Err(invalid("a mark without a profile")),
            (Request::Collective { by, group, operation, .. }, Some((recorder, _))) => {
                lock(recorder).expect_entry(&mut task.groups, (*by, *group), operation, task.number)
            }
            _ => false,
        };
        if is_point {
            task.interface.thread().note();
        }
        Ok(())
    }

    /// Records what has arrived, before the thread hears of it.
    pub fn hear<I: Interface>(&self, task: &mut Task<I>, thread: ThreadNumber) {
        if let Some((recorder, _)) = &self.0
            && let Some(first) = task.take_flights(thread)
        {
            lock(recorder).arrived(first);
        }
    }
}
