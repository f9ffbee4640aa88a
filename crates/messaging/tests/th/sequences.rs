//! Sequences of descriptors triggered by control packets: barriers, broadcasts and sums that only the first
//! program starts.

use crate::machine::{AT, KEY, Outcome, bytes, port, run, run_on};
use netloom_messaging::glex::Glex;
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::status::{Refusal, Status};
use netloom_nic::th::{Address, Options, Reduction, Request, Submission, Swap, swap_address};

const NODES: u32 = 64;
const CHILDREN: u32 = 4;
const DATA: Swap = Swap { address: false, port: false, data: true };

/// Parent and children in a tree of all nodes.
fn tree(node: u32, ep: u8) -> (Address, Vec<Address>) {
    let children = (CHILDREN * node + 1..=CHILDREN * node + CHILDREN).filter(|&n| n < NODES);
    (port(node.saturating_sub(1) / CHILDREN, ep), children.map(|n| port(n, ep)).collect())
}

fn endpoint(glex: &Glex, submission: Submission) -> u8 {
    let ep = glex.create_endpoint(submission, KEY, 64).expect("free");
    glex.register(ep, AT, 1 << 20, true).expect("free");
    ep
}

fn event(user: u32) -> Options {
    Options { local_event: Some(user), ..Options::default() }
}

/// Twice: up the tree and down again. No node leaves before the last has entered.
async fn barriers(glex: Glex, submission: Submission) {
    let ep = endpoint(&glex, submission);
    let (parent, children) = tree(glex.node(), ep);
    let count = children.len() as u32;
    for round in 0..2 {
        glex.compute_milliticks(u64::from((glex.node() * 37 + round * 11) % 50) * 100_000).await;
        glex.measure(2 * u64::from(round), glex.now());
        let reported = Request::nothing().with(event(round));
        let list = match (glex.node(), count) {
            (0, _) => vec![Request::control(&children, &[]).after(count), reported],
            (_, 0) => vec![Request::control(&[parent], &[]), reported.after(1)],
            _ => vec![
                Request::control(&[parent], &[]).after(count),
                Request::control(&children, &[]).after(1),
                reported,
            ],
        };
        glex.post_list(ep, list).await.expect("possible");
        assert_eq!(glex.wait_event(ep).await.map(|e| e.user), Ok(round));
        glex.measure(2 * u64::from(round) + 1, glex.now());
    }
}

#[test]
fn no_rank_leaves_a_barrier_before_the_last_has_entered() {
    for submission in [Submission::Pio, Submission::Dma] {
        let outcome = run(&ThConfig::th_express_2(), |glex| Box::pin(barriers(glex, submission)));
        let times = |outcome: &Outcome, of: u64| -> Vec<u64> {
            let measurements = outcome.measurements.values().flatten();
            measurements.filter(|note| note.key == of).map(|note| note.value).collect()
        };
        for round in 0..2 {
            let (came, left) = (times(&outcome, 2 * round), times(&outcome, 2 * round + 1));
            assert!(left.len() == NODES as usize && came.iter().max() < left.iter().min());
        }
    }
}

/// Data in the control packet itself, which each NIC forwards.
async fn small_broadcast(glex: Glex) {
    let ep = endpoint(&glex, Submission::Dma);
    let (_, children) = tree(glex.node(), ep);
    let data = bytes(200);
    if glex.node() == 0 {
        return glex.post(ep, Request::control(&children, &data)).await.expect("possible");
    }
    let deliver = Request::deliver(&[]).swap(DATA);
    let list = match children.is_empty() {
        true => vec![deliver.after(1)],
        false => vec![Request::control(&children, &[]).after(1).swap(DATA), deliver],
    };
    glex.post_list(ep, list).await.expect("possible");
    assert_eq!(glex.wait_mini_packet(ep).await.map(|mini| mini.data), Ok(data));
}

