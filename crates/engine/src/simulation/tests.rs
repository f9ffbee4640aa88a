//! Windows on several threads.

use super::*;
use crate::{Calendar, Stream};

/// Cells in a ring that pass numbers on after a random delay and sum the numbers that they receive.
struct Ring {
    calendar: Calendar<(u32, u64)>,
    first: u32,
    sums: Vec<u64>,
    streams: Vec<Stream>,
    cells: u32,
    taken: Vec<(u32, u64)>,
}

const LOOKAHEAD: u64 = 7;

impl Block for Ring {
    type Message = (u32, u64);

    fn next_time(&self) -> Option<Time> {
        self.calendar.next_time()
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<Self::Message>) -> u64 {
        let mut count = 0;
        while let Some(now) = self.next_time().filter(|&t| t < until) {
            let mut taken = std::mem::take(&mut self.taken);
            self.calendar.take(now, &mut taken);
            taken.sort_unstable();
            for &(cell, value) in &taken {
                count += 1;
                let i = (cell - self.first) as usize;
                self.sums[i] = self.sums[i].wrapping_mul(31).wrapping_add(value ^ now.ticks());
                let delay = LOOKAHEAD + self.streams[i].below(900) * u64::from(self.streams[i].below(8) == 0);
                let next = (cell + 1) % self.cells;
                let message = (next, value + 1);
                if (self.first..self.first + self.sums.len() as u32).contains(&next) {
                    self.calendar.push(now + delay, message);
                } else {
                    out.send(0, now + delay, message);
                }
            }
            self.taken = taken;
        }
        count
    }

    fn receive(&mut self, messages: &mut Vec<(Time, Self::Message)>) {
        for (time, message) in messages.drain(..) {
            self.calendar.push(time, message);
        }
    }
}

fn ring(cells: u32, block: u32, threads: usize, until: &[u64]) -> (Vec<u64>, u64) {
    ring_of(cells, block, threads, until, None)
}

/// The cells of one process, if there are several.
fn ring_of(
    cells: u32,
    block: u32,
    threads: usize,
    until: &[u64],
    peers: Option<Arc<dyn Peers>>,
) -> (Vec<u64>, u64) {
    let count = cells.div_ceil(block);
    let of = peers
        .as_ref()
        .map_or(0..count as usize, |peers| crate::own_blocks(count as usize, peers.rank(), peers.count()));
    let blocks: Vec<_> = (of.start as u32..of.end as u32)
        .map(|b| {
            let (first, last) = (b * block, ((b + 1) * block).min(cells));
            let mut calendar = Calendar::new();
            (first..last).for_each(|c| calendar.push(Time::at((c % 5).into()), (c, u64::from(c))));
            Ring {
                calendar,
                first,
                sums: vec![0; (last - first) as usize],
                streams: (first..last).map(|c| Stream::new(1, 0, u64::from(c))).collect(),
                cells,
                taken: vec![],
            }
        })
        .collect();
    // As a block's messages go to the next one only, the lane back is never used.
    let lanes = of.map(|b| b as u32).map(|b| vec![(b + 1) % count, (b + count - 1) % count]).collect();
    let mut simulation = match peers {
        None => Simulation::new(blocks, lanes, LOOKAHEAD),
        Some(peers) => Simulation::of_process(peers, count as usize, blocks, lanes, LOOKAHEAD, vec![]),
    };
    if until.len() > 2 {
        simulation.spare_threads();
    }
    let progress = Progress::default();
    for &t in until {
        let t = Time::at(t);
        assert_eq!(simulation.run_until(t, threads, &progress), Reached::Time);
        assert_eq!(simulation.now(), t);
    }
    (simulation.blocks().flat_map(|b| b.sums.clone()).collect(), progress.events())
}

#[test]
fn threads_and_blocks_do_not_matter() {
    let expected = ring(60, 60, 1, &[20_000]);
    assert!(expected.1 > 10_000);
    for (block, threads) in [(60, 1), (20, 2), (7, 4), (1, 3), (30, 2)] {
        assert_eq!(ring(60, block, threads, &[20_000]), expected, "blocks of {block} on {threads} threads");
    }
    assert_eq!(ring(60, 20, 2, &[1, 2, 500, 501, 19_999, 20_000]), expected);
}

#[test]
fn processes_do_not_matter() {
    for until in [&[20_000][..], &[1, 2, 500, 501, 19_999, 20_000]] {
        let expected = ring(60, 7, 1, &[20_000]);
        for (processes, threads) in [(1, 1), (2, 1), (3, 2), (9, 1), (12, 1)] {
            let all = crate::ThreadPeers::all(processes);
            let found: Vec<_> = std::thread::scope(|scope| {
                let run = |peers| scope.spawn(move || ring_of(60, 7, threads, until, Some(Arc::new(peers))));
                let running: Vec<_> = all.into_iter().map(run).collect();
                running.into_iter().map(|of| of.join().unwrap()).collect()
            });
            assert_eq!(
                found.iter().flat_map(|of| of.0.clone()).collect::<Vec<_>>(),
                expected.0,
                "{processes}"
            );
            assert_eq!(found.iter().map(|of| of.1).sum::<u64>(), expected.1);
        }
    }
}

/// Two blocks with an event per tick, which takes long before a certain time.
struct Slow(Time, Time);

impl Block for Slow {
    type Message = ();

    fn next_time(&self) -> Option<Time> {
        Some(self.0)
    }

    fn advance(&mut self, until: Time, _: &mut Outbox<()>) -> u64 {
        let begin = std::time::Instant::now();
        while self.0 < self.1 && begin.elapsed().as_micros() < 20 {}
        self.0 = until;
        1
    }

    fn receive(&mut self, _: &mut Vec<(Time, ())>) {}
}

#[test]
fn threads_are_spared_where_they_gain_nothing() {
    let blocks = (0..2).map(|_| Slow(Time::ZERO, Time::at(300))).collect();
    let mut simulation = Simulation::new(blocks, vec![vec![], vec![]], 1);
    simulation.spare_threads();
    let progress = Progress::default();
    for (until, is_small) in [(200, false), (3000, true)] {
        assert_eq!(simulation.run_until(Time::at(until), 2, &progress), Reached::Time);
        assert_eq!(simulation.gain.map(|gain| gain.is_small), Some(is_small));
    }
    assert_eq!(progress.events(), 2 * 3000);
}

#[test]
fn stops_when_asked() {
    let calendar = {
        let mut c = Calendar::new();
        c.push(Time::ZERO, (0, 0));
        c
    };
    let block = Ring {
        calendar,
        first: 0,
        sums: vec![0],
        streams: vec![Stream::new(1, 0, 0)],
        cells: 1,
        taken: vec![],
    };
    let mut simulation = Simulation::new(vec![block], vec![vec![]], LOOKAHEAD);
    let progress = Progress::default();
    progress.stop();
    assert_eq!(simulation.run_until(Time::at(1 << 40), 1, &progress), Reached::Stopped);
    assert!(simulation.now() <= Time::at(LOOKAHEAD));
}

#[test]
fn stops_where_nothing_happens_for_long() {
    let block = Slow(Time::at(1 << 40), Time::at(1 << 41));
    let mut simulation = Simulation::new(vec![block], vec![vec![]], 1);
    let progress = Progress::default();
    assert_eq!(simulation.run_until(Time::at(1000), 1, &progress), Reached::Time);
    progress.stop();
    assert_eq!(simulation.run_until(Time::at(2000), 1, &progress), Reached::Stopped);
    assert_eq!(simulation.now(), Time::at(2000));
}
