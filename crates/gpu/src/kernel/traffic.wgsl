// The packets that a node sends: each injection FIFO goes through its own part of the node's sequence, as
// software does that distributes them over the FIFOs in turn (`docs/workloads.md`).

// The node's neighbour on port `port`, or itself where there is no link.
fn neighbour(at_node: u32, port: u32) -> u32 {
    let d = port >> 1u;
    let length = LENGTHS[d];
    let at = (at_node / STRIDES[d]) % length;
    let plus = (port & 1u) == 0u;
    if length == 1u || (!WRAPS[d] && at == select(0u, length - 1u, plus)) {
        return at_node;
    }
    if plus {
        return select(at_node + STRIDES[d], at_node - at * STRIDES[d], at == length - 1u);
    }
    return select(at_node - STRIDES[d], at_node + (length - 1u) * STRIDES[d], at == 0u);
}

// A bit for each direction of the minimal route to `to`. Half-way around a ring the source's registers decide.
fn route(to: u32) -> u32 {
    var found = 0u;
    var sum = 0u;
    for (var d = 0u; d < 3u; d++) {
        sum += (node / STRIDES[d]) % LENGTHS[d];
    }
    for (var d = 0u; d < 3u; d++) {
        let length = LENGTHS[d];
        let a = (node / STRIDES[d]) % length;
        let b = (to / STRIDES[d]) % length;
        let ahead = (b + length - a) % length;
        if ahead == 0u {
            continue;
        }
        var plus = 2u * ahead < length;
        if !WRAPS[d] {
            plus = b > a;
        } else if 2u * ahead == length {
            plus = TIES_PLUS || (sum & 1u) == 0u;
        }
        found |= 1u << (2u * d + select(1u, 0u, plus));
    }
    return found;
}

// A destination of an all-to-all: packet `index` of the node, in an order of its own that is computed
// (a Feistel network, as `traffic/order.rs`).
fn ordered(index: u32) -> u32 {
    let mask = (1u << ORDER_BITS) - 1u;
    var x = index % (NODES - 1u);
    loop {
        var left = x >> ORDER_BITS;
        var right = x & mask;
        for (var round = 0u; round < 4u; round++) {
            let mixed = (right ^ load(ORDER + round)) * 0x9e3779b9u;
            let next = left ^ ((mixed >> 12u) & mask);
            left = right;
            right = next;
        }
        x = (left << ORDER_BITS) | right;
        if x < NODES - 1u {
            break;
        }
    }
    return x;
}

// The next packet of a FIFO that has none, if the sequence has one at this time.
fn pull(fifo: u32) {
    if OPEN_LOOP && load(of_fifo(fifo, NEXT)) > now {
        return;
    }
    let index = load(of_fifo(fifo, INDEX));
    store(of_fifo(fifo, INDEX), index + FIFOS);
    var step = 0u;
    if ALL_TO_ALL {
        step = ordered(index);
    } else {
        step = below(NODES - 1u);
    }
    var to = node + 1u + step;
    if to >= NODES {
        to -= NODES;
    }
    var made = now;
    if OPEN_LOOP {
        made = load(of_fifo(fifo, NEXT));
        // Ticks with 8 bits below the point.
        let wait = multiply(exponential(), INTERVAL);
        let sum = load(of_fifo(fifo, FRACTION)) + ((wait.x << 5u) | (wait.y >> 27u));
        store(of_fifo(fifo, FRACTION), sum & 255u);
        store(of_fifo(fifo, NEXT), made + (sum >> 8u));
    }
    store(of_fifo(fifo, HELD), PRESENT);
    store_packet(of_fifo(fifo, FIFO_PACKET), Packet(to | (route(to) << HINTS), made, 0u));
}