/// Data of any length, which each NIC gets from its parent and then announces to its children.
async fn large_broadcast(glex: Glex) {
    let ep = endpoint(&glex, Submission::Dma);
    let (_, children) = tree(glex.node(), ep);
    let data = bytes(30_000);
    // Each has it at a different address, which only a swap can provide.
    let mine = AT + 0x1000 * u64::from(glex.node());
    let here = swap_address(mine, glex.address(ep).expect("its own"));
    if glex.node() == 0 {
        glex.store(mine, &data);
        return glex.post(ep, Request::control(&children, &here)).await.expect("possible");
    }
    let no_port = Address { key: KEY + 1, ..port(glex.node() ^ 1, ep) };
    let swap = Swap { address: true, port: true, data: false };
    let get = Request::get(no_port, (mine, 0, data.len() as u64)).with(event(9)).after(1).swap(swap);
    let mut list = vec![get];
    if !children.is_empty() {
        let fence = Options { fence: true, ..Options::default() };
        list.push(Request::control(&children, &here).with(fence));
    }
    glex.post_list(ep, list).await.expect("possible");
    assert_eq!(glex.wait_event(ep).await.map(|e| (e.user, e.status)), Ok((9, Status::Success)));
    assert_eq!(glex.load(mine, data.len()), data);
}

/// A sum up the tree, and its result down the tree.
async fn sum(glex: Glex) {
    let ep = endpoint(&glex, Submission::Dma);
    let (parent, children) = tree(glex.node(), ep);
    let count = children.len() as u32;
    let mine: Vec<u8> = (1..=6).flat_map(|n| (n * u64::from(glex.node() + 1)).to_le_bytes()).collect();
    let up = |to: &[Address]| Request::control(to, &mine).after(count).reduce(Reduction::Sum);
    let deliver = Request::deliver(&[]).swap(DATA);
    let list = match (glex.node(), count) {
        (0, _) => vec![up(&children), deliver],
        (_, 0) => vec![up(&[parent]), deliver.after(1)],
        _ => vec![up(&[parent]), Request::control(&children, &[]).after(1).swap(DATA), deliver],
    };
    glex.post_list(ep, list).await.expect("possible");
    let expected: Vec<u8> =
        (1..=6).flat_map(|n| (n * u64::from(NODES * (NODES + 1) / 2)).to_le_bytes()).collect();
    assert_eq!(glex.wait_mini_packet(ep).await.map(|mini| mini.data), Ok(expected));
}

#[test]
fn broadcasts_and_sums_move_their_data_whatever_the_blocks() {
    for which in 0..3 {
        let outcome = |block, threads| {
            run_on(&ThConfig::th_express_2(), block, threads, move |glex| match which {
                0 => Box::pin(small_broadcast(glex)),
                1 => Box::pin(large_broadcast(glex)),
                _ => Box::pin(sum(glex)),
            })
        };
        let expected = outcome(15, 1);
        assert!(expected.counters.values().all(|c| c.errors + c.overflows == 0));
        assert!(outcome(5, 2) == expected);
    }
}

/// Control packets before their sequence are buffered; those without space are lost, and a connection reports
/// it.
#[test]
fn a_port_keeps_so_many_control_packets() {
    let nic = ThConfig { control_packets: 4, ..ThConfig::th_express_2() };
    let outcome = run(&nic, |glex: Glex| {
        Box::pin(async move {
            let ep = endpoint(&glex, Submission::Pio);
            if glex.node() == 0 {
                let options = Options { connect: true, ..event(0) };
                for n in 0..6u8 {
                    glex.send_control(ep, port(1, ep), &[n], options).await.expect("possible");
                    let expected = if n < 4 { Status::Success } else { Status::QueueFull };
                    assert_eq!(glex.wait_event(ep).await.map(|e| e.status), Ok(expected));
                    let failed = glex.poll_failed(ep).await.map(|f| (f.to.node, f.status, f.event));
                    assert_eq!(failed, if n < 4 { Err(Refusal::Empty) } else { Ok((1, expected, Some(0))) });
                }
            } else if glex.node() == 1 {
                glex.compute_milliticks(100_000_000).await;
                let never = Request::nothing().after(5);
                assert_eq!(glex.post(ep, never).await, Err(Refusal::Invalid));
                let deliver = Request::deliver(&[]).swap(DATA);
                glex.post_list(ep, vec![deliver.clone().after(3), deliver.after(1)]).await.expect("possible");
                for last in [2, 3] {
                    assert_eq!(glex.wait_mini_packet(ep).await.map(|mini| mini.data), Ok(vec![last]));
                }
            }
        })
    });
    assert_eq!(outcome.counters[&1].overflows, 2);
}
