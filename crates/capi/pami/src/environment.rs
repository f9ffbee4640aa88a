//! Numbers of the environment, by the names that they have in the public sources of PAMI and of MPI on it.

use crate::client::Job;
use netloom_messaging::pami::context::{Limits, Pacing};
use netloom_messaging::pami::guest::Reach;
use netloom_messaging::pami::settings;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A number of the environment. One that cannot be read is told of once, by the first task.
pub fn number(name: &'static str, task: u32) -> Option<u64> {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let text = std::env::var(name).ok()?;
    let parsed = settings::number(&text);
    if parsed.is_none() && task == 0 && TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
        eprintln!(
            "netloom: warning: {name} is {text}, which is no number (with K or M behind it, if it is one of bytes); it is ignored"
        );
    }
    parsed
}

/// Between processes of this computer that have cores of their own, packets carry 64 KiB in less than half
/// the time of the kernel's copy, which takes two messages and two system calls and finds each page
/// (`docs/performance.md`). From there on the receiver fetches the data, without the sender's help.
const NATIVE_RENDEZVOUS_FROM_BYTES: u64 = (64 << 10) + 1;
/// The same where tasks share cores: the sender and the receiver would take turns for each part.
const SHARED_RENDEZVOUS_FROM_BYTES: u64 = (8 << 10) + 1;

/// The limits of the protocols of a client's contexts. Of MPI's, `PAMID_EAGER` or `PAMID_RZV` is the length
/// from which on a message goes by rendezvous.
pub fn limits(job: &Job, client: &str) -> Limits {
    let number = |name| number(name, job.task);
    let facts = job.simulated.map(|guest| crate::device::guest::lock(guest).facts().clone());
    let native = match job.is_oversubscribed() {
        true => SHARED_RENDEZVOUS_FROM_BYTES,
        false => NATIVE_RENDEZVOUS_FROM_BYTES,
    };
    let usual = facts.as_ref().map_or(native, |facts| facts.rendezvous_from_bytes);
    let set = if client == "MPI" { number("PAMID_RZV").or_else(|| number("PAMID_EAGER")) } else { None };
    let is_on_torus = |torus: &[(u32, bool)]| !torus.is_empty();
    let nodes = facts
        .filter(|facts| facts.reach == Reach::Exposed && is_on_torus(&facts.torus))
        .map(|facts| facts.torus.iter().map(|&(length, _)| length).product());
    Limits {
        rendezvous_from_bytes: set.unwrap_or(usual),
        pacing: nodes.and_then(|nodes| Pacing::of_settings(nodes, number)),
        ..Limits::default()
    }
}
