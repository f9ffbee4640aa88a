//! Collectives of a transport that has some: it carries out what it offers, and messages do the rest.

use netloom_mpi::collective::{self, Combine, Operation};
use netloom_mpi::datatype::{PREDEFINED, Predefined};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::{Group, Members};
use netloom_mpi::matching::{Envelope, Pattern};
use netloom_mpi::op::{Op, reduce};
use netloom_mpi::point_to_point::PointToPoint;
use netloom_mpi::transport::{Collective, Memory, Outcome, Process, Refused, Team, Transport};
use netloom_mpi::waits::{Begun, Pending, Sent, Stage};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

const RANKS: u32 = 3;
const TEAM: Team = 7;

/// A message: sender, receiver, and what it is.
type Message = (Process, Process, Envelope, Vec<u8>);

/// What is under way: messages, and collectives that not all have started.
#[derive(Default)]
struct Network {
    messages: RefCell<Vec<Message>>,
    sums: RefCell<Vec<(Process, u64, Memory, bool)>>,
    /// Collectives that it has carried out.
    carried_out: Cell<u32>,
}

struct Port {
    own: Process,
    network: Rc<Network>,
}

fn bytes_of<'a>(memory: Memory) -> &'a mut [u8] {
    // SAFETY: the tests keep what they give until it is used.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts_mut(memory.address as *mut u8, memory.bytes as usize)
    }
}

impl Transport for Port {
    fn processes(&self) -> u32 {
        RANKS
    }
    fn own(&self) -> Process {
        self.own
    }
    fn short_max_bytes(&self) -> usize {
        usize::MAX
    }
    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused> {
        let data = if data.bytes == 0 { vec![] } else { bytes_of(data).to_vec() };
        self.network.messages.borrow_mut().push((self.own, to, envelope, data));
        Ok(())
    }
    fn send(&self, _: Process, _: Envelope, _: Memory, _: u64) -> Result<(), Refused> {
        Err(Refused("all messages are short".into()))
    }
    fn start_collective(
        &self,
        team: Team,
        collective: &Collective,
        is_blocking: bool,
        number: u64,
    ) -> Result<bool, Refused> {
        assert_eq!(team, TEAM);
        match *collective {
            Collective::Reduce { data, op: Op::Sum, of, root } if of.name == "DOUBLE" && is_blocking => {
                let is_wanted = root.is_none_or(|root| root == self.own);
                self.network.sums.borrow_mut().push((self.own, number, data, is_wanted));
                Ok(true)
            }
            Collective::Barrier if !is_blocking => Err(Refused("the cable is out".into())),
            _ => Ok(false),
        }
    }
    fn advance(&self) {}
    fn poll(&self) {}
    fn call(&self) -> Option<&'static str> {
        Some("MPI_Allreduce")
    }
    fn store(&self, bytes: &[u8], to: u64) {
        bytes_of(Memory { address: to, bytes: bytes.len() as u64 }).copy_from_slice(bytes);
    }
}

struct Predefine(Op, &'static Predefined);

impl Combine for Predefine {
    fn combine(&self, first: &mut [u8], second: &[u8]) -> Result<(), Error> {
        assert!(reduce(self.0, self.1, first, second));
        Ok(())
    }
    fn predefined(&self) -> Option<(Op, &'static Predefined)> {
        Some((self.0, self.1))
    }
}

fn named(name: &str) -> &'static Predefined {
    PREDEFINED.iter().find(|of| of.name == name).expect("it is there")
}

struct Job {
    network: Rc<Network>,
    ranks: Vec<Rc<PointToPoint<Port>>>,
}

impl Job {
    fn new() -> Self {
        let network = Rc::new(Network::default());
        let rank = |own| Rc::new(PointToPoint::new(Port { own, network: Rc::clone(&network) }));
        Job { ranks: (0..RANKS).map(rank).collect(), network }
    }

    fn operation(&self, rank: u32) -> Operation<Port> {
        let group = Group { members: Members::World, rank, size: RANKS, context: 4 };
        Operation::new(Rc::clone(&self.ranks[rank as usize]), group, 1).of_team(Some(TEAM))
    }

    /// Carries out a sum that all have started, and delivers all messages.
    fn deliver(&self, outcome: Outcome) {
        for (from, to, envelope, data) in self.network.messages.take() {
            self.ranks[to as usize].arrived(from, envelope, &data);
        }
        if self.network.sums.borrow().len() < RANKS as usize {
            return;
        }
        let sums = self.network.sums.take();
        let mut total = bytes_of(sums[0].2).to_vec();
        for sum in &sums[1..] {
            assert!(reduce(Op::Sum, named("DOUBLE"), &mut total, bytes_of(sum.2)));
        }
        for (rank, number, data, is_wanted) in sums {
            if is_wanted {
                bytes_of(data).copy_from_slice(&total);
            }
            self.ranks[rank as usize].collected(number, outcome);
        }
        self.network.carried_out.set(self.network.carried_out.get() + 1);
    }

    fn run<'a>(
        &self,
        outcome: Outcome,
        is_blocking: bool,
        program: impl Fn(u32) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
    ) {
        let mut list: Vec<_> = (0..RANKS).map(|rank| Some(program(rank))).collect();
        for _ in 0..100 {
            for (rank, future) in self.ranks.iter().zip(&mut list) {
                rank.set_blocking(is_blocking);
                if let Some(running) = future
                    && let Poll::Ready(()) = running.as_mut().poll(&mut Context::from_waker(Waker::noop()))
                {
                    *future = None;
                }
            }
            self.deliver(outcome);
        }
        assert!(list.iter().all(Option::is_none), "all wait for ever");
    }
}

