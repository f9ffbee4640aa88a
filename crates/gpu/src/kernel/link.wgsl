// The ends of a link: transfers that end, packets and tokens that arrive, and what a free link sends next,
// token-acks before data (`docs/torus-router.md`).

// The tokens of a packet on a VC, in that VC's byte: on the bubble VC each packet counts as a full one.
fn tokens_of(vc: u32) -> u32 {
    return select(CHUNKS, BUBBLE_TOKENS, vc == DYNAMIC_VCS) << (8u * vc);
}

fn slot(port: u32, vc: u32, place: u32) -> u32 {
    return of_port(port, QUEUES + (vc * SLOTS + place % SLOTS) * 3u);
}

// Puts a packet at the end of a VC: in its word the head's place, the number of packets, whether the head is
// being transferred.
fn push(port: u32, vc: u32, packet: Packet) {
    let queue = load(of_port(port, VC + vc));
    store_packet(slot(port, vc, (queue & 255u) + ((queue >> 8u) & 255u)), packet);
    store(of_port(port, VC + vc), queue + 256u);
}

// Removes a packet whose transfer has ended. Its tokens become due.
fn release(holder: u32, over_link: bool) {
    if holder >= INJECTED {
        store(of_fifo(holder - INJECTED, HELD), 0u);
        return;
    }
    var port = holder >> 2u;
    var vc = holder & 3u;
    if holder >= BYPASSED {
        port = holder - BYPASSED;
        vc = (load(of_port(port, BYPASS)) >> 8u) & 3u;
        store(of_port(port, BYPASS), 0u);
    } else {
        let queue = load(of_port(port, VC + vc));
        let head = ((queue & 255u) + 1u) % SLOTS;
        store(of_port(port, VC + vc), head | ((queue - 256u) & 0xff00u));
    }
    if over_link {
        store(of_port(port, PATHS_BUSY), load(of_port(port, PATHS_BUSY)) - 1u);
    }
    add(of_port(port, DUE), tokens_of(vc));
}

fn bin(value: u32) -> u32 {
    let shift = 28u - countLeadingZeros(value | 8u);
    return (shift << 3u) + (value >> shift);
}

fn deliver(made: u32, entered: u32) {
    let latency = now - made;
    add(DELIVERED, 1u);
    add_long(LATENCY, latency);
    add_long(NETWORK_LATENCY, now - entered);
    if latency < load(LATENCY_MIN) { store(LATENCY_MIN, latency); }
    if latency > load(LATENCY_MAX) { store(LATENCY_MAX, latency); }
    if now - entered < load(NETWORK_MIN) { store(NETWORK_MIN, now - entered); }
    if now - entered > load(NETWORK_MAX) { store(NETWORK_MAX, now - entered); }
    atomicAdd(&bins[bin(latency)], 1u);
    atomicAdd(&bins[BINS + bin(now - entered)], 1u);
}

// Transfers that end in this tick; returns whether one did.
fn end_transfers(port: u32) -> bool {
    var ended = false;
    if load(of_port(port, CARRIED)) == DATA_PACKET && load(of_port(port, BUSY_UNTIL)) == now {
        release((load(of_port(port, TRANSFER)) >> 8u) & 63u, true);
        store(of_port(port, TRANSFER), 0u);
        ended = true;
    }
    if load(of_port(port, RECEPTION)) == now && now != 0u {
        store(of_port(port, RECEPTION), 0u);
        release(load(of_port(port, RECEPTION_FROM)), false);
        deliver(load(of_port(port, RECEPTION_MADE)), load(of_port(port, RECEPTION_MADE + 1u)));
        ended = true;
    }
    return ended;
}

