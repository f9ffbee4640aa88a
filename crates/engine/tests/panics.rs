//! A panic in a block ends the run on all threads, with the block's own message and nothing else.

use netloom_engine::{Block, Outbox, Progress, Simulation, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A block that sends the next block a message per window, until it panics.
struct Fragile {
    number: usize,
    waiting: Vec<Time>,
    /// When it panics: as it applies an event, or as it receives a message.
    panics: Option<(Time, Where)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Where {
    Advancing,
    Receiving,
}

impl Fragile {
    fn panic_if_due(&self, time: Time, place: Where) {
        if self.panics.is_some_and(|(due, at)| at == place && time >= due) {
            panic!("block {} broke", self.number);
        }
    }
}

impl Block for Fragile {
    type Message = ();

    fn next_time(&self) -> Option<Time> {
        self.waiting.iter().copied().min()
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<()>) -> u64 {
        let due: Vec<Time> = self.waiting.extract_if(.., |&mut t| t < until).collect();
        for &time in &due {
            self.panic_if_due(time, Where::Advancing);
            out.send(0, time + 1, ());
        }
        due.len() as u64
    }

    fn receive(&mut self, messages: &mut Vec<(Time, ())>) {
        for (time, ()) in messages.drain(..) {
            self.panic_if_due(time, Where::Receiving);
            self.waiting.push(time);
        }
    }
}

const BLOCKS: usize = 8;

/// Runs eight blocks, of which some panic at time 50. Returns the message that comes out of `run_until`, and
/// that of a second attempt. A run that hangs fails after a minute.
fn run(panicking: &'static [usize], place: Where, threads: usize) -> [String; 2] {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let block = |number| Fragile {
            number,
            waiting: vec![Time::ZERO],
            panics: panicking.contains(&number).then_some((Time::at(50), place)),
        };
        let lanes = (0..BLOCKS).map(|b| vec![((b + 1) % BLOCKS) as u32]).collect();
        let mut simulation = Simulation::new((0..BLOCKS).map(block).collect(), lanes, 1);
        let mut message = || {
            let run = || simulation.run_until(Time::at(1000), threads, &Progress::default());
            let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a block panics");
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&s| s.into()))
        };
        let messages = [message().expect("a message"), message().expect("a message")];
        // A lock that the panic poisoned does not keep anyone from looking at the blocks.
        assert_eq!(simulation.blocks().count(), BLOCKS);
        simulation.refresh();
        send.send(messages).expect("the test waits");
    });
    receive.recv_timeout(Duration::from_secs(60)).expect("the run ends")
}

#[test]
fn a_panic_ends_the_run_on_all_threads() {
    for threads in [1, 2, 4] {
        for place in [Where::Advancing, Where::Receiving] {
            // The first block is the calling thread's, the last another thread's.
            for panicking in [&[0], &[BLOCKS - 1]] {
                let [first, second] = run(panicking, place, threads);
                assert_eq!(first, format!("block {} broke", panicking[0]), "{threads} threads");
                assert!(second.contains("panicked in an earlier run"), "{second}");
            }
        }
    }
}

#[test]
fn of_several_panics_the_first_blocks_is_reported_on_any_number_of_threads() {
    for threads in [1, 2, 4] {
        for panicking in [&[3, 4, 7][..], &[2, 6, 5], &[7, 6, 5, 4, 3, 2, 1, 0]] {
            let first = panicking.iter().min().expect("some");
            assert_eq!(run(panicking, Where::Advancing, threads)[0], format!("block {first} broke"));
        }
    }
}
