//! What several processes that simulate one machine exchange: messages and bytes for each window, by the number
//! of processes. They are threads here, one after the other where there are more than cores.
//!
//! ```text
//! cargo run --release -p netloom-simulate --example processes -- STUDY 2,4,8 KEY=VALUE...
//! ```

use netloom_engine::{Peers, ThreadPeers};
use netloom_simulate::Distributed;
use netloom_study::resolve::load;
use netloom_study::run::{Quiet, Simulate};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Counts what a process sends.
#[derive(Debug)]
struct Counted {
    peers: ThreadPeers,
    windows: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Peers for Counted {
    fn rank(&self) -> usize {
        self.peers.rank()
    }

    fn count(&self) -> usize {
        self.peers.count()
    }

    fn exchange(&self, with: &[usize], bytes: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.windows.fetch_add(1, Relaxed);
        self.messages.fetch_add(with.len() as u64, Relaxed);
        self.bytes.fetch_add(bytes.iter().map(|of| of.len() as u64).sum(), Relaxed);
        self.peers.exchange(with, bytes)
    }

    fn least(&self, own: [u64; 2]) -> [u64; 2] {
        self.peers.least(own)
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        self.peers.gather(own)
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(study), Some(counts)) = (args.next(), args.next()) else {
        eprintln!("usage: processes STUDY COUNTS KEY=VALUE...");
        std::process::exit(2);
    };
    let study = load(&study, &args.collect::<Vec<_>>()).unwrap_or_else(|problem| {
        eprint!("{}", problem.render(false));
        std::process::exit(2);
    });
    println!("{:>9} {:>9} {:>20} {:>14}", "processes", "windows", "neighbours of each", "bytes a window");
    for count in counts.split(',').filter_map(|count| count.parse::<usize>().ok()) {
        let counted = |peers| {
            let [windows, messages, bytes] = [const { AtomicU64::new(0) }; 3];
            Arc::new(Counted { peers, windows, messages, bytes })
        };
        let all: Vec<_> = ThreadPeers::all(count).into_iter().map(counted).collect();
        std::thread::scope(|scope| {
            for peers in &all {
                let (study, peers) = (&study, Arc::clone(peers));
                scope.spawn(move || {
                    let result = Distributed(peers).simulate(study, &Quiet(&AtomicBool::new(false)), 1);
                    if let Err(problem) = result {
                        eprint!("{}", problem.render(false));
                    }
                });
            }
        });
        let most = |of: fn(&Counted) -> &AtomicU64| {
            all.iter().map(|counted| of(counted).load(Relaxed)).max().unwrap_or(0) as f64
        };
        let windows = most(|of| &of.windows).max(1.0);
        let (messages, bytes) = (most(|of| &of.messages) / windows, most(|of| &of.bytes) / windows);
        println!("{count:>9} {windows:>9} {messages:>20.1} {bytes:>14.0}");
    }
}
