//! The link control blocks at the two ends of a link ("Aries Router"): flits are sent in sets with a CRC
//! each, and a set with errors is resent with everything after it. Without bit errors nothing here is on the
//! path of packets.
//!
//! The sender draws in advance which set will have errors. It continues to send until it could learn of the
//! error, a round trip after the set's end; the other end discards everything received in the meantime. Then
//! it resends the set and everything after it, and accepts no new packet before that is done. Two times
//! describe the delay of a link: transmissions before `heard` are discarded, and the link is busy with
//! retransmissions up to `behind`. Credits travel in sets of packets or, if there are none, in idle sets,
//! which may have errors as well and delay everything after them. The send buffer holds a round trip, so that
//! a link never waits for acknowledgements (`LinkControl::send_buffer_flits`). Sets are counted from a
//! packet's first flit **(ours)**.

use crate::config::LinkControl;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Stream, chance_threshold};
use serde::{Deserialize, Serialize};

/// The random stream of link control in a run.
const LINK_CONTROL: u64 = 22;

/// Ticks are counted in thousandths.
const TICK: u64 = 1000;

/// Error counters of links.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
pub struct LinkControlCounts {
    /// Sets with errors, which were resent with those after them.
    pub corrupted_sets: u64,
    /// Flits of packets in them.
    pub repeated_flits: u64,
    /// Sets with errors that the CRC missed.
    pub escaped_sets: u64,
    /// Sets without packet flits that had errors, and credits delayed by them or by an earlier wrong set.
    pub corrupted_idle_sets: u64,
    /// See `corrupted_idle_sets`.
    pub late_credits: u64,
}

impl LinkControlCounts {
    /// Adds another link's counters.
    pub fn merge(&mut self, other: &Self) {
        self.corrupted_sets += other.corrupted_sets;
        self.repeated_flits += other.repeated_flits;
        self.escaped_sets += other.escaped_sets;
        self.corrupted_idle_sets += other.corrupted_idle_sets;
        self.late_credits += other.late_credits;
    }
}

/// The error probabilities of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// Probability that a flit is in a set with a wrong bit.
    flit: f64,
    /// Probability that the CRC misses an error, as a threshold.
    missed: u64,
    set_flits: u64,
}

impl Rates {
    /// `None` without bit errors.
    pub fn new(bit_error_rate: f64, control: &LinkControl) -> Option<Self> {
        let bits = f64::from(control.set_bits) / f64::from(control.set_flits);
        let flit = -(bits * (-bit_error_rate).ln_1p()).exp_m1();
        (flit > 0.0).then(|| Rates {
            flit,
            missed: chance_threshold(0.5f64.powi(control.crc_bits as i32)),
            set_flits: control.set_flits.into(),
        })
    }
}

/// The sending end of a link, in thousandths of a tick.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct Sender {
    stream: Stream,
    /// Flits before the next one with an error.
    right: u64,
    /// Transmissions from `wrong_at` on are discarded; the sender learns of it at `heard`.
    wrong_at: u64,
    heard: u64,
    /// When everything started is complete, and when the retransmissions are.
    behind: u64,
    again_until: u64,
    /// The end of the idle set that carries credits.
    idle_until: u64,
}

/// The timing and outcome of a packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    /// When its first flit leaves, in the attempt that succeeds, and when its last has left.
    pub start: u64,
    pub end: u64,
    /// Whether it has an error that the link does not detect.
    pub escaped: bool,
}

impl Sender {
    /// The sending end of a router's port.
    pub fn new(seed: u64, router: u32, port: usize, rates: Rates) -> Self {
        let mut stream = Stream::new(seed, LINK_CONTROL, u64::from(router) << 8 | port as u64);
        let right = gap(&mut stream, rates);
        Sender { stream, right, wrong_at: 0, heard: 0, behind: 0, again_until: 0, idle_until: 0 }
    }

    /// When the link accepts another packet that could leave at `now`: at once, or when retransmission is
    /// complete.
    pub fn open_at(&self, now: u64) -> u64 {
        if now >= self.heard { now.max(self.behind) } else { now }
    }

