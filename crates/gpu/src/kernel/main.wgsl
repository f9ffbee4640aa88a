// A window of all nodes: as many ticks as nothing takes less from one node to another, so that each node goes
// through them alone, from one tick in which something happens to the next.

// The next tick from `from` on in which something happens at the node.
fn next_event(end: u32) -> u32 {
    var next = end;
    for (var port = 0u; port < PORTS; port++) {
        if load(of_port(port, CARRIED)) != 0u {
            next = min(next, load(of_port(port, BUSY_UNTIL)));
        }
        let reception = load(of_port(port, RECEPTION));
        if reception != 0u {
            next = min(next, reception);
        }
        if load(of_port(port, FLYING)) != 0u {
            next = min(next, load(of_port(port, FLYING + 1u)));
        }
        if load(of_port(port, ACKS)) != 0u {
            next = min(next, load(of_port(port, ACKS + 1u)));
        }
    }
    if OPEN_LOOP {
        for (var fifo = 0u; fifo < FIFOS; fifo++) {
            if load(of_fifo(fifo, HELD)) == 0u {
                next = min(next, load(of_fifo(fifo, NEXT)));
            }
        }
    }
    return next;
}

// The ticks of transmissions that lie after `end`, which are in the counts of links already; and the chunks
// in buffers now, for as long as the window is.
fn sample(begin: u32, end: u32) {
    for (var port = 0u; port < PORTS; port++) {
        var left = 0u;
        if load(of_port(port, CARRIED)) != 0u {
            left = load(of_port(port, BUSY_UNTIL)) - end;
        }
        store(of_link(port, LINK_LEFT), left);
    }
    for (var vc = 0u; vc <= DYNAMIC_VCS; vc++) {
        var packets = 0u;
        for (var port = 0u; port < PORTS; port++) {
            packets += (load(of_port(port, VC + vc)) >> 8u) & 255u;
        }
        add(OCCUPANCY + vc, packets * CHUNKS * (end - begin));
    }
}

@compute @workgroup_size(WORKGROUP)
fn window(@builtin(global_invocation_id) id: vec3<u32>) {
    node = id.x;
    if node >= NODES {
        return;
    }
    let begin = load(NOW);
    let end = min(begin + WINDOW, goal.x);
    if begin >= end {
        return;
    }
    parity = load(PARITY);
    random_0 = load(RANDOM);
    random_1 = load(RANDOM + 1u);
    var asks = load(ASKS) != 0u;
    for (var port = 0u; port < PORTS; port++) {
        open_mail(port);
    }
    now = begin;
    loop {
        if !asks {
            now = next_event(end);
        }
        if now >= end {
            break;
        }
        for (var port = 0u; port < PORTS; port++) {
            end_transfers(port);
        }
        for (var port = 0u; port < PORTS; port++) {
            arrive(port);
        }
        for (var fifo = 0u; fifo < FIFOS; fifo++) {
            if load(of_fifo(fifo, HELD)) == 0u {
                pull(fifo);
            }
        }
        asks = arbitrate();
        for (var port = 0u; port < PORTS; port++) {
            let bypass = load(of_port(port, BYPASS));
            if (bypass & PRESENT) != 0u && (bypass & MOVING) == 0u {
                store(of_port(port, BYPASS), 0u);
                push(port, (bypass >> 8u) & 3u, load_packet(of_port(port, BYPASS + 1u)));
            }
        }
        for (var port = 0u; port < PORTS; port++) {
            send(port);
        }
        now += 1u;
    }
    sample(begin, end);
    store(ASKS, select(0u, 1u, asks));
    store(RANDOM, random_0);
    store(RANDOM + 1u, random_1);
    store(PARITY, parity ^ 1u);
    store(NOW, end);
}
