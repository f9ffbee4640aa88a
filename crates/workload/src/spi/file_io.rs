//! File IO shipped from compute nodes to IO nodes (Chen et al., sections II.A and IV: "kernels such as the
//! Blue Gene Compute Node Kernel can program the MU for function shipping I/O system calls to the I/O
//! nodes"). The paper gives no details; this is **(ours)**:
//!
//! A compute node sends its IO node a request, a system packet. To write, the IO node fetches the data piece
//! by piece into its buffers by RDMA reads, has the PCIe transfer each piece to the file system, and answers
//! when all is there. To read, it has the PCIe fetch pieces and puts each into the compute node's memory by
//! RDMA writes, whose counter shows the compute node when all has arrived.

use super::tree::{Boxes, trees};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::collective::RouteKind;
use netloom_fabric::config::{ConfigError, IoNodes};
use netloom_messaging::spi::{Pcie, Spi};
use netloom_nic::message_unit::descriptor::{Descriptor, IoLink, Kind, Network, SYSTEM};
use netloom_nic::message_unit::fifos::{InjectionFifo, Priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The direction of the file IO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Data go from compute nodes to files.
    #[default]
    Write,
    /// And back.
    Read,
}

/// File IO by more and more of each IO node's compute nodes at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct FileIo {
    /// Whether files are written or read.
    pub operation: Operation,
    /// Data of each compute node, bytes.
    pub bytes: u64,
    /// How many compute nodes of each pset take part, one round after the other; none: 1, 2, 4 and so on up
    /// to all.
    pub nodes: Vec<u32>,
    /// Buffers of an IO node, which limit its outstanding transfers, and the length of each, bytes.
    pub buffers: u16,
    /// See `buffers`.
    pub buffer_B: u64,
}

impl Default for FileIo {
    fn default() -> Self {
        FileIo { operation: Operation::Write, bytes: 1 << 20, nodes: vec![], buffers: 16, buffer_B: 1 << 16 }
    }
}

impl FileIo {
    /// Checks the values against the machine's IO nodes.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, io: Option<&IoNodes>) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
        let Some(io) = io else {
            let message = "file IO needs IO nodes: give the machine a table [topology.io]";
            return refuse("program", message.into());
        };
        let pset = io.pset.iter().product();
        if !(1..=MOST_B).contains(&self.bytes) {
            return refuse("bytes", format!("expected 1 byte to 64 GiB, found {}", self.bytes));
        }
        if let Some(n) = self.nodes.iter().find(|n| !(1..=pset).contains(n)) {
            return refuse("nodes", format!("expected 1 to the {pset} nodes of a pset, found {n}"));
        }
        if !(1..=256).contains(&self.buffers) {
            return refuse("buffers", format!("expected 1 to 256, found {}", self.buffers));
        }
        if !(512..=1 << 30).contains(&self.buffer_B) {
            return refuse("buffer_B", format!("expected 512 B to 1 GiB, found {}", self.buffer_B));
        }
        Ok(())
    }

    /// The number of compute nodes that take part in each round, in a pset of this size.
    fn rounds(&self, pset: u32) -> Vec<u32> {
        if !self.nodes.is_empty() {
            return self.nodes.clone();
        }
        let doubling = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < pset);
        doubling.chain([pset]).collect()
    }
}

/// Maximum data of a compute node, bytes.
const MOST_B: u64 = 1 << 36;
/// Addresses in a node's memory: counters, descriptors for RDMA reads, data. The base address table has an
/// entry with the start of memory.
const COUNTERS: u64 = 0;
const DESCRIPTORS: u64 = 1 << 16;
const DATA: u64 = 1 << 20;
const MEMORY: u16 = 0;
/// The system's FIFOs: for descriptors of a node's own program; for RDMA reads; for reception.
const OWN: u16 = 540;
const FETCHED: u16 = 541;
const RECEIVED: u16 = 270;
/// Addresses of the injection FIFOs.
const OWN_START: u64 = 1 << 41;
const FETCHED_START: u64 = OWN_START + FIFO_B;
const FIFO_B: u64 = 1 << 16;
/// The barrier class of all compute nodes.
const CLASS: u8 = 0;

