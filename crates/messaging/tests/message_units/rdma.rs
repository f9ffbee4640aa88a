//! PAMI's puts and gets on Message Units: RDMA between neighbours, while the target's processor does
//! something else.

use crate::units;

use netloom_messaging::config::PamiConfig;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Event, Limits, Outcome, Pacing, Rma};
use netloom_messaging::pami::device::{PamiDevice, Piece, Range, Transfer};
use netloom_messaging::pami::task::Task as PamiTask;
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::Spi;
use netloom_node::time::Microticks;
use std::sync::Arc;
use units::{Measurements, Task, network, run, unit};

const TICKS_PER_NS: f64 = 8.0;
const MEBIBYTE: u64 = 1 << 20;
/// Longer than any transfer here.
const LONG_NS: f64 = 2e6;

fn ticks(ns: f64) -> Microticks {
    Microticks::of_f64(ns * TICKS_PER_NS * 1e6)
}

/// A task on each of the first nodes.
fn task(spi: &Spi, tasks: u32, limits: Limits) -> Option<PamiTask> {
    let placement = Arc::new(Placement { nodes: (0..tasks).collect(), processes: 1, tasks });
    let config = PamiConfig { copy_GB_per_s: Some(8.0), ..PamiConfig::default() };
    let costs = Costs::new(&config, (TICKS_PER_NS * 1e9) as u64);
    placement.task(spi.node(), spi.process())?;
    Some(PamiTask::new(spi, &placement, costs, limits))
}

fn data(task: u32, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + u64::from(task)) as u8).collect()
}

fn rma(task: &mut PamiTask, way: Transfer, pieces: &[Piece], is_acknowledged: bool) {
    let with = Endpoint::new(1, 0).expect("few tasks");
    let rma = Rma {
        way,
        with,
        pieces,
        is_exposed: true,
        prefers_packets: false,
        cookie: way as u64,
        is_acknowledged,
    };
    task.context().rma(rma).expect("a valid transfer");
}

/// Waits for events until one is this.
async fn wait_for(task: &mut PamiTask, event: Event<()>) {
    while task.event().await != event {}
}

/// A time that the first task measured, ns.
fn measured(measurements: &Measurements, key: u64) -> f64 {
    measured_by(measurements, 0, key)
}

/// A time that the task of this node measured, ns.
fn measured_by(measurements: &Measurements, node: u32, key: u64) -> f64 {
    let own = &measurements.iter().find(|(n, _)| *n == node).expect("it measures").1;
    let value = own.iter().find(|measurement| measurement.key == key).expect("it was measured").value;
    value as f64 / 1e6 / TICKS_PER_NS
}

const GET: u64 = 0;
const SENT: u64 = 1;
const PUT: u64 = 2;
const AFTER_ALL: u64 = 9;

/// A mebibyte from the other task, and another to it, whose program computes meanwhile.
fn mebibytes(spi: Spi, limits: Limits) -> Task {
    Box::pin(async move {
        let Some(mut task) = task(&spi, 2, limits) else { return };
        let [ours, theirs, window] = [0; 3].map(|_| task.allocate(MEBIBYTE));
        let number = task.number();
        task.store(theirs.address, &data(number, MEBIBYTE));
        if number == 1 {
            task.context().device_mut().expose(window);
            task.compute(ticks(LONG_NS)).await;
            assert_eq!(task.load(window), data(0, MEBIBYTE), "the put's");
            return;
        }
        let begin = task.now();
        rma(&mut task, Transfer::Get, &[(ours, theirs.address)], false);
        wait_for(&mut task, Event::Received(Transfer::Get as u64, Outcome::Done)).await;
        task.measure(GET, task.now() - begin);
        assert_eq!(task.load(ours), data(1, MEBIBYTE), "the get's");
        let begin = task.now();
        rma(&mut task, Transfer::Put, &[(theirs, window.address)], true);
        wait_for(&mut task, Event::Sent(Transfer::Put as u64, Outcome::Done)).await;
        task.measure(SENT, task.now() - begin);
        task.store(theirs.address, &[0; MEBIBYTE as usize]);
        wait_for(&mut task, Event::Completed(Transfer::Put as u64, Outcome::Done)).await;
        task.measure(PUT, task.now() - begin);
    })
}

/// Packets of 512 B, a header of 32 B and 8 B of check bytes fill a link of 2 GB/s, with 12 ns between two.
#[test]
fn a_mebibyte_takes_as_long_as_its_packets() {
    let least_ns = (MEBIBYTE / 512) as f64 * ((512.0 + 32.0 + 8.0) / 2.0 + 12.0);
    let at_once = |spi| mebibytes(spi, Limits::default());
    let measurements = run(&network(&[4], false), &unit(), at_once, &[], 1).0;
    let [get, sent, put] = [GET, SENT, PUT].map(|key| measured(&measurements, key));
    for ns in [get, put] {
        assert!((1.0..1.01).contains(&(ns / least_ns)), "{ns} ns; at least {least_ns}");
    }
    let there_and_back = put - sent;
    assert!((500.0..3000.0).contains(&there_and_back), "the acknowledgement: {there_and_back} ns");
    // In pieces, with a pause between two until the first is known to have ended.
    let in_pieces = |spi| mebibytes(spi, Limits { piece_bytes: 1 << 16, ..Limits::default() });
    let measurements = run(&network(&[4], false), &unit(), in_pieces, &[], 1).0;
    let slower = [(GET, get), (PUT, put)].map(|(key, whole)| measured(&measurements, key) - whole);
    assert!(slower.iter().all(|ns| (0.0..15.0 * 3000.0).contains(ns)), "16 pieces: {slower:?} ns more");
}

