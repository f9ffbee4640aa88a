//! Credit-based flow control between two ranks (section 4.2): a rank may have as many mini-packets in the
//! other's queue, or messages in its buffers of an exclusive channel, as it has credits. They return with
//! messages in the other direction or, when half of them are owed, by themselves.
//!
//! A mini-packet that only returns credits needs none. At most [`UNASKED`] of a partner are in flight at once,
//! for which the queue has entries, too: the partner says with what it sends how many it has taken. It can say
//! so, for each has given it a credit.

/// Entries for mini-packets without credits, for each partner.
pub(super) const UNASKED: usize = 2;

/// The credits of two ranks for each other's entries, as one of them sees them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credits {
    /// Entries of the partner that this rank may still fill.
    left: u32,
    /// Own entries that the partner may fill, and of those the ones that it does not know to be free again.
    granted: u32,
    owed: u32,
    /// Mini-packets that only returned such credits: those that the partner has not said to have taken, and
    /// those of the partner of which this rank has not said so.
    unasked: u8,
    taken: u8,
}

impl Credits {
    /// Each rank has this number.
    pub fn new(each: u32) -> Self {
        Credits { left: each, granted: each, owed: 0, unasked: 0, taken: 0 }
    }

    /// Takes a credit, if there is one.
    pub fn take(&mut self) -> bool {
        let has = self.left > 0;
        self.left -= u32::from(has);
        has
    }

    /// Whether there is none left.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Whether at most one is left.
    pub fn is_low(&self) -> bool {
        self.left <= 1
    }

    /// The partner has returned credits.
    pub fn returned(&mut self, count: u16) {
        self.left += u32::from(count);
    }

    /// An own entry is free again.
    pub fn freed(&mut self, count: u32) {
        self.owed += count;
    }

    /// The partner gets more of this rank's entries, as many again as it has, out of a pool.
    pub fn grow(&mut self, pool: &mut u32) {
        let more = self.granted.min(*pool);
        *pool -= more;
        self.granted += more;
        self.owed += more;
    }

    /// The credits that are returned now.
    pub fn give_back(&mut self) -> u16 {
        let count = self.owed.min(u16::MAX.into()) as u16;
        self.owed -= u32::from(count);
        count
    }

    /// Whether so many are owed that they must be returned by themselves, and may be.
    pub fn must_return(&self) -> bool {
        self.owed > 0 && 2 * self.owed >= self.granted && usize::from(self.unasked) < UNASKED
    }

    /// They are returned by themselves.
    pub fn return_unasked(&mut self) {
        self.unasked += 1;
    }

    /// The partner has returned credits by themselves.
    pub fn take_unasked(&mut self) {
        self.taken += 1;
    }

    /// How often it has, of which this rank says now that it knows.
    pub fn acknowledge(&mut self) -> u8 {
        std::mem::take(&mut self.taken)
    }

    /// The partner has said how often it has taken credits that were returned by themselves.
    pub fn acknowledged(&mut self, count: u8) {
        self.unasked = self.unasked.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// A message, or only credits; the credits with it, whether it wants more, and what it acknowledges.
    type InFlight = (bool, u16, bool, u8);

    proptest! {
        /// Two ranks send and take in any order: no queue gets more than its entries, and all arrives.
        #[test]
        fn queues_never_overflow_and_nothing_waits_for_ever(
            each in 1u32..20, pool in 0u32..40, counts in prop::array::uniform2(0u32..200),
            steps in prop::collection::vec(0u8..4, 1..600),
        ) {
            let mut sides = [Credits::new(each); 2];
            let mut pools = [pool; 2];
            let mut queues: [VecDeque<InFlight>; 2] = Default::default();
            let (mut to_send, mut taken) = (counts, [0, 0]);
            let forever = (0u8..4).cycle().take(20_000);
            for step in steps.into_iter().chain(forever) {
                let (me, other) = (usize::from(step & 1), usize::from(step & 1 ^ 1));
                if step & 2 == 0 {
                    if to_send[me] > 0 && sides[me].take() {
                        to_send[me] -= 1;
                        let wants_more = to_send[me] > 0 && sides[me].is_low();
                        let (credits, taken) = (sides[me].give_back(), sides[me].acknowledge());
                        queues[other].push_back((true, credits, wants_more, taken));
                    }
                } else if let Some((is_message, credits, wants_more, acknowledged)) = queues[me].pop_front() {
                    sides[me].returned(credits);
                    sides[me].acknowledged(acknowledged);
                    if !is_message {
                        sides[me].take_unasked();
                    } else {
                        taken[other] += 1;
                        sides[me].freed(1);
                        if wants_more {
                            sides[me].grow(&mut pools[me]);
                        }
                    }
                    if sides[me].must_return() {
                        sides[me].return_unasked();
                        let (credits, taken) = (sides[me].give_back(), sides[me].acknowledge());
                        queues[other].push_back((false, credits, false, taken));
                    }
                }
                for side in 0..2 {
                    let unasked = queues[side].iter().filter(|(is_message, ..)| !is_message).count();
                    prop_assert!(unasked <= UNASKED, "{unasked} unasked");
                    let most = each + pool - pools[side];
                    prop_assert!((queues[side].len() - unasked) as u32 <= most, "{:?}", queues[side]);
                }
            }
            prop_assert_eq!(taken, counts);
        }
    }
}