/// Performs the set-up of both kinds of nodes (by the kernel).
fn set_up(spi: &Spi) {
    let own = InjectionFifo {
        start: OWN_START,
        size_B: FIFO_B,
        priority: Priority::System,
        remote_get: false,
        threshold_B: None,
    };
    spi.set_injection_fifo(OWN, own);
    spi.set_injection_fifo(FETCHED, InjectionFifo { start: FETCHED_START, remote_get: true, ..own });
    spi.set_base_address(MEMORY, 0);
}

fn system(payload: u64, length: u64, network: Network, kind: Kind) -> Descriptor {
    Descriptor { payload, length, map: SYSTEM, network, kind, prefetch_only: false }
}

/// A message without data to the program at the other end.
fn word(network: Network, word: u64) -> Descriptor {
    system(DATA, 0, network, Kind::MemoryFifo { fifo: RECEIVED, software: word.into(), interrupt: false })
}

fn put(payload: u64, length: u64, network: Network, offset: u64, counter: u64) -> Descriptor {
    let kind = Kind::DirectPut { base: MEMORY, offset, counter_base: MEMORY, counter_offset: counter };
    system(payload, length, network, kind)
}

/// The program of a node.
pub(super) async fn run(spi: Spi, config: FileIo, dims: Vec<u32>) {
    set_up(&spi);
    let torus = spi.torus().clone();
    if spi.is_io_node() {
        let pset: Vec<u32> = torus.pset(spi.node()).collect();
        let requests = config.rounds(pset.len() as u32).iter().map(|&n| u64::from(n)).sum();
        let server = Server::new(&spi, &config, requests);
        return match config.operation {
            Operation::Write => server.write().await,
            Operation::Read => server.read().await,
        };
    }
    let (Some(io_node), Some(exit)) = (torus.io_node_of(spi.node()), torus.exit_of(spi.node())) else {
        return;
    };
    let tree = &trees(&Boxes::default(), &[], &dims)[0];
    if let Some(route) = tree.route(spi.node(), RouteKind::UserSubcomm) {
        spi.set_barrier(CLASS, route);
    }
    let outward = Network::System { destination: exit, io: IoLink::AtDestination };
    let place = torus.pset(io_node).position(|node| node == spi.node()).expect("its own pset") as u32;
    for (round, n) in config.rounds(torus.pset(io_node).count() as u32).into_iter().enumerate() {
        spi.enter_barrier(CLASS, round as u64).await;
        spi.wait_barrier(CLASS, round as u64).await;
        if place >= n {
            continue;
        }
        let begin = spi.now();
        spi.set_counter(COUNTERS, config.bytes);
        spi.inject(OWN, word(outward, config.bytes)).await;
        match config.operation {
            Operation::Write => {
                spi.receive(RECEIVED).await;
            }
            Operation::Read => spi.wait_counter(COUNTERS).await,
        }
        spi.measure(2 * round as u64, begin);
        spi.measure(2 * round as u64 + 1, spi.now());
    }
}

/// A compute node's request, and its progress.
struct Request {
    node: u32,
    bytes: u64,
    taken: u64,
}

/// A piece of a request's data, in a buffer.
struct Piece {
    node: u32,
    buffer: u16,
    from: u64,
    bytes: u64,
    /// Time at which its buffer became available.
    asked: u64,
}

impl Piece {
    /// Address of the counter of its bytes.
    fn counter(&self) -> u64 {
        COUNTERS + 8 * u64::from(self.buffer)
    }
}