    /// A packet of `flits` flits leaves at `start`; a flit takes `flit`, and a report from the other end
    /// `round_trip`.
    pub fn carry(
        &mut self,
        start: u64,
        flits: u64,
        (flit, round_trip): (u64, u64),
        rates: Rates,
        counts: &mut LinkControlCounts,
    ) -> Carried {
        let mut at = start.max(self.behind);
        // One that starts in the tick in which everything else is complete is new.
        let is_new = start + TICK > at.max(self.heard);
        let mut is_again = !is_new;
        let (mut left, mut head, mut escaped) = (flits, None, false);
        loop {
            if self.right >= left {
                self.right -= left;
                self.behind = at + left * flit;
                if is_again {
                    self.again_until = self.behind;
                }
                return Carried { start: head.unwrap_or(at), end: self.behind, escaped };
            }
            let before = self.right / rates.set_flits * rates.set_flits;
            let through = (before + rates.set_flits).min(left);
            if self.stream.chance(rates.missed) {
                counts.escaped_sets += 1;
                escaped = true;
                // It is accepted with its error.
                head.get_or_insert(at);
                at += through * flit;
                left -= through;
                self.right = gap(&mut self.stream, rates);
                continue;
            }
            counts.corrupted_sets += 1;
            counts.repeated_flits += through - before;
            if before > 0 {
                head.get_or_insert(at);
            }
            let heard = at + through * flit + round_trip;
            // An error in a retransmission finds the sender already retransmitting.
            if is_new && !is_again {
                (self.wrong_at, self.heard) = (at + before * flit, heard);
            }
            (at, is_again) = (heard, true);
            left -= before;
            self.right = gap(&mut self.stream, rates);
        }
    }

    /// Credits that are to leave from `now` on: their delay, and how long it holds. They travel in sets of
    /// packets, which are already known, or in idle ones; after a wrong set they wait until everything has
    /// been resent.
    pub fn carry_credits(
        &mut self,
        now: u64,
        (flit, round_trip): (u64, u64),
        rates: Rates,
        counts: &mut LinkControlCounts,
    ) -> (u64, u64) {
        let over = self.heard.max(self.again_until);
        if over > now {
            if self.wrong_at > now {
                return (0, self.wrong_at);
            }
            counts.late_credits += 1;
            debug_assert!(over >= self.behind, "what goes behind it is sent again");
            return (over - now, over);
        }
        if self.behind > now || self.idle_until > now {
            return (0, self.behind.max(self.idle_until));
        }
        self.idle_until = now + rates.set_flits * flit;
        if self.right >= rates.set_flits {
            self.right -= rates.set_flits;
            return (0, self.idle_until);
        }
        self.right = gap(&mut self.stream, rates);
        if self.stream.chance(rates.missed) {
            counts.escaped_sets += 1;
            return (0, self.idle_until);
        }
        counts.corrupted_idle_sets += 1;
        counts.late_credits += 1;
        (self.wrong_at, self.heard) = (now, self.idle_until + round_trip);
        self.again_until = self.heard + flit;
        self.behind = self.again_until;
        (self.behind - now, self.behind)
    }
}

