// The arbitration of a node in a tick: each packet asks for a move, each receiver and FIFO requests one, each
// sender grants one (Blumrich et al., section 2).

// No move; a link with a VC is `1 + port * 4 + vc`.
const NOTHING: u32 = 0u;
const DELIVERY: u32 = 64u;

// The tokens of the senders, and the links that may be granted, as they are when the arbitration begins.
var<private> tokens: array<u32, 6>;
var<private> available: u32;

fn offers(port: u32, vc: u32, came_port: u32, came_vc: u32) -> bool {
    if ((available >> port) & 1u) == 0u {
        return false;
    }
    // To enter a ring of bubbles takes space for two.
    let enters = vc == DYNAMIC_VCS && !(came_port == (port ^ 1u) && came_vc == vc);
    return ((tokens[port] >> (8u * vc)) & 255u) >= select(CHUNKS_MAX, 2u * CHUNKS_MAX, enters);
}

// The move that a packet asks for.
fn wish(packet: Packet, came_port: u32, came_vc: u32, path_idle: bool) -> u32 {
    let directions = hints(packet);
    if directions == 0u {
        return select(NOTHING, DELIVERY, load(of_port(came_port, RECEPTION)) == 0u);
    }
    if !path_idle {
        return NOTHING;
    }
    var best = NOTHING;
    if !IS_STATIC {
        var most = 0u;
        var equals = 0u;
        for (var port = 0u; port < PORTS; port++) {
            if ((directions >> port) & 1u) == 0u {
                continue;
            }
            for (var vc = 0u; vc < DYNAMIC_VCS; vc++) {
                if !offers(port, vc, came_port, came_vc) {
                    continue;
                }
                // Join the shortest queue: four ranges of tokens.
                var range = 1u;
                if BY_TOKENS {
                    range += (((tokens[port] >> (8u * vc)) & 255u) - 1u) * 4u / VC_CHUNKS;
                }
                if range > most {
                    most = range;
                    equals = 0u;
                }
                if range == most {
                    equals += 1u;
                    if equals == 1u || below(equals) == 0u {
                        best = 1u + port * 4u + vc;
                    }
                }
            }
        }
    }
    if best != NOTHING {
        return best;
    }
    var port = countTrailingZeros(directions);
    if PLUS_FIRST && (directions & 0x15u) != 0u {
        port = countTrailingZeros(directions & 0x15u);
    }
    return select(NOTHING, 1u + port * 4u + DYNAMIC_VCS, offers(port, DYNAMIC_VCS, came_port, came_vc));
}

// A choice among requests: the highest rank, then the fullest VC if the longest queue is served, then any.
struct Choice {
    rank: u32,
    equals: u32,
}

fn prefers(choice: ptr<function, Choice>, rank: u32) -> bool {
    if rank < (*choice).rank {
        return false;
    }
    if rank > (*choice).rank {
        *choice = Choice(rank, 1u);
        return true;
    }
    (*choice).equals += 1u;
    return below((*choice).equals) == 0u;
}

struct Requests {
    moves: array<u32, 12>,
    holders: array<u32, 6>,
    fullness: array<u32, 6>,
}

// The request of a receiver: among its heads and its bypass, which comes after them.
fn request(port: u32, requests: ptr<function, Requests>) {
    let path_idle = load(of_port(port, PATHS_BUSY)) < PATHS;
    var wishes: array<u32, 5>;
    var fulls: array<u32, 5>;
    var asking = 0u;
    for (var vc = 0u; vc <= DYNAMIC_VCS; vc++) {
        let queue = load(of_port(port, VC + vc));
        let count = (queue >> 8u) & 255u;
        if count == 0u || (queue & MOVING) != 0u {
            continue;
        }
        let head = load_packet(slot(port, vc, queue & 255u));
        wishes[vc] = wish(head, port, vc, path_idle);
        fulls[vc] = count * CHUNKS * 4u / (select(VC_CHUNKS, ESCAPE_CHUNKS, vc == DYNAMIC_VCS) + 1u);
        asking += select(0u, 1u, wishes[vc] != NOTHING);
    }
    if asking == 0u {
        let bypass = load(of_port(port, BYPASS));
        if (bypass & PRESENT) != 0u && (bypass & MOVING) == 0u {
            let packet = load_packet(of_port(port, BYPASS + 1u));
            (*requests).moves[port] = wish(packet, port, (bypass >> 8u) & 3u, path_idle);
            (*requests).holders[port] = BYPASSED + port;
            (*requests).fullness[port] = 0u;
        }
        return;
    }
    let longest = asking > 1u && chance(RECEIVER_SLQ);
    var choice = Choice(0u, 0u);
    for (var vc = 0u; vc <= DYNAMIC_VCS; vc++) {
        if wishes[vc] != NOTHING && prefers(&choice, 1u + select(0u, fulls[vc], longest)) {
            (*requests).moves[port] = wishes[vc];
            (*requests).holders[port] = port * 4u + vc;
            (*requests).fullness[port] = fulls[vc];
        }
    }
}

