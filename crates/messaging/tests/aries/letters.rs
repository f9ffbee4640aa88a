//! Datagrams and shared message queues.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_messaging::gni::{DatagramKey, DatagramState, Gni, Msgq, NODE_MESSAGE_MAX_B};
use netloom_nic::aries::status::Refusal;

const MICROSECOND: u64 = 875_000;

fn text(from: u32, to: u32) -> Vec<u8> {
    (0..NODE_MESSAGE_MAX_B as u32).map(|i| (i * 3 + from * 17 + to) as u8).collect()
}

/// Each node exchanges datagrams with its neighbours, and all with node 0, which posts unbound ones.
async fn exchange(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let (me, all) = (gni.place(), gni.job().nodes());
    let (next, before) = ((me + 1) % all, (me + all - 1) % all);
    for other in [next, before] {
        gni.post_datagram(Some((other, 0)), None, &text(me, other)).await.expect("the first for it");
    }
    let again = gni.post_datagram(Some((next, 0)), None, &[]).await;
    assert_eq!(again, Err(Refusal::InvalidState));
    // Some are late.
    gni.compute_milliticks(u64::from(me * 13 % 7) * MICROSECOND).await;
    for other in [before, next] {
        let key = DatagramKey::For(Some((other, 0)));
        let datagram = gni.wait_datagram(key, None).await.expect("it is there");
        assert_eq!(datagram.state, DatagramState::Completed);
        assert_eq!((datagram.with, datagram.data), (Some((other, 0)), text(other, me)));
        assert_eq!(gni.test_datagram(key).await, Err(Refusal::NoMatch), "it has been reported");
    }
    if me == 0 {
        for id in 1..all {
            gni.post_datagram(None, Some(id.into()), &text(0, 0)).await.expect("a new number");
        }
        let mut came = vec![];
        while came.len() < all as usize - 1 {
            let key = gni.probe_datagrams(Some(1000 * MICROSECOND)).await.expect("it comes");
            let datagram = gni.test_datagram(key).await.expect("it has come");
            let from = datagram.with.expect("from somebody").0;
            assert_eq!(datagram.data, text(from, 0));
            came.push(from);
        }
        came.sort_unstable();
        assert_eq!(came, (1..all).collect::<Vec<_>>());
    } else {
        gni.post_datagram(Some((0, 0)), Some(5), &text(me, 0)).await.expect("a new number");
        let datagram = gni.wait_datagram(DatagramKey::Id(5), None).await.expect("it is there");
        assert_eq!((datagram.with, datagram.data), (Some((0, 0)), text(0, 0)));
    }
    gni.measure(0, gni.now());
}

#[test]
fn datagrams_are_exchanged_whoever_is_first() {
    let outcome = |block, threads| {
        let machine = Machine { block, threads, ..chassis(2) };
        run(&machine, |gni| Box::pin(exchange(gni))).measurements
    };
    assert!(outcome(2, 1) == outcome(1, 2));
}

#[test]
fn datagrams_are_bounded_and_can_be_taken_back() {
    run(&chassis(2), |gni| {
        Box::pin(async move {
            gni.cdm_attach(PTAG, COOKIE).expect("of the job");
            let too_long = gni.post_datagram(Some((1, 0)), None, &[0; NODE_MESSAGE_MAX_B + 1]).await;
            assert_eq!(too_long, Err(Refusal::Size));
            let no_node = gni.post_datagram(Some((99, 0)), None, &[]).await;
            assert_eq!(no_node, Err(Refusal::InvalidParam));
            let key = DatagramKey::For(Some((4, 0)));
            if gni.node() == 0 {
                // Cancelled before the other side tests, which then sees only the second.
                gni.post_datagram(Some((4, 0)), None, &[1]).await.expect("the first");
                let soon = gni.wait_datagram(key, Some(MICROSECOND)).await;
                assert_eq!(soon, Err(Refusal::NotDone));
                gni.cancel_datagram(key).await.expect("pending");
                assert_eq!(gni.test_datagram(key).await.map(|d| d.state), Ok(DatagramState::Terminated));
                assert_eq!(gni.cancel_datagram(key).await, Err(Refusal::NoMatch));
                assert_eq!(gni.probe_datagrams(Some(MICROSECOND)).await, Err(Refusal::NoMatch));
                gni.compute_milliticks(50 * MICROSECOND).await;
                gni.post_datagram(Some((4, 0)), None, &[2]).await.expect("the first again");
                assert_eq!(gni.wait_datagram(key, None).await.map(|d| d.data), Ok(vec![3]));
            } else if gni.node() == 4 {
                gni.compute_milliticks(30 * MICROSECOND).await;
                gni.post_datagram(None, Some(8), &[3]).await.expect("a new number");
                let datagram = gni.wait_datagram(DatagramKey::Id(8), None).await;
                assert_eq!(datagram.map(|d| d.data), Ok(vec![2]));
            }
        })
    });
}