/// Draws the number of flits before the next one with an error.
fn gap(stream: &mut Stream, rates: Rates) -> u64 {
    let gap = (1.0 - stream.unit()).ln() / (-rates.flit).ln_1p();
    if gap < 1e18 { gap as u64 } else { 1 << 60 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: LinkControl =
        LinkControl { set_flits: 9, set_bits: 480, crc_bits: 20, lanes: 3, send_buffer_flits: 160 };

    /// Packets of 14 flits back to back: in addition to the flits themselves they take, for each wrong set, a
    /// round trip and the discarded sets; wrong sets are as frequent as the rate implies.
    #[test]
    fn a_wrong_set_costs_a_round_trip_and_what_was_sent_behind_it() {
        for rate in [1e-6, 1e-5, 1e-4] {
            let rates = Rates::new(rate, &CONTROL).expect("errors");
            let (mut sender, mut counts) = (Sender::new(1, 2, 3, rates), LinkControlCounts::default());
            let (flit, round_trip, packets) = (1111, 124_000, 400_000u64);
            let (mut now, mut last) = (0, 0);
            for _ in 0..packets {
                now = sender.open_at(now);
                let carried = sender.carry(now, 14, (flit, round_trip), rates, &mut counts);
                assert!(carried.start >= last && carried.end >= carried.start + 14 * flit);
                last = carried.end;
                now += 14 * flit;
            }
            // The sets of each packet until they succeed: nine flits, and the remaining five.
            let wrong = |flits: f64| -(flits * 480.0 / 9.0 * (-rate).ln_1p()).exp_m1();
            let tries = |wrong: f64| wrong / (1.0 - wrong);
            let expected = packets as f64 * (tries(wrong(9.0)) + tries(wrong(5.0)));
            let wrong = counts.corrupted_sets as f64;
            assert!((wrong / expected - 1.0).abs() < 4.0 / expected.sqrt(), "{rate}: {wrong} of {expected}");
            let late = (last - 14 * packets * flit) as f64 / wrong;
            // At least the round trip, at most two sets more.
            assert!((late / 124_000.0 - 1.0) > 0.0 && late < 124_000.0 + 20.0 * 1111.0, "{rate}: {late}");
        }
    }

    #[test]
    fn a_crc_of_few_bits_misses_as_many_as_it_must() {
        let control = LinkControl { crc_bits: 3, ..CONTROL };
        let rates = Rates::new(1e-3, &control).expect("errors");
        let (mut sender, mut counts) = (Sender::new(1, 2, 3, rates), LinkControlCounts::default());
        let mut escaped = 0;
        for i in 0..100_000 {
            escaped += u64::from(sender.carry(i * 1_000_000, 14, (1111, 0), rates, &mut counts).escaped);
        }
        let share = counts.escaped_sets as f64 / (counts.escaped_sets + counts.corrupted_sets) as f64;
        assert!((share / 0.125 - 1.0).abs() < 0.05 && escaped <= counts.escaped_sets, "{share} {escaped}");
    }

    /// The sender continues until it learns of a wrong set; then it accepts nothing new until everything has
    /// been resent.
    #[test]
    fn a_link_takes_no_new_packet_while_it_sends_again() {
        let rates = Rates::new(1e-4, &CONTROL).expect("errors");
        let (mut sender, mut counts) = (Sender::new(1, 2, 3, rates), LinkControlCounts::default());
        let (mut now, mut held) = (0, 0);
        for _ in 0..10_000 {
            let opens = sender.open_at(now);
            if sender.heard > now {
                assert_eq!(opens, now, "it does not know yet");
            } else if sender.behind > now {
                assert_eq!(opens, sender.behind);
                held += 1;
            }
            now = opens;
            sender.carry(now, 14, (1111, 124_000), rates, &mut counts);
            now += 14 * 1111;
        }
        assert!(held > counts.corrupted_sets / 2 && held > 100, "{held} of {}", counts.corrupted_sets);
    }

    /// Credits on a link without packets: their sets have errors as often as the rate implies, and are
    /// delayed by a set and a round trip.
    #[test]
    fn credits_are_as_late_as_the_sets_that_carry_them() {
        let rates = Rates::new(1e-4, &CONTROL).expect("errors");
        let (mut sender, mut counts) = (Sender::new(1, 2, 3, rates), LinkControlCounts::default());
        let (times, runs) = ((1111, 124_000), 100_000u64);
        let mut wrong = 0;
        for now in (1..=runs).map(|run| run * 1_000_000) {
            // Long after the previous credits.
            let (late, until) = sender.carry_credits(now, times, rates, &mut counts);
            // Credits that leave before its end are in the same set.
            let again = sender.carry_credits(now + 5000, times, rates, &mut counts);
            if late == 0 {
                assert_eq!((until, again), (now + 9 * 1111, (0, until)));
            } else {
                wrong += 1;
                assert_eq!((late, until), (9 * 1111 + 124_000 + 1111, now + late));
                assert_eq!(again, (late - 5000, until));
            }
        }
        let expected = -(480.0 * (-1e-4f64).ln_1p()).exp_m1() * runs as f64;
        assert!((wrong as f64 - expected).abs() < 4.0 * expected.sqrt(), "{wrong} of {expected}");
        assert_eq!((counts.corrupted_idle_sets, counts.late_credits), (wrong, 2 * wrong));
        assert_eq!(counts.corrupted_sets, 0);
    }

    /// A packet after a wrong idle set waits for it; credits travel with the sets of a packet, and wait for
    /// wrong ones.
    #[test]
    fn packets_and_credits_hold_each_other_up() {
        let rates = Rates::new(1e-4, &CONTROL).expect("errors");
        let (mut sender, mut counts) = (Sender::new(1, 2, 3, rates), LinkControlCounts::default());
        let times = (1111, 124_000);
        let (mut held, mut parts) = ([0, 0], [0, 0]);
        for now in (1..=20_000).map(|run| run * 1_000_000) {
            let (late, _) = sender.carry_credits(now, times, rates, &mut counts);
            let wrong = counts.corrupted_sets;
            let packet = sender.carry(now + 5000, 14, times, rates, &mut counts);
            let drawn = counts.corrupted_idle_sets;
            let (with, until) = sender.carry_credits(now + 10_000, times, rates, &mut counts);
            assert_eq!(counts.corrupted_idle_sets, drawn, "no set but the packet's is on the wire");
            if late > 0 {
                held[0] += 1;
                assert!(packet.start >= now + late && with >= late - 10_000);
            } else if counts.corrupted_sets == wrong {
                assert_eq!((packet.start, with, until), (now + 5000, 0, packet.end));
            } else if packet.start > now + 5000 {
                // Its first set: the credit is discarded with it.
                held[1] += 1;
                assert_eq!((with, until), (packet.end - now - 10_000, packet.end));
            } else {
                // Its second set: the credit is before it.
                parts[0] += 1;
                assert_eq!((with, until), (0, now + 5000 + 9 * 1111));
                let (late, _) = sender.carry_credits(until, times, rates, &mut counts);
                parts[1] += u64::from(late == packet.end - until);
            }
        }
        assert!(
            held[0] > 700 && held[1] > 700 && parts[0] > 300 && parts[0] == parts[1],
            "{held:?} {parts:?}"
        );
    }

    #[test]
    fn nothing_is_drawn_where_no_bit_is_wrong() {
        assert!(Rates::new(0.0, &CONTROL).is_none());
    }
}
