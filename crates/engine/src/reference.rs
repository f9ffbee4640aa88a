//! A fixed small event simulation, in whose hops the speed of others is told: computers differ, and so does one
//! from minute to minute, but a ratio of two speeds measured in the same minute stays much the same.
//!
//! It is written plainly and **must not be changed**: figures of different versions would no longer compare. 512
//! nodes of 768 B have nine outputs each, to other nodes; packets go from node to node without end. A hop takes three events,
//! as in a torus: a head arrives and takes the output with the most tokens of nine, its last byte has left, and
//! its token returns.

/// Nodes, and the outputs of each.
const NODES: usize = 512;
const OUTPUTS: usize = 9;
/// Ticks that the ring of buckets covers.
const BUCKETS: usize = 1024;
/// Packets that go round.
const PACKETS: usize = 2048;
/// Ticks from a packet's start to its head's arrival, to its last byte, and to its token's return.
const HEAD: usize = 40;
const TAIL: usize = 260;
const TOKEN: usize = 300;

#[derive(Clone, Copy)]
enum Kind {
    Arrived,
    Left,
    Returned,
}

#[derive(Clone, Copy)]
struct Event {
    kind: Kind,
    output: u8,
    node: u16,
    packet: u32,
}

#[derive(Clone)]
#[repr(C, align(64))]
struct Node {
    tokens: [u8; OUTPUTS],
    turn: u8,
    sending: u16,
    sent: u32,
    packets: [u32; 188],
}

const _: () = assert!(size_of::<Node>() == 768);

/// Simulates so many ticks: how many hops packets have made, and a sum that depends on all of them.
pub fn run(ticks: usize) -> (u64, u64) {
    let node = Node { tokens: [200; OUTPUTS], turn: 0, sending: 0, sent: 0, packets: [0; 188] };
    let mut nodes = vec![node; NODES];
    let mut buckets: Vec<Vec<Event>> = vec![vec![]; BUCKETS];
    for packet in 0..PACKETS {
        let event =
            Event { kind: Kind::Arrived, output: 0, node: (packet % NODES) as u16, packet: packet as u32 };
        buckets[packet % HEAD].push(event);
    }
    let (mut hops, mut sum, mut events) = (0u64, 0u64, vec![]);
    for now in 0..ticks {
        std::mem::swap(&mut events, &mut buckets[now % BUCKETS]);
        for &Event { kind, output, node, packet } in &events {
            let here = &mut nodes[usize::from(node)];
            let mut later = |after: usize, event: Event| buckets[(now + after) % BUCKETS].push(event);
            match kind {
                Kind::Arrived => {
                    let mut best = usize::from(here.turn);
                    for output in 0..OUTPUTS {
                        if here.tokens[output] > here.tokens[best] {
                            best = output;
                        }
                    }
                    here.turn = (here.turn + 1) % OUTPUTS as u8;
                    here.tokens[best] = here.tokens[best].wrapping_sub(1);
                    here.sending += 1;
                    here.packets[packet as usize % 188] = packet;
                    hops += 1;
                    sum = sum.rotate_left(5) ^ (u64::from(packet) << 16 | best as u64);
                    let output = best as u8;
                    let next = (usize::from(node) + (best + 1) * (best + 1)) % NODES;
                    let wait = here.sending as usize;
                    later(wait + HEAD, Event { kind: Kind::Arrived, output, node: next as u16, packet });
                    later(wait + TAIL, Event { kind: Kind::Left, output, node, packet });
                    later(wait + TOKEN, Event { kind: Kind::Returned, output, node, packet });
                }
                Kind::Left => {
                    here.sending -= 1;
                    here.sent += 1;
                    sum ^= u64::from(here.packets[packet as usize % 188]);
                }
                Kind::Returned => {
                    here.tokens[usize::from(output)] = here.tokens[usize::from(output)].wrapping_add(1);
                }
            }
        }
        events.clear();
    }
    (hops, sum)
}

#[cfg(test)]
mod tests {
    /// Another result would be that of another loop.
    #[test]
    fn it_is_what_it_was() {
        assert_eq!(super::run(20_000), (695_808, 3_305_809_148_875_970_193));
    }
}
