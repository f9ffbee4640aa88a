//! The collective engine: sums, minima with identifiers, and barriers over trees.

use crate::machine::{COOKIE, PTAG, chassis, ns, run};
use netloom_messaging::gni::Gni;
use netloom_nic::aries::EventKind;
use netloom_nic::aries::collective::{ENGINES, Reduction, Tree};
use netloom_nic::aries::status::{Refusal, Status};

async fn reduce(gni: Gni, radix: u32) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let (place, places) = (gni.place(), gni.job().nodes());
    let queue = gni.cq_create(64);
    for engine in 0..ENGINES as u8 {
        gni.ce_configure(engine, Tree::regular(place, places, radix, engine, queue)).expect("possible");
    }
    assert_eq!(gni.ce_configure(ENGINES as u8, Tree::default()), Err(Refusal::InvalidParam));
    let n = u64::from(places);
    let own = u64::from(place);
    let float = |x: f64| [x.to_bits(), own];
    let rounds = [
        (Reduction::Add, [own, 0], n * (n - 1) / 2, None),
        (Reduction::FloatAdd, float(own as f64 + 0.5), (n as f64 * n as f64 / 2.0).to_bits(), None),
        (Reduction::FloatMin, float((own as f64 - 5.0).abs()), 0f64.to_bits(), Some(5)),
        (Reduction::Max, [own ^ 1, own], n - 1, Some(n - 2)),
        (Reduction::Or, [1 << own, 0], (1 << n) - 1, None),
        (Reduction::And, [1, 0], 1, None),
    ];
    for (i, (operation, value, result, who)) in rounds.into_iter().enumerate() {
        let engine = (i % ENGINES) as u8;
        let begin = gni.now();
        gni.ce_join(engine, operation, false, value).await.expect("possible");
        assert_eq!(gni.ce_join(engine, operation, false, value).await, Err(Refusal::ErrorResource));
        assert_eq!(gni.ce_result(engine), Err(Refusal::NotDone));
        let event = gni.cq_wait_event(queue).await.expect("it came");
        assert_eq!((event.kind, event.user), (EventKind::Collective, engine.into()));
        let ([value, place], status) = gni.ce_result(engine).expect("it has ended");
        assert_eq!((value, status), (result, Status::Success), "{operation:?}");
        assert!(who.is_none_or(|who| who == place), "{operation:?} {place}");
        gni.measure(0, gni.now() - begin);
    }
    assert_eq!(gni.ce_join(0, Reduction::Product, false, [2, 0]).await, Err(Refusal::IllegalOp));
}

#[test]
fn reductions_come_to_what_they_should() {
    for radix in [2, 4, 32] {
        let outcome = run(&chassis(8), |gni| Box::pin(reduce(gni, radix)));
        println!("radix {radix}: {:.0?} ns", ns(&outcome, 0, 0, 0));
    }
}

/// Four at the same time: each engine has an operation in progress.
async fn at_once(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let (place, places) = (gni.place(), gni.job().nodes());
    let queue = gni.cq_create(64);
    for engine in 0..ENGINES as u8 {
        gni.ce_configure(engine, Tree::regular(place, places, 3, engine, queue)).expect("possible");
        gni.ce_join(engine, Reduction::Add, true, [engine.into(), 0]).await.expect("free");
    }
    for _ in 0..ENGINES {
        gni.cq_wait_event(queue).await.expect("it came");
    }
    for engine in 0..ENGINES as u8 {
        let (value, _) = gni.ce_result(engine).expect("it has ended");
        assert_eq!(value[0], u64::from(engine) * u64::from(places));
    }
}

#[test]
fn four_engines_work_at_once() {
    run(&chassis(4), |gni| Box::pin(at_once(gni)));
}