#[test]
fn a_transport_carries_out_what_it_offers_and_messages_do_the_rest() {
    let job = &Job::new();
    // Only the first is one that it carries out.
    for (is_blocking, op, name) in [
        (true, Op::Sum, "DOUBLE"),
        (false, Op::Sum, "DOUBLE"),
        (true, Op::Sum, "INT64_T"),
        (true, Op::Max, "DOUBLE"),
    ] {
        let combine = &Predefine(op, named(name));
        let operand = |rank: u32| match name {
            "DOUBLE" => f64::from(rank + 1).to_ne_bytes(),
            _ => u64::from(rank + 1).to_ne_bytes(),
        };
        let mut expected = operand(0);
        for rank in 1..RANKS {
            combine.combine(&mut expected, &operand(rank)).unwrap();
        }
        job.run(Outcome::Done, is_blocking, |rank| {
            Box::pin(async move {
                let mut data = operand(rank);
                collective::all_reduce(&job.operation(rank), &mut data, combine).await.unwrap();
                assert_eq!(data, expected, "{name}");
            })
        });
        job.run(Outcome::Done, is_blocking, |rank| {
            Box::pin(async move {
                let mut data = operand(rank);
                collective::reduce(&job.operation(rank), &mut data, 1, combine).await.unwrap();
                assert!(rank != 1 || data == expected, "{name}");
            })
        });
        assert_eq!(job.network.carried_out.get(), 2, "{name}");
    }
    job.run(Outcome::Done, true, |rank| {
        Box::pin(async move {
            collective::barrier(job.operation(rank)).await.unwrap();
            let mut data = [rank as u8; 5];
            collective::broadcast(&job.operation(rank), &mut data, 2).await.unwrap();
            assert_eq!(data, [2; 5]);
        })
    });
}

#[test]
fn how_a_collective_of_the_transport_ends_is_told_and_for_what_it_waits() {
    let job = &Job::new();
    for (outcome, class) in
        [(Outcome::LengthsDiffer, Class::Truncate), (Outcome::MemberGone, Class::ProcAborted)]
    {
        job.run(outcome, true, |rank| {
            Box::pin(async move {
                let mut data = [0; 8];
                let combine = Predefine(Op::Sum, named("DOUBLE"));
                let end = collective::all_reduce(&job.operation(rank), &mut data, &combine).await;
                assert_eq!(end.unwrap_err().class, class);
            })
        });
    }
    job.run(Outcome::Done, false, |rank| {
        Box::pin(async move {
            let refused = collective::barrier(job.operation(rank)).await.unwrap_err();
            assert_eq!((refused.class, &*refused.text), (Class::Other, "the cable is out"));
        })
    });
    let (mut data, combine) = ([0; 8], Predefine(Op::Sum, named("DOUBLE")));
    let operation = job.operation(0);
    let mut waits = Box::pin(collective::all_reduce(&operation, &mut data, &combine));
    job.ranks[0].set_blocking(true);
    assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let pending = job.ranks[0].pending(false);
    assert_eq!(pending, [Pending::Collective { context: 4, number: 1, from: None }]);
    let begun = Begun { number: 1, call: "MPI_Allreduce".into(), root: None, bytes: Some(8) };
    assert_eq!(job.ranks[0].begun(4), (1, vec![begun]));
    job.ranks[0].forget_collectives(4);
    assert_eq!(job.ranks[0].begun(4), (0, vec![]));
}

#[test]
fn a_synchronous_send_says_for_whose_receive_it_waits() {
    let job = Job::new();
    let nothing = Memory { address: 0, bytes: 0 };
    let envelope = Envelope { context: 4, source: 0, tag: 8, bytes: 0, acknowledge: 0 };
    let number = job.ranks[0].send_synchronous(1, envelope, nothing).unwrap();
    let sent = Sent { to: 1, context: 4, tag: 8, bytes: 0 };
    assert_eq!(job.ranks[0].pending(false), [Pending::Send { sent, stage: Stage::Unmatched }]);
    // The receiver answers, in the context that is for answers.
    let answer = Envelope { context: u32::MAX, acknowledge: number + 1, ..envelope };
    job.ranks[0].arrived(1, answer, &[]);
    assert_eq!(job.ranks[0].pending(false), []);
}

#[test]
fn a_probe_says_for_what_it_looked_in_vain() {
    let rank = &Job::new().ranks[1];
    assert_eq!(rank.pending(true), []);
    let pattern = Pattern { context: 4, source: 0, tag: 8 };
    assert_eq!(rank.probe(&pattern), None);
    assert_eq!(rank.pending(true), [Pending::Probe(pattern)]);
    assert_eq!(rank.pending(false), []);
    rank.arrived(0, Envelope { context: 4, source: 0, tag: 8, bytes: 0, acknowledge: 0 }, &[]);
    assert!(rank.probe(&pattern).is_some());
    assert_eq!(rank.pending(true), [Pending::Unexpected { from: 0, of: pattern, bytes: 0 }]);
}
