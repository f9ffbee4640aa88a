//! Clocks of nodes: unsynchronised timers, and one synchronised by pulses; and transfers with errors over
//! PCI-Express.

use crate::machine::{COOKIE, Machine, Outcome, PTAG, Task, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind};
use netloom_nic::aries::Window;

const AT: u64 = 0x10_0000;
const MILLISECOND: u64 = 875_000_000;
/// Microticks of a nanosecond.
const NS: u64 = 875_000;

/// All nodes read both their clocks at the same times, every 3.3 ms.
async fn read(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    for round in 0..6 {
        gni.compute_milliticks(3 * MILLISECOND + MILLISECOND / 3).await;
        gni.measure(2 * round, gni.timer().await);
        gni.measure(2 * round + 1, gni.global_clock().await);
    }
}

/// The spread of the nodes' readings, ns.
fn spread(outcome: &Outcome, of: u64) -> u64 {
    let all = outcome.measurements.values().flatten().filter(|n| n.key == of).map(|n| n.value);
    (all.clone().max().expect("all nodes") - all.min().expect("all nodes")) / NS
}

#[test]
fn pulses_keep_clocks_together() {
    let with = |pulse_milliticks: u64| -> Machine {
        let mut machine = chassis(4);
        machine.nic.clock.pulse_milliticks = pulse_milliticks;
        machine
    };
    let program = |gni: Gni| -> Task { Box::pin(read(gni)) };
    let (pulses, none) = (run(&with(MILLISECOND), program), run(&with(0), program));
    for round in 0..6 {
        // At most two links, and a millisecond with up to 50 millionths error in either direction.
        assert!(spread(&pulses, 2 * round + 1) <= 2 * 12 + 100, "round {round}");
        assert!(spread(&pulses, 2 * round) > 10_000_000, "timers begin at any time");
    }
    // 20 ms without a pulse.
    assert!(spread(&none, 11) > 500, "{}", spread(&none, 11));
    // Independent of blocks and threads.
    let blocks = Machine { block: 1, threads: 2, ..with(MILLISECOND) };
    assert!(run(&blocks, program).measurements == pulses.measurements);
}

/// Times a put from one node to another by the clocks of both.
#[test]
fn the_global_clock_times_one_direction() {
    let outcome = run(&chassis(2), |gni| {
        Box::pin(async move {
            gni.cdm_attach(PTAG, COOKIE).expect("of the job");
            let memory = gni.mem_register(AT, 4096, MemOptions::default()).expect("free");
            let d = gni.descriptor();
            gni.compute_milliticks(5 * MILLISECOND).await;
            if gni.node() == 0 {
                gni.fma_set(d, Window { mdh: memory.mdh, ..Window::default() }).await.expect("signed on");
                let begin = gni.global_clock().await;
                gni.launch_put(d, 4, 0, begin.into()).await;
                gni.fma_sync(d).await;
            } else if gni.node() == 4 {
                gni.wait_memory(AT, 8, |b| b != [0; 8]).await;
                let end = gni.global_clock().await;
                gni.measure(0, u64::from(end) - gni.load_word(AT));
            }
        })
    });
    let ns = outcome.measurements[&(4, 0)][0].value / NS;
    // 0.8 us for a put, 0.5 for its page table entry, and 0.4 for the two halves of reading; the clocks
    // differ by up to 0.1.
    assert!((1600..1800).contains(&ns), "{ns}");
}

/// PCI-Express transfers with errors are retransmitted: later, but complete and in order.
#[test]
fn broken_transfers_lose_nothing() {
    let with = |bit_errors: u64, block: u32, threads: usize| {
        let mut machine = Machine { block, threads, ..chassis(2) };
        machine.nic.pcie.bit_errors_per_Tbit = bit_errors;
        run(&machine, |gni| {
            Box::pin(async move {
                gni.cdm_attach(PTAG, COOKIE).expect("of the job");
                let queue = gni.cq_create(64);
                let memory = gni.mem_register(AT, 1 << 20, MemOptions::default()).expect("free");
                let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * 7 + i / 256) as u8).collect();
                if gni.node() != 0 {
                    return;
                }
                gni.store(AT, &bytes);
                for (kind, from, to) in
                    [(PostKind::RdmaPut, 0, 0x1_0000), (PostKind::RdmaGet, 0x2_0000, 0x1_0000)]
                {
                    let post = Post::new(kind, AT + from, AT + to, memory, 20_000);
                    let post = Post { queue: Some(queue), ..post };
                    gni.post_rdma(Endpoint::new(4, 0), post).await.expect("possible");
                    gni.cq_wait_event(queue).await.expect("it comes");
                }
                assert_eq!(gni.load(AT + 0x2_0000, 20_000), bytes);
                gni.measure(0, gni.now());
            })
        })
    };
    let time = |outcome: &Outcome| outcome.measurements[&(0, 0)][0].value;
    let retries = |outcome: &Outcome| -> u64 { outcome.counters[&0].pcie_retries.iter().sum() };
    let (quiet, noisy) = (with(0, 2, 1), with(20_000_000, 2, 1));
    assert_eq!(retries(&quiet), 0);
    assert!(retries(&noisy) > 5 && time(&noisy) > time(&quiet), "{}", retries(&noisy));
    assert_eq!(time(&noisy), time(&with(20_000_000, 1, 2)));
}
