//! Windows in all orders that the memory model allows.

use super::*;
use std::sync::Arc;

/// Numbers that two blocks pass back and forth, each a tick later than it arrived.
#[derive(Default)]
struct Pass {
    waiting: Vec<(Time, u32)>,
    seen: Vec<(Time, u32)>,
}

impl Block for Pass {
    type Message = u32;

    fn next_time(&self) -> Option<Time> {
        self.waiting.iter().map(|m| m.0).min()
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<u32>) -> u64 {
        let due = self.waiting.extract_if(.., |m| m.0 < until);
        let before = self.seen.len();
        self.seen.extend(due);
        for &(time, number) in &self.seen[before..] {
            out.send(0, time + 1, number + 1);
        }
        (self.seen.len() - before) as u64
    }

    fn receive(&mut self, messages: &mut Vec<(Time, u32)>) {
        self.waiting.append(messages);
    }
}

/// Both blocks send in every window, so that each inbox fills while the other one of its pair is read,
/// and either thread may take the other's block.
#[test]
fn loom_windows() {
    const WINDOWS: u64 = 3;
    let mut model = loom::model::Builder::new();
    // All orders would take days; errors of this kind show with two preemptions per thread.
    model.preemption_bound = Some(2);
    model.check(|| {
        let block = |number| Pass { waiting: vec![(Time::ZERO, number)], seen: vec![] };
        let simulation = Arc::new(Simulation::new(vec![block(0), block(10)], vec![vec![1], vec![0]], 1));
        let shared = Arc::new(Window::new(Time::ZERO, 0, Time::at(WINDOWS), 2, None));
        let other = {
            let (simulation, shared) = (simulation.clone(), shared.clone());
            loom::thread::spawn(move || simulation.work(&shared, 1, &Progress::default()))
        };
        simulation.work(&shared, 0, &Progress::default());
        other.join().expect("a thread");
        assert_eq!(shared.number.load(Relaxed), WINDOWS);
        assert_eq!(simulation.next_time(), Some(Time::at(WINDOWS)));
        let mut simulation = Arc::into_inner(simulation).expect("the other thread has ended");
        let seen: Vec<_> = simulation.blocks().map(|b| std::mem::take(&mut b.seen)).collect();
        let expected = [[(0, 0), (1, 11), (2, 2)], [(0, 10), (1, 1), (2, 12)]];
        assert_eq!(seen, expected.map(|list| list.map(|(tick, number)| (Time::at(tick), number))));
    });
}

/// Both blocks panic in the second window, on either thread: both threads return, and the first block's
/// panic is kept.
#[test]
fn loom_panic() {
    struct Breaks(Pass);

    impl Block for Breaks {
        type Message = u32;

        fn next_time(&self) -> Option<Time> {
            self.0.next_time()
        }

        fn advance(&mut self, until: Time, out: &mut Outbox<u32>) -> u64 {
            let events = self.0.advance(until, out);
            if self.0.seen.len() == 2 {
                // Bypasses the panic hook, which would print each of many thousands.
                resume_unwind(Box::new(self.0.seen[0].1));
            }
            events
        }

        fn receive(&mut self, messages: &mut Vec<(Time, u32)>) {
            self.0.receive(messages);
        }
    }

    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let block = |number| Breaks(Pass { waiting: vec![(Time::ZERO, number)], seen: vec![] });
        let simulation = Arc::new(Simulation::new(vec![block(7), block(10)], vec![vec![1], vec![0]], 1));
        let shared = Arc::new(Window::new(Time::ZERO, 0, Time::at(100), 2, None));
        let other = {
            let (simulation, shared) = (simulation.clone(), shared.clone());
            loom::thread::spawn(move || simulation.work(&shared, 1, &Progress::default()))
        };
        simulation.work(&shared, 0, &Progress::default());
        other.join().expect("a thread");
        assert_eq!(shared.number.load(Relaxed), 2, "no window follows");
        let (block, panic) = lock(&shared.panic).take().expect("a panic");
        assert_eq!((block, panic.downcast_ref()), (0, Some(&7u32)));
    });
}