fn mark_moving(holder: u32) {
    var word = of_port(holder >> 2u, VC + (holder & 3u));
    if holder >= INJECTED {
        word = of_fifo(holder - INJECTED, HELD);
    } else if holder >= BYPASSED {
        word = of_port(holder - BYPASSED, BYPASS);
    }
    store(word, load(word) | MOVING);
}

fn held(holder: u32) -> Packet {
    if holder >= INJECTED {
        return load_packet(of_fifo(holder - INJECTED, FIFO_PACKET));
    }
    if holder >= BYPASSED {
        return load_packet(of_port(holder - BYPASSED, BYPASS + 1u));
    }
    let port = holder >> 2u;
    let vc = holder & 3u;
    return load_packet(slot(port, vc, load(of_port(port, VC + vc)) & 255u));
}

// Grants a packet's request.
fn grant(holder: u32, move_to: u32) {
    var packet = held(holder);
    mark_moving(holder);
    if move_to == DELIVERY {
        let port = select(holder >> 2u, holder - BYPASSED, holder >= BYPASSED);
        store(of_port(port, RECEPTION), now + DATA_TICKS);
        store(of_port(port, RECEPTION_FROM), holder);
        store(of_port(port, RECEPTION_MADE), packet.made);
        store(of_port(port, RECEPTION_MADE + 1u), packet.entered);
        return;
    }
    let port = (move_to - 1u) >> 2u;
    let vc = (move_to - 1u) & 3u;
    if holder < INJECTED {
        add(of_port(select(holder >> 2u, holder - BYPASSED, holder >= BYPASSED), PATHS_BUSY), 1u);
    } else {
        packet.entered = now;
        add(INJECTIONS, 1u);
    }
    let d = port >> 1u;
    let next = neighbour(node, port);
    if (next / STRIDES[d]) % LENGTHS[d] == (destination(packet) / STRIDES[d]) % LENGTHS[d] {
        packet.to &= ~(1u << (HINTS + port));
    }
    store(of_port(port, TOKENS), load(of_port(port, TOKENS)) - tokens_of(vc));
    let owes = load(of_port(port, DUE)) != 0u;
    store(of_port(port, TRANSFER), PRESENT | WAITING | select(0u, AFTER_TOKENS, owes) | (holder << 8u) | (vc << 16u));
    store_packet(of_port(port, TRANSFER + 1u), packet);
}

// All grants of a tick; returns whether anything was requested, so that more may be in the next tick.
fn arbitrate() -> bool {
    available = 0u;
    for (var port = 0u; port < PORTS; port++) {
        tokens[port] = load(of_port(port, TOKENS));
        if load(of_port(port, TRANSFER)) == 0u && neighbour(node, port) != node {
            available |= 1u << port;
        }
    }
    var requests = Requests();
    var wanted = 0u;
    var any = false;
    for (var port = 0u; port < PORTS; port++) {
        request(port, &requests);
        let to = requests.moves[port];
        any = any || to != NOTHING;
        if to == DELIVERY {
            // A reception bus serves one receiver: there is nothing to arbitrate.
            grant(requests.holders[port], DELIVERY);
            requests.moves[port] = NOTHING;
        } else if to != NOTHING {
            wanted |= 1u << ((to - 1u) >> 2u);
        }
    }
    for (var fifo = 0u; fifo < FIFOS; fifo++) {
        let held = load(of_fifo(fifo, HELD));
        if (held & PRESENT) == 0u || (held & MOVING) != 0u {
            continue;
        }
        let to = wish(load_packet(of_fifo(fifo, FIFO_PACKET)), NO_PORT, 0u, true);
        requests.moves[PORTS + fifo] = to;
        if to != NOTHING {
            any = true;
            wanted |= 1u << ((to - 1u) >> 2u);
        }
    }
    for (var port = 0u; port < PORTS; port++) {
        if ((wanted >> port) & 1u) == 0u {
            continue;
        }
        let injected_first = !chance(IN_NETWORK);
        let longest = chance(SENDER_SLQ);
        var choice = Choice(0u, 0u);
        var winner = 0u;
        for (var i = 0u; i < PORTS + FIFOS; i++) {
            let to = requests.moves[i];
            if to == NOTHING || (to - 1u) >> 2u != port {
                continue;
            }
            var rank = select(0u, 8u, (i >= PORTS) == injected_first) + 1u;
            if longest && i < PORTS {
                rank += requests.fullness[i];
            }
            if prefers(&choice, rank) {
                winner = i;
            }
        }
        var holder = INJECTED + winner - PORTS;
        if winner < PORTS {
            holder = requests.holders[winner];
        }
        grant(holder, requests.moves[winner]);
    }
    return any;
}
