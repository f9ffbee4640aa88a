// The state of the machine: words of nodes, one word of all nodes after the other, so that neighbouring
// invocations read neighbouring words. `words.rs` numbers them.

@group(0) @binding(0) var<storage, read_write> state: array<u32>;

// What each node sends to its neighbours in a window, by the window's parity: read in the next window.
@group(0) @binding(1) var<storage, read_write> mail: array<u32>;

// Latencies since creation, then since the network was entered, in bins of 1/8 of a power of two.
@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>>;

// The tick at which all nodes stop.
@group(0) @binding(3) var<uniform> goal: vec4<u32>;

// The logarithms of 1 to 2, for `exponential`.
@group(0) @binding(4) var<storage, read> logarithms: array<u32>;

// The node of this invocation, the current tick, and the parity of the window.
var<private> node: u32;
var<private> now: u32;
var<private> parity: u32;

fn load(word: u32) -> u32 {
    return state[word * NODES + node];
}

fn store(word: u32, value: u32) {
    state[word * NODES + node] = value;
}

fn add(word: u32, value: u32) {
    let at = word * NODES + node;
    state[at] = state[at] + value;
}

// A sum of 64 bits: its low word, then its high one.
fn add_long(word: u32, value: u32) {
    let low = load(word) + value;
    store(word, low);
    if low < value {
        add(word + 1u, 1u);
    }
}

// Count `count` of the link that leaves through port `port`.
fn of_link(port: u32, count: u32) -> u32 {
    return LINK + port * LINK_WORDS + count;
}

// Word `word` of port `port`.
fn of_port(port: u32, word: u32) -> u32 {
    return PORT + port * PORT_WORDS + word;
}

// Word `word` of injection FIFO `fifo`.
fn of_fifo(fifo: u32, word: u32) -> u32 {
    return FIFO + fifo * FIFO_WORDS + word;
}

// Three words: the destination (20 bits) with a bit for each direction that the packet has still to travel,
// when it was made, when it entered the network.
struct Packet {
    to: u32,
    made: u32,
    entered: u32,
}

fn load_packet(word: u32) -> Packet {
    return Packet(load(word), load(word + 1u), load(word + 2u));
}

fn store_packet(word: u32, packet: Packet) {
    store(word, packet.to);
    store(word + 1u, packet.made);
    store(word + 2u, packet.entered);
}

fn hints(packet: Packet) -> u32 {
    return packet.to >> HINTS;
}

fn destination(packet: Packet) -> u32 {
    return packet.to & ((1u << HINTS) - 1u);
}

// Who holds a packet: the head of a VC, `port * 4 + vc`; the bypass of a port, `BYPASSED + port`; an injection
// FIFO, `INJECTED + fifo`.
const BYPASSED: u32 = 24u;
const INJECTED: u32 = 32u;