// What arrives in this tick: a packet for a VC or the bypass, tokens for the sender of the same port.
fn arrive(port: u32) -> bool {
    var arrived = false;
    let flying = load(of_port(port, FLYING));
    if flying != 0u && load(of_port(port, FLYING + 1u)) == now {
        store(of_port(port, FLYING), 0u);
        let vc = flying >> 8u;
        let packet = load_packet(of_port(port, FLYING + 2u));
        let is_empty = (load(of_port(port, VC + vc)) & 0xff00u) == 0u;
        if HAS_BYPASS && is_empty && load(of_port(port, BYPASS)) == 0u {
            store(of_port(port, BYPASS), PRESENT | (vc << 8u));
            store_packet(of_port(port, BYPASS + 1u), packet);
        } else {
            push(port, vc, packet);
        }
        arrived = true;
    }
    let acks = load(of_port(port, ACKS));
    if acks != 0u && load(of_port(port, ACKS + 1u)) == now {
        add(of_port(port, TOKENS), load(of_port(port, ACKS + 2u)));
        for (var i = 1u; i < acks; i++) {
            store(of_port(port, ACKS + 2u * i - 1u), load(of_port(port, ACKS + 2u * i + 1u)));
            store(of_port(port, ACKS + 2u * i), load(of_port(port, ACKS + 2u * i + 2u)));
        }
        store(of_port(port, ACKS), acks - 1u);
        arrived = true;
    }
    return arrived;
}

// A word of the mail that `of` sends through its port `port` in the windows of a parity.
fn mail_at(which: u32, from_node: u32, port: u32, word: u32) -> u32 {
    return ((which * MAIL_WORDS + word) * PORTS + port) * NODES + from_node;
}

// Begins the next transmission of a link, if it is free.
fn send(port: u32) {
    if load(of_port(port, BUSY_UNTIL)) > now {
        return;
    }
    let transfer = load(of_port(port, TRANSFER));
    let due = load(of_port(port, DUE));
    let head = mail_at(parity, node, port, 0u);
    if due != 0u && (transfer == 0u || (transfer & AFTER_TOKENS) != 0u) {
        let acks = mail[head] >> 16u;
        mail[mail_at(parity, node, port, MAIL_ACKS + 2u * acks)] = now + TOKEN_TICKS;
        mail[mail_at(parity, node, port, MAIL_ACKS + 2u * acks + 1u)] = due;
        mail[head] += 0x10000u;
        store(of_port(port, DUE), 0u);
        store(of_port(port, TRANSFER), transfer & ~AFTER_TOKENS);
        store(of_port(port, CARRIED), TOKEN_ACK);
        store(of_port(port, BUSY_UNTIL), now + ACK_TICKS);
        add(of_link(port, LINK_ACKS), 1u);
    } else if (transfer & WAITING) != 0u {
        let vc = transfer >> 16u;
        mail[mail_at(parity, node, port, 1u)] = now + HOP_TICKS;
        mail[mail_at(parity, node, port, 2u)] = load(of_port(port, TRANSFER + 1u));
        mail[mail_at(parity, node, port, 3u)] = load(of_port(port, TRANSFER + 2u));
        mail[mail_at(parity, node, port, 4u)] = load(of_port(port, TRANSFER + 3u));
        mail[head] |= PRESENT | (vc << 8u);
        store(of_port(port, TRANSFER), transfer & ~WAITING);
        store(of_port(port, CARRIED), DATA_PACKET);
        store(of_port(port, BUSY_UNTIL), now + DATA_TICKS);
        add(of_link(port, vc), 1u);
    } else {
        store(of_port(port, CARRIED), 0u);
    }
}

// Takes over what the neighbours sent in the window before, and empties this window's own mail.
fn open_mail(port: u32) {
    mail[mail_at(parity, node, port, 0u)] = 0u;
    let other = neighbour(node, port);
    if other == node {
        return;
    }
    let their_port = port ^ 1u;
    let before = parity ^ 1u;
    let head = mail[mail_at(before, other, their_port, 0u)];
    if head == 0u {
        return;
    }
    if (head & PRESENT) != 0u {
        store(of_port(port, FLYING), head & 0xffffu);
        for (var word = 0u; word < 4u; word++) {
            store(of_port(port, FLYING + 1u + word), mail[mail_at(before, other, their_port, 1u + word)]);
        }
    }
    var acks = load(of_port(port, ACKS));
    for (var i = 0u; i < (head >> 16u); i++) {
        for (var word = 0u; word < 2u; word++) {
            store(of_port(port, ACKS + 1u + 2u * acks + word), mail[mail_at(before, other, their_port, MAIL_ACKS + 2u * i + word)]);
        }
        acks += 1u;
    }
    store(of_port(port, ACKS), acks);
}
