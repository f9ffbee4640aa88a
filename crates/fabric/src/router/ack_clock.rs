//! When a receiver acknowledges packets for which no tokens are due (`docs/torus-router.md`, "Links with
//! errors").

use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;

/// The timer of a receiver's acknowledgements.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub(super) struct AckClock {
    /// When the first and the last unacknowledged packet were completely received; [`NEVER`] if there is
    /// none.
    first: Time,
    last: Time,
    /// When an acknowledgement was lost, if none has followed it.
    lost: Time,
    /// Whether the timer is running.
    running: bool,
    /// Whether it has expired, and the acknowledgement only waits for the link.
    waiting: bool,
}

const NEVER: Time = Time::MAX;

impl AckClock {
    pub const AT_REST: Self =
        AckClock { first: NEVER, last: NEVER, lost: NEVER, running: false, waiting: false };

    /// When the acknowledgement becomes overdue, if one is owed.
    fn overdue(&self, after: u64) -> Option<Time> {
        let since = self.first.min(self.lost);
        (since != NEVER).then(|| since + after)
    }

    /// Starts the timer if it is needed and not running; returns its expiry.
    fn start(&mut self, after: u64) -> Option<Time> {
        let at = self.overdue(after).filter(|_| !self.running && !self.waiting);
        self.running |= at.is_some();
        at
    }

    /// A packet will have been completely received at `at`. Returns the expiry if the timer is to be set.
    pub fn received(&mut self, at: Time, after: u64) -> Option<Time> {
        self.first = self.first.min(at);
        self.last = at;
        self.start(after)
    }

    /// An acknowledgement leaves, and gets through or is lost. Returns the expiry if the timer is to be set.
    pub fn acknowledged(&mut self, now: Time, through: bool, after: u64) -> Option<Time> {
        // Only the last packet can still be arriving.
        (self.first, self.last) = if self.last > now { (self.last, self.last) } else { (NEVER, NEVER) };
        self.lost = if through { NEVER } else { now };
        self.waiting = false;
        self.start(after)
    }

    /// The timer has expired. Returns whether to acknowledge now, or the next expiry.
    pub fn ring(&mut self, now: Time, after: u64) -> (bool, Option<Time>) {
        self.running = false;
        match self.overdue(after) {
            Some(at) if at <= now => {
                self.waiting = true;
                (true, None)
            }
            _ => (false, self.start(after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_overdue_after_its_time() {
        let mut clock = AckClock::AT_REST;
        let at = Time::at;
        assert_eq!(clock.ring(at(5), 100), (false, None));
        assert_eq!(clock.received(at(300), 100), Some(at(400)));
        assert_eq!(clock.received(at(350), 100), None, "one timer is enough");
        // The second packet is still arriving when the first is acknowledged.
        assert_eq!(clock.acknowledged(at(320), true, 100), None);
        assert_eq!(clock.ring(at(400), 100), (false, Some(at(450))));
        assert_eq!(clock.ring(at(450), 100), (true, None));
        assert_eq!(clock.received(at(460), 100), None, "it waits for the link");
        // It is lost, and another is sent.
        assert_eq!(clock.acknowledged(at(470), false, 100), Some(at(570)));
        assert_eq!(clock.ring(at(570), 100), (true, None));
        assert_eq!(clock.acknowledged(at(575), true, 100), None);
        assert_eq!(clock.ring(at(700), 100), (false, None));
    }
}
