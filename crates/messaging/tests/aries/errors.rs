//! Errors as reported to system software, and freed resources.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_messaging::gni::{Endpoint, ErrorKind, ErrorMask, Gni, MemOptions, Post, PostKind, Resources};
use netloom_nic::aries::status::{Refusal, Status};

const AT: u64 = 0x10_0000;
const MICROSECOND: u64 = 875_000;

/// Node 0 puts beyond the end of node 4's memory, and to node 7, which is dead.
async fn put_wrongly(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 4096, MemOptions::default()).expect("free");
    if gni.node() == 0 {
        let queue = gni.cq_create(128);
        let timeouts = ErrorMask { timeouts: true, refused: false, damaged: false };
        let errors = gni.subscribe_errors(timeouts);
        for (node, count, expected) in [(4, 70, Status::OutOfBounds), (7, 1, Status::Timeout)] {
            for _ in 0..count {
                let post = Post::new(PostKind::FmaPut, AT, AT + 4096, memory, 8);
                let post = Post { queue: Some(queue), ..post };
                gni.post_fma(Endpoint::new(node, 0), post).await.expect("possible");
                assert_eq!(gni.cq_wait_event(queue).await.map(|e| e.status), Ok(expected));
            }
        }
        let event = gni.wait_error_event(errors, None).await.expect("it was reported");
        assert_eq!((event.kind, event.from), (ErrorKind::Timeout, None));
        assert_eq!(
            gni.get_error_event(errors).await,
            Err(Refusal::NotDone),
            "what it did wrong itself is not"
        );
        gni.set_error_mask(errors, ErrorMask::ALL).expect("its own");
        assert_eq!(gni.error_mask(errors), Ok(ErrorMask::ALL));
        gni.release_errors(errors).expect("its own");
        assert_eq!(gni.release_errors(errors), Err(Refusal::InvalidParam));
    } else if gni.node() == 4 {
        let errors = gni.subscribe_errors(ErrorMask::ALL);
        let others = gni.subscribe_errors(ErrorMask { refused: false, ..ErrorMask::ALL });
        let first = gni.wait_error_event(errors, None).await.expect("it comes");
        assert_eq!((first.kind, first.from), (ErrorKind::Refused(Status::OutOfBounds), Some(0)));
        // An interrupt and a system call later.
        assert_eq!((gni.now() - first.at).ticks(), (875 + 437));
        gni.compute_milliticks(500 * MICROSECOND).await;
        let mut more = 0;
        let end = loop {
            match gni.get_error_event(errors).await {
                Ok(_) => more += 1,
                Err(refusal) => break refusal,
            }
        };
        assert_eq!((more, end), (64, Refusal::Overrun), "the queue keeps 64");
        assert_eq!(gni.get_error_event(others).await, Err(Refusal::NotDone));
    }
}

#[test]
fn errors_are_reported_to_system_software() {
    let mut machine = Machine { dead: vec![7], ..chassis(2) };
    machine.nic.timeout_milliticks = 200 * MICROSECOND;
    run(&machine, |gni| Box::pin(put_wrongly(gni)));
}

#[test]
fn who_signs_off_gives_all_back() {
    run(&chassis(2), |gni| {
        Box::pin(async move {
            gni.cdm_attach(PTAG, COOKIE).expect("of the job");
            gni.mem_register(AT, 4096, MemOptions::default()).expect("free");
            let queue = gni.cq_create(4);
            assert_eq!(gni.resources(), Resources { descriptors: 1, segments: 1, queues: 1 });
            assert_eq!(gni.ce_destroy(0), Err(Refusal::InvalidParam), "it has no tree");
            gni.cdm_destroy().expect("signed on");
            assert_eq!(gni.resources(), Resources { descriptors: 0, segments: 0, queues: 0 });
            assert_eq!(gni.cq_get_event(queue).await, Err(Refusal::InvalidParam));
            assert_eq!(gni.cdm_destroy(), Err(Refusal::Permission));
        })
    });
}
