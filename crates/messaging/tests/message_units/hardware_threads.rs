//! Two hardware threads of a task that use the same context.

use crate::units;

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_messaging::config::PamiConfig;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{Arrival, PamiDevice};
use netloom_messaging::pami::message_unit::UnitContext;
use netloom_messaging::pami::message_unit::memory::ProcessMemory;
use netloom_messaging::pami::packet::{Head, Kind};
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::{self, Spi};
use netloom_nic::message_unit::NETWORK_FIFOS;
use netloom_node::process::Wait;
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex};

const MESSAGES: u32 = 20;

/// Process 0 of node 1 sends packets to node 0, where process 0 takes them and process 1 notes what has
/// happened, as a thread of the same task that is resumed in between does.
#[test]
fn a_packet_is_not_lost_while_another_thread_collects() {
    let (network, unit) = (units::network(&[2], false), units::unit());
    let outline = network.outline();
    let placement = Arc::new(Placement { nodes: vec![0, 1], processes: 1, tasks: 2 });
    let context: Arc<Mutex<Option<UnitContext>>> = Arc::default();
    let got = Arc::new(Mutex::new(0));
    let program = {
        let (context, got) = (Arc::clone(&context), Arc::clone(&got));
        move |spi: Spi| {
            let (placement, context, got) = (Arc::clone(&placement), Arc::clone(&context), Arc::clone(&got));
            async move {
                let make = |task| {
                    let device = spi.device().clone();
                    let memory = Arc::new(Mutex::new(ProcessMemory::new(device.clone(), None)));
                    let costs = Costs::new(&PamiConfig::default(), 8_000_000_000);
                    UnitContext::new(device, &placement, &memory, costs, endpoint(task))
                };
                match (spi.node(), spi.process()) {
                    (0, 0) => {
                        *context.lock().unwrap() = Some(make(0));
                        while *got.lock().unwrap() < MESSAGES {
                            let watches = context.lock().unwrap().as_ref().unwrap().watches();
                            spi.core().thread().wait(Wait::for_any(watches));
                            with(&context, 0, UnitContext::take);
                            spi.core().done().await;
                            let arrived = with(&context, 0, |context| {
                                context.collect();
                                let mut packets = 0;
                                while let Some(arrival) = context.poll() {
                                    if matches!(arrival, Arrival::Packet(..)) {
                                        context.release();
                                        packets += 1;
                                    }
                                }
                                packets
                            });
                            *got.lock().unwrap() += arrived;
                        }
                    }
                    (0, _) => {
                        // Less than a packet takes from its poll until it is found.
                        while *got.lock().unwrap() < MESSAGES {
                            spi.core().spend(Microticks::of_ticks(50)).await;
                            if spi.now() > LIMIT_TICKS {
                                return;
                            }
                            with(&context, 1, UnitContext::collect);
                        }
                    }
                    (_, 0) => {
                        let mut context = make(1);
                        for _ in 0..MESSAGES {
                            let head = Head::new(Kind::Immediate, 1, 0, endpoint(1));
                            context.inject(endpoint(0), head, [&[1, 2, 3], &[]]).expect("space");
                            spi.core().spend(Microticks::of_ticks(5000)).await;
                        }
                    }
                    _ => {}
                }
            }
        }
    };
    let options = BuildOptions { injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
    let mut machine = QueuedNetwork::new(&network, &options, |nodes| {
        spi::units(&unit, &outline, nodes, 2, 1, program.clone())
    })
    .expect("buildable");
    assert_eq!(machine.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
    assert_eq!(units::failures(&mut machine), Vec::<String>::new());
    assert_eq!(*got.lock().unwrap(), MESSAGES);
}

/// Long after the last packet.
const LIMIT_TICKS: u64 = 1_000_000;

fn endpoint(task: u32) -> Endpoint {
    Endpoint::new(task, 0).expect("few tasks")
}

/// Uses the context as a hardware thread.
fn with<T>(context: &Mutex<Option<UnitContext>>, process: u8, f: impl FnOnce(&mut UnitContext) -> T) -> T {
    let mut context = context.lock().unwrap();
    let context = context.as_mut().expect("the first thread made it");
    context.run_as(process);
    f(context)
}
