//! DMAPP: puts, gets and atomic operations between processes of many nodes, explicit, implicit and blocking; its heap and collectives.

use crate::machine::{COOKIE, Machine, PTAG, chassis, run};
use netloom_nic::aries::address::PageSize;
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_nic::aries::collective::Reduction;
use netloom_nic::aries::dmapp::{Dmapp, HEAP, Pset};
use netloom_nic::aries::gni::Gni;
use netloom_nic::aries::status::{Refusal, Status};

async fn everything(gni: Gni) {
    let mut d = Dmapp::init(gni, PTAG, COOKIE, 1 << 22, PageSize::HUGE).await.expect("of the job");
    let (me, all) = d.job_info();
    let (next, before) = ((me + 1) % all, (me + all - 1) % all);
    // The same calls, the same addresses.
    let a = d.sheap_malloc(10_000).expect("room");
    let b = d.sheap_malloc(10_000).expect("room");
    let own = d.sheap_malloc(20_000).expect("room");
    assert_eq!(a, HEAP);
    let pattern = |pe: u32, n: usize| (0..n).map(|i| (i as u32 * 7 + pe) as u8).collect::<Vec<u8>>();
    d.gni().store(own, &pattern(me, 10_000));
    // Long and short, of each way.
    assert_eq!(d.put(a, next, own, 10_000).await, Ok(Status::Success));
    let id = d.put_nb(b, next, own, 100).await.expect("possible");
    d.put_nbi(b + 128, next, own + 8, 8).await.expect("possible");
    d.put_nbi(b + 256, next, own, 5000).await.expect("possible");
    d.iput_nbi((b + 6000, 2), next, (own, 1), 10).await.expect("possible");
    d.ixput_nbi(b + 7000, next, own, &[5, 0, 3]).await.expect("possible");
    assert_eq!(d.syncid_wait(id).await, Ok(Status::Success));
    assert_eq!(d.gsync_wait().await, Ok(Status::Success));
    let (theirs, gni) = (pattern(before, 10_000), d.gni().clone());
    gni.wait_memory(a, 10_000, |m| m == theirs).await;
    gni.wait_memory(b, 100, |m| m == &theirs[..100]).await;
    gni.wait_memory(b + 128, 8, |m| m == &theirs[8..16]).await;
    gni.wait_memory(b + 256, 5000, |m| m == &theirs[..5000]).await;
    gni.wait_memory(b + 6000 + 144, 8, |m| m == &theirs[72..80]).await;
    gni.wait_memory(b + 7000 + 24, 8, |m| m == &theirs[16..24]).await;
    // Back, from who put it there.
    assert_eq!(d.get(own + 10_000, a, next, 8000).await, Ok(Status::Success));
    assert_eq!(gni.load(own + 10_000, 8000), pattern(me, 8000));
    d.gather_ixpe_nbi(own + 18_000, a, &[next, me], 8).await.expect("possible");
    d.gsync_wait().await.expect("it ends");
    gni.wait_memory(own + 18_000, 16, |m| m[..8] == pattern(me, 8) && m[8..] == theirs[..8]).await;
    // Everybody takes a ticket of process 0.
    let tickets = d.sheap_malloc(64).expect("room");
    let take = Amo::new(AmoKind::Add).fetching();
    assert_eq!(d.amo(take, tickets, 0, [1, 0], own).await, Ok(Status::Success));
    gni.note(0, gni.load_word(own));
    let id = d.amo_nb(Amo::new(AmoKind::Or), tickets + 8, 0, [1, 0], own).await.expect("possible");
    while d.syncid_test(id).await.expect("no event is lost").is_none() {}
    assert_eq!(d.put(a, all, own, 8).await, Err(Refusal::InvalidParam));
    assert_eq!(d.put(HEAP + (1 << 22), next, own, 8).await, Ok(Status::OutOfBounds));
    // The heap comes together again.
    let longer = d.sheap_realloc(b, 12_000).expect("room");
    assert_eq!(gni.load(longer, 100), theirs[..100]);
    for piece in [a, longer, own, tickets] {
        d.sheap_free(piece).expect("allocated");
    }
    assert_eq!(d.sheap_free(a), Err(Refusal::InvalidParam));
    assert_eq!(d.sheap_malloc(1 << 22), Ok(HEAP));
    if gni.processes() == 1 {
        let pset = Pset::create(&d, 2, 4).expect("possible");
        pset.barrier_join().await.expect("free");
        assert_eq!(pset.barrier_join().await, Err(Refusal::ErrorResource));
        pset.wait().await.expect("it ends");
        pset.greduce_start(Reduction::Add, false, [u64::from(me), 0]).await.expect("free");
        assert_eq!(pset.wait().await.map(|r| r.0[0]), Ok(u64::from(all * (all - 1) / 2)));
    }
}

#[test]
fn processes_reach_one_another() {
    for processes in [1, 3] {
        let machine = Machine { processes, ..chassis(2) };
        let outcome = run(&machine, |gni| Box::pin(everything(gni)));
        let mut tickets: Vec<u64> = outcome.notes.values().flatten().map(|n| n.microticks).collect();
        tickets.sort_unstable();
        assert_eq!(tickets, (0..u64::from(8 * processes)).collect::<Vec<_>>());
    }
}
