//! Reliable connections: exhausted contexts, corrupted and lost packets.

use crate::machine::{AT, KEY, Outcome, bytes, port, run};
use netloom_messaging::glex::Glex;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::Status;
use netloom_nic::th::{EventKind, Options, Submission};

const BYTES: u64 = 20_000;
const RECEIVERS: u32 = 4;

/// Address of a sender's data.
fn place_of(from: u32) -> u64 {
    AT + u64::from(from) * 0x1_0000
}

/// Every node from `RECEIVERS` to `nodes` puts to each of the first few, all at the same time, and is
/// notified of the end of each.
async fn crowd(glex: Glex, nodes: u32, connect: bool) {
    let ep = glex.create_endpoint(Submission::Dma, KEY, 256).expect("free");
    glex.register(ep, AT, 1 << 22, true).expect("free");
    if glex.node() >= nodes {
        return;
    }
    let options = Options { local_event: Some(1), remote_event: Some(2), connect, ..Options::default() };
    if glex.node() >= RECEIVERS {
        let mine = place_of(glex.node());
        glex.store(mine, &bytes(BYTES + u64::from(glex.node())));
        for to in 0..RECEIVERS {
            glex.put(ep, port(to, ep), (mine, mine, BYTES), options).await.expect("possible");
        }
        for _ in 0..RECEIVERS {
            let event = glex.wait_event(ep).await.expect("it comes");
            assert_eq!((event.kind, event.status), (EventKind::Local, Status::Success));
        }
    } else {
        for _ in RECEIVERS..nodes {
            let event = glex.wait_event(ep).await.expect("it comes");
            assert_eq!((event.kind, event.status), (EventKind::Remote, Status::Success));
        }
        for from in RECEIVERS..nodes {
            let all = bytes(BYTES + u64::from(from));
            assert_eq!(glex.load(place_of(from), BYTES as usize), all[..BYTES as usize]);
        }
    }
}

fn sum(outcome: &Outcome, of: impl Fn(&netloom_nic::th::NicCounters) -> u64) -> u64 {
    outcome.counters.values().map(of).sum()
}

#[test]
fn receivers_without_a_context_refuse_and_are_asked_again() {
    let nic = ThConfig { receiver_contexts: 2, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex| Box::pin(crowd(glex, 12, true)));
    assert!(sum(&outcome, |c| c.refused) > 0);
    assert_eq!(outcome.counters.values().map(|c| c.receivers_peak).max(), Some(2));
}

#[test]
fn a_sender_without_a_context_pauses() {
    let nic = ThConfig { sender_contexts: 1, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex| Box::pin(crowd(glex, 8, true)));
    assert!(sum(&outcome, |c| c.pauses) > 0);
    assert!(outcome.counters.values().all(|c| c.senders_peak <= 1));
    let outcome = run(&nic, |glex| Box::pin(crowd(glex, 8, false)));
    assert_eq!(sum(&outcome, |c| c.pauses), 0, "without connections nothing waits for one");
}

#[test]
fn packets_that_come_broken_are_sent_again() {
    let nic = ThConfig { corrupted_per_million: 50_000, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex| Box::pin(crowd(glex, 8, true)));
    let corrupted = sum(&outcome, |c| c.corrupted);
    assert!(corrupted > 20, "{corrupted}");
    assert_eq!(sum(&outcome, |c| c.resent), corrupted);
}

#[test]
fn packets_that_do_not_come_are_sent_again_after_a_time_out() {
    let nic =
        ThConfig { lost_per_million: 20_000, timeout_milliticks: 50_000_000, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex| Box::pin(crowd(glex, 8, true)));
    assert!(sum(&outcome, |c| c.lost) > 5 && sum(&outcome, |c| c.timeouts) > 0);
}

#[test]
fn transfers_that_break_on_pci_express_are_sent_again() {
    let mut nic = ThConfig::th_express_2();
    nic.pcie.bit_errors_per_Tbit = 5_000_000;
    let outcome = run(&nic, |glex| Box::pin(crowd(glex, 8, false)));
    assert!(sum(&outcome, |c| c.pcie_retries.iter().sum()) > 5);
}

/// Gets while many packets are lost and transfers give up soon: each is reported, and those reported as
/// successful have arrived.
#[test]
fn a_get_whose_answer_is_given_up_is_reported() {
    async fn gets(glex: Glex) {
        let ep = glex.create_endpoint(Submission::Dma, KEY, 256).expect("free");
        glex.register(ep, AT, 1 << 22, true).expect("free");
        glex.store(AT, &bytes(BYTES));
        if glex.node() >= RECEIVERS {
            return;
        }
        let other = port(glex.node() + RECEIVERS, ep);
        for number in 0..GETS {
            let options = Options { local_event: Some(number), connect: true, ..Options::default() };
            let here = AT + 0x1_0000 * u64::from(number + 1);
            glex.get(ep, other, (here, AT, 3000), options).await.expect("possible");
        }
        for _ in 0..GETS {
            let event = glex.wait_event(ep).await.expect("it comes");
            let there = glex.load(AT + 0x1_0000 * u64::from(event.user + 1), 3000);
            assert!(event.status != Status::Success || there == bytes(BYTES)[..3000]);
            glex.measure(u64::from(event.status == Status::Success), 0u64);
        }
    }
    const GETS: u32 = 12;
    let nic = ThConfig {
        lost_per_million: 100_000,
        attempts_max: 2,
        timeout_milliticks: 20_000_000,
        ..ThConfig::th_express_2()
    };
    let outcome = run(&nic, |glex| Box::pin(gets(glex)));
    let ended = |well: u64| outcome.measurements.values().flatten().filter(|n| n.key == well).count();
    assert_eq!(ended(0) + ended(1), (GETS * RECEIVERS) as usize);
    assert!(ended(0) > 0 && ended(1) > 0, "{} of {} well", ended(1), ended(0) + ended(1));
}