/// A get from a neighbour in E comes over both links, a put goes over one. The data is checked.
#[test]
fn a_get_from_a_neighbour_in_e_takes_half_as_long() {
    let get_and_put = |dims: &[u32]| {
        let at_once = |spi| mebibytes(spi, Limits::default());
        let measurements = run(&network(dims, false), &unit(), at_once, &[], 1).0;
        [GET, PUT].map(|key| measured(&measurements, key))
    };
    let ([get, put], [get_in_e, put_in_e]) = (get_and_put(&[4]), get_and_put(&[1, 1, 1, 1, 2]));
    assert!((0.5..0.51).contains(&(get_in_e / get)), "{get_in_e} ns, {get}");
    assert!((0.99..1.01).contains(&(put_in_e / put)), "{put_in_e} ns, {put}");
}

/// A get from far away is read in parts: with enough of them on their way it takes as long as one; with one
/// at a time each waits for the one before it.
#[test]
fn paced_gets_have_only_so_much_on_its_way() {
    let get = |pacing| {
        let limits = Limits { pacing, ..Limits::default() };
        let measurements = run(&network(&[4], false), &unit(), move |spi| mebibytes(spi, limits), &[], 1).0;
        measured(&measurements, GET)
    };
    let pacing =
        Pacing { above_bytes: 65_536, hops: 0, dimensions: 9, part_bytes: 16_384, in_flight_bytes: 65_536 };
    let (whole, many) = (get(None), get(Some(pacing)));
    assert!((0.99..1.05).contains(&(many / whole)), "{many} ns in parts, {whole} ns at once");
    let one = get(Some(Pacing { in_flight_bytes: 16_384, ..pacing }));
    let pauses = (one - whole) / 64.0;
    assert!((500.0..3000.0).contains(&pauses), "{one} ns one by one, {whole} ns at once: {pauses} ns a part");
    // Near, or short.
    for other in [Pacing { hops: 1, ..pacing }, Pacing { above_bytes: 1 << 20, ..pacing }] {
        assert_eq!(get(Some(Pacing { in_flight_bytes: 16_384, ..other })), whole);
    }
}

/// More pieces than the FIFO of sends has descriptors, each way; the end of the puts is that of a fence.
fn many_pieces(spi: Spi) -> Task {
    const COUNT: u64 = 2500;
    Box::pin(async move {
        let Some(mut task) = task(&spi, 2, Limits::default()) else { return };
        let [ours, theirs, window] = [0; 3].map(|_| task.allocate(40 * COUNT));
        let number = task.number();
        let all = data(number, 40 * COUNT);
        task.store(theirs.address, &all);
        // 24 of each 40 bytes.
        let expected = |from: Vec<u8>| {
            let of = |(i, byte): (usize, u8)| if i % 40 < 24 { byte } else { 0 };
            from.into_iter().enumerate().map(of).collect::<Vec<u8>>()
        };
        let pieces = |local: Range, remote: Range| -> Vec<Piece> {
            (0..COUNT).map(|n| (local.part(40 * n, 24), remote.address + 40 * n)).collect()
        };
        if number == 1 {
            task.compute(ticks(LONG_NS)).await;
            assert_eq!(task.load(window), expected(data(0, 40 * COUNT)));
            return;
        }
        rma(&mut task, Transfer::Get, &pieces(ours, theirs), false);
        rma(&mut task, Transfer::Put, &pieces(theirs, window), false);
        task.context().fence(AFTER_ALL);
        wait_for(&mut task, Event::Sent(AFTER_ALL, Outcome::Done)).await;
        assert_eq!(task.load(ours), expected(data(1, 40 * COUNT)));
        task.measure(AFTER_ALL, task.now());
    })
}

#[test]
fn pieces_wait_for_room() {
    let measurements = run(&network(&[4], false), &unit(), many_pieces, &[], 1).0;
    let ns = measured(&measurements, AFTER_ALL);
    assert!(ns < LONG_NS / 2.0, "{ns} ns: before the target looks");
}

/// Nodes 0 and 2 write to node 1, which looks for their last bytes all the time.
fn writers(spi: Spi) -> Task {
    const BYTES: u64 = 100_000;
    Box::pin(async move {
        let Some(mut task) = task(&spi, 3, Limits::default()) else { return };
        let number = u64::from(task.number());
        let [own, window] = [BYTES, 3 * BYTES].map(|bytes| task.allocate(bytes));
        if number != 1 {
            task.store(own.address, &[1; BYTES as usize]);
            rma(&mut task, Transfer::Put, &[(own, window.address + number * BYTES)], true);
            wait_for(&mut task, Event::Completed(Transfer::Put as u64, Outcome::Done)).await;
            task.measure(number, task.now());
            return;
        }
        let mut missing = vec![0, 2];
        while !missing.is_empty() {
            task.compute(ticks(LOOK_NS)).await;
            let has_come = |writer: &mut u64| task.load(window.part((*writer + 1) * BYTES - 1, 1)) == [1];
            for writer in missing.extract_if(.., has_come) {
                task.measure(writer, task.now());
            }
        }
    })
}

const LOOK_NS: f64 = 20.0;

/// An acknowledgement does not overtake its put.
#[test]
fn puts_are_complete_when_they_are_acknowledged() {
    let measurements = run(&network(&[4], false), &unit(), writers, &[], 1).0;
    for writer in [0, 2] {
        let seen = measured_by(&measurements, 1, u64::from(writer)) - LOOK_NS;
        let completed = measured_by(&measurements, writer, u64::from(writer));
        // The way back is a packet's.
        assert!(
            (300.0..3000.0).contains(&(completed - seen)),
            "seen at {seen} ns, complete at {completed} ns"
        );
    }
}
