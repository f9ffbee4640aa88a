//! The event queue, held at a steady number of events: each event taken puts in another, as a network's do.
//! `cargo bench -p netloom-engine`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use netloom_engine::{Calendar, Stream, Time};
use std::hint::black_box;
use std::time::Duration;

/// As large as a fabric's event.
type Event = [u64; 3];

/// How far ahead a torus' events lie: an arrival (17 ticks), a token-ack's end and what it brings (12, 25), a
/// full packet's end (260) and a small one's (36).
const NETWORK: [u64; 6] = [17, 17, 12, 25, 260, 36];
/// The same with one event in eight beyond the ring of buckets: timers, and nodes that send seldom.
const FAR: [u64; 8] = [17, 17, 12, 25, 260, 36, 260, 8192];

/// A queue that holds `count` events.
struct Steady<'a> {
    calendar: Calendar<Event>,
    ahead: &'a [u64],
    turn: usize,
    taken: Vec<Event>,
}

impl<'a> Steady<'a> {
    fn new(events: usize, ahead: &'a [u64]) -> Self {
        let mut calendar = Calendar::new();
        let mut stream = Stream::new(1, 0, 0);
        (0..events).for_each(|i| calendar.push(Time::at(stream.below(260)), [i as u64; 3]));
        let mut steady = Steady { calendar, ahead, turn: 0, taken: vec![] };
        // Until its pages are spread as they will be.
        while steady.calendar.next_time().is_some_and(|t| t < Time::at(20_000)) {
            steady.step();
        }
        steady
    }

    /// Takes the next tick's events and puts as many in; how many.
    fn step(&mut self) -> usize {
        let now = self.calendar.next_time().expect("as many go in as come out");
        self.calendar.take(now, &mut self.taken);
        for &event in &self.taken {
            self.turn = (self.turn + 1) % self.ahead.len();
            self.calendar.push(now + self.ahead[self.turn], black_box(event));
        }
        self.taken.len()
    }
}

fn calendar(c: &mut Criterion) {
    const EVENTS: u64 = 10_000;
    let mut group = c.benchmark_group("calendar");
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(EVENTS));
    for (name, ahead) in [("network", &NETWORK[..]), ("far", &FAR)] {
        // A node has a handful of events in flight: blocks of about 16, 500 and 2,000 nodes.
        for held in [100, 4000, 16_000] {
            let mut steady = Steady::new(held, ahead);
            group.bench_function(BenchmarkId::new(name, held), |b| {
                b.iter(|| {
                    let mut events = 0;
                    while events < EVENTS {
                        events += steady.step() as u64;
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, calendar);
criterion_main!(benches);