/// Three processes of each node send to all processes of all others, with few credits; nothing is lost, and
/// each receives its own messages.
#[test]
fn shared_queues_serve_all_processes_of_a_node() {
    const CREDITS: u64 = 4;
    let program = |gni: Gni| -> crate::machine::Task {
        Box::pin(async move {
            gni.cdm_attach(PTAG, COOKIE).expect("of the job");
            let queue = Msgq::init(&gni, CREDITS).expect("signed on");
            let (me, nodes, processes) = (gni.place(), gni.job().nodes(), gni.processes());
            let own = |node: u32, process: u8| text(node, process.into())[..100].to_vec();
            let too_long = queue.send((0, 0), &[0; 64], &[0; 65], 0).await;
            assert_eq!(too_long, Err(Refusal::Size));
            let mut left: Vec<(u32, u8)> =
                (1..nodes).flat_map(|n| (0..processes).map(move |p| ((me + n) % nodes, p))).collect();
            let (mut came, mut waits) = (vec![], 0u64);
            while !left.is_empty() || came.len() < usize::from(processes) * (nodes as usize - 1) {
                if let Some(&to) = left.last() {
                    match queue.send(to, &[me as u8], &own(me, gni.process()), to.1).await {
                        Ok(()) => drop(left.pop()),
                        Err(refusal) => {
                            assert_eq!(refusal, Refusal::NotDone);
                            waits += 1;
                        }
                    }
                }
                if let Ok(message) = queue.progress(Some(MICROSECOND)).await {
                    assert_eq!(message.header, [message.from.0 as u8]);
                    assert_eq!(message.data, own(message.from.0, message.from.1));
                    assert_eq!(message.tag, gni.process());
                    came.push(message.from);
                }
            }
            came.sort_unstable();
            came.dedup();
            assert_eq!(came.len(), usize::from(processes) * (nodes as usize - 1), "each once");
            gni.measure(0, waits);
        })
    };
    let machine = Machine { processes: 3, ..chassis(2) };
    let outcome = run(&machine, program);
    let waits: u64 = outcome.measurements.values().flatten().map(|n| n.value).sum();
    assert!(waits > 0, "credits are few");
    let blocks = Machine { block: 1, threads: 2, ..machine };
    assert!(run(&blocks, program).measurements == outcome.measurements);
}

/// More messages than a node has receives for, while it is idle: they are resent until it polls.
#[test]
fn letters_that_find_no_receive_are_sent_again() {
    const EACH: u8 = 20;
    let outcome = run(&chassis(2), |gni| {
        Box::pin(async move {
            gni.cdm_attach(PTAG, COOKIE).expect("of the job");
            let queue = Msgq::init(&gni, EACH.into()).expect("signed on");
            if gni.place() > 0 {
                for n in 0..EACH {
                    queue.send((0, 0), &[], &[n], 0).await.expect("enough credits");
                }
                queue.idle().await;
                gni.measure(0, gni.now());
                return;
            }
            gni.compute_milliticks(60 * MICROSECOND).await;
            let mut came: Vec<(u32, u8)> = vec![];
            for _ in 1..gni.job().nodes() {
                for _ in 0..EACH {
                    let message = queue.progress(None).await.expect("it comes");
                    came.push((message.from.0, message.data[0]));
                }
            }
            came.sort_unstable();
            let all = (1..gni.job().nodes()).flat_map(|node| (0..EACH).map(move |n| (node, n)));
            assert!(came.into_iter().eq(all), "each once");
        })
    });
    let last = outcome.measurements.values().flatten().map(|n| n.value).max().expect("seven measurements");
    assert!(last > 60 * MICROSECOND * 1000, "some had to wait until node 0 looked");
}