/// The program of an IO node.
struct Server<'a> {
    spi: &'a Spi,
    config: &'a FileIo,
    /// By compute node, the number of its IO link at this node.
    links: BTreeMap<u32, u8>,
    /// Number of requests that have not arrived.
    left: u64,
    current: Option<Request>,
    free: Vec<u16>,
}

impl<'a> Server<'a> {
    fn new(spi: &'a Spi, config: &'a FileIo, left: u64) -> Self {
        let exits = spi.torus().exits(spi.node());
        let link = |exit: u32| exits.iter().position(|&e| e == exit).expect("its own") as u8;
        let links = spi.torus().exits_of_pset(spi.node()).into_iter().map(|(node, exit)| (node, link(exit)));
        Server {
            spi,
            config,
            links: links.collect(),
            left,
            current: None,
            free: (0..config.buffers).collect(),
        }
    }

    /// The network header for a compute node.
    fn inward(&self, node: u32) -> Network {
        Network::System { destination: node, io: IoLink::AtSource(self.links[&node]) }
    }

    fn buffer(&self, buffer: u16) -> u64 {
        DATA + u64::from(buffer) * self.config.buffer_B
    }

    /// The next piece to transfer, if there is a buffer for it. Waits for a request if there is nothing else
    /// to do.
    async fn next_piece(&mut self, is_idle: bool) -> Option<Piece> {
        if self.free.is_empty() {
            return None;
        }
        if self.current.is_none() && self.left > 0 {
            let packet = match is_idle {
                true => Some(self.spi.receive(RECEIVED).await),
                false => self.spi.poll(RECEIVED).await,
            }?;
            self.left -= 1;
            self.current = Some(Request { node: packet.source, bytes: packet.software as u64, taken: 0 });
        }
        let request = self.current.as_mut()?;
        let bytes = self.config.buffer_B.min(request.bytes - request.taken);
        let (node, from) = (request.node, request.taken);
        request.taken += bytes;
        if request.taken == request.bytes {
            self.current = None;
        }
        Some(Piece { node, buffer: self.free.pop()?, from, bytes, asked: self.spi.now() })
    }

    /// Makes a compute node's unit send a piece of its data.
    async fn fetch(&self, piece: &Piece) {
        let exit = self.spi.torus().exits(self.spi.node())[usize::from(self.links[&piece.node])];
        let outward = Network::System { destination: exit, io: IoLink::AtDestination };
        self.spi.set_counter(piece.counter(), piece.bytes);
        let data = put(DATA + piece.from, piece.bytes, outward, self.buffer(piece.buffer), piece.counter());
        let at = DESCRIPTORS + 64 * u64::from(piece.buffer);
        let length = self.spi.store_descriptors(at, &[data]);
        let get = system(at, length, self.inward(piece.node), Kind::RemoteGet { fifo: FETCHED });
        self.spi.inject(OWN, get).await;
    }

    /// Serves requests to write.
    async fn write(mut self) {
        let (mut coming, mut to_file) = (VecDeque::<Piece>::new(), VecDeque::<(u64, Piece)>::new());
        let mut written = BTreeMap::<u32, u64>::new();
        loop {
            let is_idle = coming.is_empty() && to_file.is_empty();
            if let Some(piece) = self.next_piece(is_idle).await {
                self.fetch(&piece).await;
                coming.push_back(piece);
                continue;
            }
            // The PCIe should be busy while the next piece arrives: takes any piece that has arrived, or the
            // oldest.
            let is_there = |piece: &Piece| self.spi.counted_down(piece.counter()) > piece.asked;
            let next = coming.iter().position(is_there).unwrap_or(0);
            if to_file.len() < 2
                && let Some(piece) = coming.remove(next)
            {
                self.spi.wait_counter(piece.counter()).await;
                to_file.push_back((self.spi.pcie(Pcie::Out, piece.bytes), piece));
            } else if let Some((done, piece)) = to_file.pop_front() {
                self.spi.wait_until(done).await;
                self.free.push(piece.buffer);
                // Pieces of one request may arrive in any order.
                let written = written.entry(piece.node).or_insert(0);
                *written += piece.bytes;
                if *written == self.config.bytes {
                    *written = 0;
                    self.spi.inject(OWN, word(self.inward(piece.node), 0)).await;
                }
            } else {
                return;
            }
        }
    }

