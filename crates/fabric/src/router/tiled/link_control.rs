//! The link control blocks at the two ends of a link ("Aries Router"): flits go in sets with a CRC each, and a set that comes wrong is sent
//! again with all that went behind it. Nothing here is on the path of packets where no bit is ever wrong.
//!
//! The sender draws at once which set will come wrong. It goes on sending until it could hear of that, a round trip after the
//! set's end; the other end takes none of what comes in the meantime. From then on it sends the set and all behind it once more, and
//! takes no new packet before that is done. What a link is late is told by two times: `heard`, until which what is
//! sent is in vain, and `behind`, up to which the link is busy with what it sends again. The send buffer holds a round trip,
//! so that a link never waits for acknowledgements (`LinkControl::send_buffer_flits`). Sets are counted from a packet's first flit **(ours)**.

use crate::config::LinkControl;
use netloom_engine::{Stream, chance_threshold};

/// What link control draws from, among the streams of a run.
const LINK_CONTROL: u64 = 22;

/// What has gone wrong on links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkControlCounts {
    /// Sets that came wrong and were sent again, with those behind them.
    pub corrupted_sets: u64,
    /// Flits of packets that were sent in vain.
    pub repeated_flits: u64,
    /// Sets that came wrong without the CRC's showing it.
    pub escaped_sets: u64,
    /// Credits that came late, since the set that carried them came wrong.
    pub late_credits: u64,
}

impl LinkControlCounts {
    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        self.corrupted_sets += other.corrupted_sets;
        self.repeated_flits += other.repeated_flits;
        self.escaped_sets += other.escaped_sets;
        self.late_credits += other.late_credits;
    }
}

/// How a link's rate of errors shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// That a flit is in a set with a wrong bit.
    flit: f64,
    /// That the CRC misses it, as a threshold.
    missed: u64,
    set_flits: u64,
}

impl Rates {
    /// None where no bit is ever wrong.
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
#[derive(Clone)]
pub(super) struct Sender {
    stream: Stream,
    /// Flits that will come right before one that does not.
    right: u64,
    heard: u64,
    behind: u64,
}

/// How a packet comes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    /// When its first flit leaves, for good, and when its last has left.
    pub start: u64,
    pub end: u64,
    /// Whether it comes wrong without the link's knowing.
    pub escaped: bool,
}

impl Sender {
    /// Of a router's port.
    pub fn new(seed: u64, router: u32, port: usize, rates: Rates) -> Self {
        let mut stream = Stream::new(seed, LINK_CONTROL, u64::from(router) << 8 | port as u64);
        let right = gap(&mut stream, rates);
        Sender { stream, right, heard: 0, behind: 0 }
    }

    /// When the link takes another packet that could leave at `now`: at once, or when what went wrong has been sent again.
    pub fn open_at(&self, now: u64) -> u64 {
        if now >= self.heard { now.max(self.behind) } else { now }
    }

    /// A packet of so many flits leaves at `start`; a flit takes `flit`, and news from the other end `round_trip`.
    pub fn carry(
        &mut self,
        start: u64,
        flits: u64,
        (flit, round_trip): (u64, u64),
        rates: Rates,
        counts: &mut LinkControlCounts,
    ) -> Carried {
        let mut at = start.max(self.behind);
        let (mut left, mut head, mut escaped) = (flits, None, false);
        loop {
            if self.right >= left {
                self.right -= left;
                self.behind = at + left * flit;
                return Carried { start: head.unwrap_or(at), end: self.behind, escaped };
            }
            let before = self.right / rates.set_flits * rates.set_flits;
            let through = (before + rates.set_flits).min(left);
            if self.stream.chance(rates.missed) {
                counts.escaped_sets += 1;
                escaped = true;
                // It is taken as it is.
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
            // What goes wrong when it is sent again finds the sender at that already.
            if at == start {
                self.heard = heard;
            }
            at = heard;
            left -= before;
            self.right = gap(&mut self.stream, rates);
        }
    }

    /// When a credit that is to leave at `now` does, for good.
    pub fn carry_credit(
        &mut self,
        now: u64,
        (flit, round_trip): (u64, u64),
        rates: Rates,
        counts: &mut LinkControlCounts,
    ) -> u64 {
        let mut at = if now < self.heard { self.heard } else { now };
        while self.right == 0 {
            counts.late_credits += 1;
            at += rates.set_flits * flit + round_trip;
            self.right = gap(&mut self.stream, rates);
        }
        self.right -= 1;
        at
    }
}

/// Flits that come right before one that does not.
fn gap(stream: &mut Stream, rates: Rates) -> u64 {
    let gap = (1.0 - stream.unit()).ln() / (-rates.flit).ln_1p();
    if gap < 1e18 { gap as u64 } else { 1 << 60 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: LinkControl =
        LinkControl { set_flits: 9, set_bits: 480, crc_bits: 20, lanes: 3, send_buffer_flits: 160 };

    /// So many packets of 14 flits back to back: what they take beyond the flits themselves is a round trip and the sets sent in vain for
    /// each wrong set, which come as often as the rate says.
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
            // Each set until it comes right: nine flits, and the five that are left.
            let wrong = |flits: f64| -(flits * 480.0 / 9.0 * (-rate).ln_1p()).exp_m1();
            let tries = |wrong: f64| wrong / (1.0 - wrong);
            let expected = packets as f64 * (tries(wrong(9.0)) + tries(wrong(5.0)));
            let wrong = counts.corrupted_sets as f64;
            assert!((wrong / expected - 1.0).abs() < 4.0 / expected.sqrt(), "{rate}: {wrong} of {expected}");
            let late = (last - 14 * packets * flit) as f64 / wrong;
            // At least the round trip, at most as much and two sets.
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

    /// Until the sender hears of a wrong set it goes on; then it takes nothing new before all of that has been sent again.
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

    #[test]
    fn nothing_is_drawn_where_no_bit_is_wrong() {
        assert!(Rates::new(0.0, &CONTROL).is_none());
    }
}
