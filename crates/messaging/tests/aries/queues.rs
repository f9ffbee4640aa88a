//! Completion queues with blocking waits and waits for several queues; and chains of operations.

use crate::machine::{COOKIE, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, Gni, MemOptions, Post, PostKind, QueueMode};
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_nic::aries::status::Refusal;
use netloom_node::time::Microticks;

const AT: u64 = 0x10_0000;
const MICROSECOND: u64 = 875_000;

/// Node 0 notifies node 4 in two queues, by events of two memories: three in the first, then one in the
/// second.
async fn notify(gni: &Gni, memories: [netloom_nic::aries::address::MemHandle; 2]) {
    gni.compute_milliticks(20 * MICROSECOND).await;
    for (n, which) in [0, 0, 0, 1].into_iter().enumerate() {
        let memory = memories[which];
        let post = Post::new(PostKind::CqWrite(n as u32), 0, memory.address, memory, 0);
        gni.post_fma(Endpoint::new(4, 0), post).await.expect("possible");
        gni.compute_milliticks(10 * MICROSECOND).await;
    }
}

fn two(gni: &Gni, modes: [QueueMode; 2]) -> ([u16; 2], [netloom_nic::aries::address::MemHandle; 2]) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let queues = modes.map(|mode| gni.cq_create_with(16, mode));
    let memories = [0, 1].map(|n: usize| {
        let options = MemOptions { queue: Some(queues[n]), ..MemOptions::default() };
        gni.mem_register(AT + n as u64 * 4096, 4096, options).expect("free")
    });
    (queues, memories)
}

#[test]
fn many_queues_are_watched_at_once() {
    run(&chassis(2), |gni| {
        Box::pin(async move {
            let (queues, memories) = two(&gni, [QueueMode::Polled; 2]);
            if gni.node() == 0 {
                notify(&gni, memories).await;
            } else if gni.node() == 4 {
                let soon = gni.cq_wait_event_for(queues[0], 5 * MICROSECOND).await;
                assert_eq!(soon, Err(Refusal::NotDone));
                assert_eq!(gni.now(), Microticks::of_milliticks(5 * MICROSECOND));
                assert_eq!(gni.cq_test_event(queues[0]).await, Err(Refusal::NotDone));
                let monitored = gni.cq_vector_monitor(&queues, Some(MICROSECOND)).await;
                assert_eq!(monitored, Err(Refusal::NotDone));
                for n in 0..3u64 {
                    let event = gni.cq_vector_wait_event(&queues, None).await;
                    assert_eq!(event.map(|(place, event)| (place, event.user)), Ok((0, n)));
                }
                assert_eq!(gni.cq_vector_monitor(&queues, None).await, Ok(1));
                assert_eq!(gni.cq_test_event(queues[1]).await, Ok(()));
                assert_eq!(gni.cq_get_event(queues[1]).await.map(|e| e.user), Ok(3));
                assert_eq!(gni.cq_interrupt_mask(queues[1]), Err(Refusal::InvalidState));
            }
        })
    });
}

/// A sleeping process is woken by an interrupt, when there are enough events and interrupts are enabled.
#[test]
fn blocking_queues_interrupt() {
    let outcome = run(&chassis(2), |gni| {
        Box::pin(async move {
            let (queues, memories) = two(&gni, [2, 1].map(|delay_count| QueueMode::Blocking { delay_count }));
            if gni.node() == 0 {
                notify(&gni, memories).await;
            } else if gni.node() == 4 {
                // The second event wakes it a microsecond later.
                assert_eq!(gni.cq_wait_event(queues[0]).await.map(|e| e.user), Ok(0));
                gni.measure(0, gni.now() / 1000 / MICROSECOND);
                assert_eq!(gni.cq_get_event(queues[0]).await.map(|e| e.user), Ok(1));
                // The third alone does not, and with masked interrupts none does.
                let third = gni.cq_wait_event_for(queues[0], 10 * MICROSECOND).await;
                assert_eq!(third.map(|e| e.user), Ok(2), "at the end of the time");
                gni.cq_interrupt_mask(queues[1]).expect("blocking");
                let begin = gni.now();
                let last = gni.cq_wait_event_for(queues[1], 30 * MICROSECOND).await;
                assert_eq!(last.map(|e| e.user), Ok(3));
                assert_eq!(
                    gni.now() - begin,
                    Microticks::of_milliticks(30 * MICROSECOND),
                    "and so for the last"
                );
                gni.cq_interrupt_unmask(queues[1]).expect("blocking");
            }
        })
    });
    let woken_us = outcome.measurements[&(4, 0)][0].value;
    assert!((31..34).contains(&woken_us), "{woken_us}");
    assert_eq!(outcome.counters[&4].interrupts, 1);
}

/// Each operation of a chain starts when those before it have ended, in every form; one event reports the end
/// of all.
#[test]
fn a_chain_goes_link_by_link() {
    run(&chassis(2), |gni| {
        Box::pin(async move {
            let ([here, _], [memory, second]) = two(&gni, [QueueMode::Polled; 2]);
            let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 3 + 1) as u8).collect();
            if gni.node() == 0 {
                gni.store(AT, &bytes);
                let add = PostKind::Amo(Amo::new(AmoKind::Add), [5, 0]);
                let posts = [
                    Post::new(PostKind::FmaPut, AT, AT + 1024, memory, 1000),
                    Post::new(add, 0, AT + 4096, second, 8),
                    Post::new(PostKind::FmaGet, AT + 2048, AT + 4096, second, 8),
                    Post::new(PostKind::CqWrite(77), 0, AT, memory, 0),
                ];
                let to = Endpoint::new(4, 0);
                assert_eq!(gni.post_chain(to, &[], Some(here), 9).await, Err(Refusal::InvalidParam));
                let block = Post::new(PostKind::RdmaPut, AT, AT, memory, 8);
                assert_eq!(gni.post_chain(to, &[block], Some(here), 9).await, Err(Refusal::InvalidParam));
                gni.post_chain(to, &posts, Some(here), 9).await.expect("possible");
                let event = gni.cq_wait_event(here).await.expect("it comes");
                assert_eq!((event.user, event.bytes), (9, 1016));
                // The get came after the addition had been done.
                assert_eq!(gni.load_word(AT + 2048), 5);
            } else if gni.node() == 4 {
                assert_eq!(gni.cq_wait_event(here).await.map(|e| e.user), Ok(77));
                assert_eq!(gni.load(AT + 1024, 1000), bytes);
                assert_eq!(gni.load_word(AT + 4096), 5);
            }
        })
    });
}
