//! A list of packets of all kinds, for Blue Gene/Q's routers.

use super::script::Packet;
use netloom_engine::Stream;
use netloom_fabric::packet::Header;

/// Packets of all kinds and sizes from all nodes to others, in bursts and in between, some of them to one
/// node.
pub fn crowd(nodes: u32, each: u32, seed: u64) -> Vec<Packet> {
    let mut list = vec![];
    let mut stream = Stream::new(seed, 9, 0);
    let hot = stream.below(nodes.into()) as u32;
    let mut below = |n: u32| stream.below(n.into()) as u32;
    for source in 0..nodes {
        let mut made = 0;
        for _ in 0..each {
            made += if below(8) == 0 { u64::from(below(30_000)) } else { 0 };
            let destination = if below(4) == 0 { hot } else { below(nodes) };
            let kind = below(8);
            let (flags, system, fifo) = match kind {
                0 => (Header::STATIC, false, 0),
                1 => (Header::HIGH, false, 12),
                2 => (0, true, 13),
                _ => (0, false, 1 + below(9) as usize),
            };
            let (chunks, zone) = (1 + below(17), below(4) as u8);
            let packet = Packet { made, source, fifo, destination, chunks, ..Packet::default() };
            list.push(Packet { flags, zone, system, ..packet });
        }
    }
    list
}