    /// Serves requests to read.
    async fn read(mut self) {
        let (mut from_file, mut leaving) = (VecDeque::<(u64, Piece)>::new(), VecDeque::<(u64, u16)>::new());
        let mut sent = 0;
        loop {
            let is_idle = from_file.is_empty() && leaving.is_empty();
            if let Some(piece) = self.next_piece(is_idle).await {
                from_file.push_back((self.spi.pcie(Pcie::In, piece.bytes), piece));
            } else if let Some((done, piece)) = from_file.pop_front() {
                self.spi.wait_until(done).await;
                let to = self.inward(piece.node);
                let data = put(self.buffer(piece.buffer), piece.bytes, to, DATA + piece.from, COUNTERS);
                self.spi.inject(OWN, data).await;
                sent += 1;
                leaving.push_back((sent, piece.buffer));
            } else if let Some((injected, buffer)) = leaving.pop_front() {
                self.spi.wait_injected(OWN, injected).await;
                self.free.push(buffer);
            } else {
                return;
            }
        }
    }
}

/// By number of compute nodes of a pset: the time until the last has its answer, and the bandwidth of an IO
/// node and of all of them.
pub(super) fn measured(
    config: &FileIo,
    io: &IoNodes,
    dims: &[u32],
    measurements: &Measurements,
    tick_ns: f64,
) -> Measured {
    let pset: u32 = io.pset.iter().product();
    let io_nodes = f64::from(dims.iter().product::<u32>() / pset);
    let all = |of: u64| {
        measurements.iter().flat_map(|n| &n.2).filter(move |n| n.key == of).map(|n| n.time().ticks())
    };
    let rows = config.rounds(pset).into_iter().enumerate().filter_map(|(round, n)| {
        let (begin, end) = (all(2 * round as u64).min()?, all(2 * round as u64 + 1).max()?);
        let ns = (end - begin) as f64 * tick_ns;
        let bytes = (u64::from(n) * config.bytes) as f64;
        Some(vec![f64::from(n), ns / 1e3, bytes / ns, io_nodes * bytes / ns])
    });
    Measured {
        title: match config.operation {
            Operation::Write => "Writing files".into(),
            Operation::Read => "Reading files".into(),
        },
        columns: columns(
            &[("compute nodes an IO node", "")],
            &[("time", "us"), ("an IO node", "GB/s"), ("all", "GB/s")],
        ),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_double_up_to_the_whole_pset() {
        assert_eq!(FileIo::default().rounds(12), [1, 2, 4, 8, 12]);
        assert_eq!(FileIo::default().rounds(1), [1]);
        assert_eq!(FileIo { nodes: vec![3], ..FileIo::default() }.rounds(12), [3]);
    }

    #[test]
    fn invalid_values_are_reported() {
        let io = IoNodes { pset: vec![2, 2], exits: vec![vec![0, 0]] };
        assert!(FileIo::default().check(None).expect_err("no IO nodes").message.contains("[topology.io]"));
        assert_eq!(FileIo::default().check(Some(&io)), Ok(()));
        let wrong = |config: FileIo| config.check(Some(&io)).expect_err("wrong").key;
        assert_eq!(wrong(FileIo { bytes: 0, ..FileIo::default() }), "bytes");
        assert_eq!(wrong(FileIo { nodes: vec![5], ..FileIo::default() }), "nodes");
        assert_eq!(wrong(FileIo { buffers: 0, ..FileIo::default() }), "buffers");
        assert_eq!(wrong(FileIo { buffer_B: 100, ..FileIo::default() }), "buffer_B");
    }
}
