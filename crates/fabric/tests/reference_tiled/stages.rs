//! Movement of flits: from nodes into their tiles, over row buses, column buses and links.

use super::{Due, Flit, Reference};

impl Reference {
    /// A node's next flit goes into its processor tile.
    pub(super) fn enter(&mut self, node: usize) {
        let (router, slot) = self.wiring.home(node as u32);
        let (router, tile) = (router as usize, self.config.ports_beside_nodes(&self.wiring) + slot);
        let now = self.now;
        let costs = u64::from(self.config.router.netlink_flit_milliticks);
        let budget = &mut self.entry_budget[node];
        *budget = (*budget + 1000).min(costs + 999);
        if *budget < costs {
            return;
        }
        if self.entering[node].is_none()
            && let Some(&packet) = self.sources[node].front()
            && self.packets[packet].at <= now
        {
            let (vc, spec) = (self.first_vc(packet), self.packets[packet]);
            let room = &mut self.tiles[router][tile].room;
            if room.fits(vc, &spec) {
                room.used[vc] += spec.flits;
                self.sources[node].pop_front();
                self.entering[node] = Some((packet, 0));
            }
        }
        let Some((packet, sent)) = self.entering[node] else { return };
        self.entry_budget[node] -= costs;
        let last = sent + 1 == self.packets[packet].flits;
        let at = now + u64::from(self.config.router.netlink_ticks + self.config.router.route_ticks);
        let vc = self.first_vc(packet);
        let flit = Flit { packet, first: sent == 0, last, at, out: 0, vc };
        self.later(at, Due::Flit { router, tile, vc, flit });
        self.entering[node] = (!last).then_some((packet, sent + 1));
    }

    /// An input's row bus moves a flit.
    pub(super) fn row_bus(&mut self, router: usize, tile: usize) {
        let t = &self.tiles[router][tile];
        if t.held[0] == 0 {
            return;
        }
        let (now, columns, vcs) = (self.now, self.config.router.columns as usize, self.config.vcs() as usize);
        // The output of its route, the sub-switch in that column, and the queue there.
        let there = |packet: usize, vc: usize| {
            let out = self.output_of(router, packet, (tile, vc));
            (out, tile / columns * columns + out.0 % columns, tile % columns * vcs + vc)
        };
        let asks = |vc: usize| {
            t.input[vc].ready(now).map(|f| {
                let (_, switch, queue) = there(f.packet, vc);
                (vc, self.tiles[router][switch].switch[queue].room >= self.packets[f.packet].flits)
            })
        };
        let mut bus = t.row_bus;
        let starts = bus.holder.is_none();
        let chosen = bus.choose(vcs, asks);
        let flit = chosen.and_then(|vc| t.input[vc].ready(now));
        let to = flit.zip(chosen).map(|(f, vc)| there(f.packet, vc));
        self.tiles[router][tile].row_bus = bus;
        let (Some(vc), Some(flit), Some((out, switch, queue))) = (chosen, flit, to) else { return };
        let t = &mut self.tiles[router][tile];
        t.input[vc].flits.pop_front();
        t.held[0] -= 1;
        if flit.last {
            t.row_bus.let_go(vc);
        }
        let at = now + u64::from(self.config.router.row_ticks);
        let sub = &mut self.tiles[router][switch];
        if starts {
            sub.switch[queue].room -= self.packets[flit.packet].flits;
        }
        sub.switch[queue].flits.push_back(Flit { at, out: out.0, vc: out.1, ..flit });
        sub.held[1] += 1;
        self.credit(router, tile, vc);
    }

    /// A flit has left an input queue: whoever sends there hears of it.
    fn credit(&mut self, router: usize, tile: usize, vc: usize) {
        let end = (tile < self.links_of(router)).then(|| self.wiring.end(router as u32, tile)).flatten();
        let Some(end) = end else {
            return self.later(self.now + 1, Due::Credit { router, tile, vc });
        };
        // It goes with what this tile sends.
        let to = (end.router as usize, usize::from(end.port));
        let latency =
            u64::from(self.config.link[&self.wiring.classes()[usize::from(end.class)]].latency_ticks);
        if let Some(link) = &mut self.tiles[router][tile].link {
            return link.take_credit(vc);
        }
        self.later(self.now + latency, Due::Credit { router: to.0, tile: to.1, vc });
    }

    /// The buses from a sub-switch to the rows of its column move a flit each.
    pub(super) fn column_buses(&mut self, router: usize, tile: usize) {
        if self.tiles[router][tile].held[1] == 0 {
            return;
        }
        // A queue gives one flit in a cycle.
        let mut read = vec![];
        for row in 0..self.config.router.rows as usize {
            read.extend(self.column_bus(router, tile, row, &read));
        }
    }

    /// The queue that one of them takes a flit from; it must not be among these.
    fn column_bus(&mut self, router: usize, tile: usize, row: usize, read: &[usize]) -> Option<usize> {
        let (now, columns, vcs) = (self.now, self.config.router.columns as usize, self.config.vcs() as usize);
        let to = row * columns + tile % columns;
        let there = |flit: &Flit| tile / columns * vcs + flit.vc;
        let t = &self.tiles[router][tile];
        let ready =
            |queue: usize| t.switch[queue].ready(now).filter(|f| f.out == to && !read.contains(&queue));
        let asks = |queue: usize| {
            ready(queue).map(|f| {
                (f.vc, self.tiles[router][to].buffer[there(&f)].room >= self.packets[f.packet].flits)
            })
        };
        let mut bus = t.column_buses[row];
        let starts = bus.holder.is_none();
        let chosen = bus.choose(t.switch.len(), asks);
        let flit = chosen.and_then(ready);
        self.tiles[router][tile].column_buses[row] = bus;
        let (queue, flit) = (chosen?, flit?);
        let t = &mut self.tiles[router][tile];
        t.switch[queue].flits.pop_front();
        t.switch[queue].room += 1;
        t.held[1] -= 1;
        if flit.last {
            t.column_buses[row].let_go(queue);
        }
        let at = now + u64::from(self.config.router.column_ticks);
        let next = &mut self.tiles[router][to];
        let buffer = &mut next.buffer[there(&flit)];
        if starts {
            buffer.room -= self.packets[flit.packet].flits;
        }
        buffer.flits.push_back(Flit { at, ..flit });
        next.held[2] += 1;
        Some(queue)
    }

    /// A link, or the path to a node, sends what it may in this cycle, and then the credits of the same
    /// cycle.
    pub(super) fn output(&mut self, router: usize, tile: usize) {
        let t = &mut self.tiles[router][tile];
        // It may be ahead by less than a cycle; what it could not use it has lost.
        t.budget = (t.budget + 1000).min(t.costs + 999);
        let budget = t.budget;
        // Otherwise a flit is still on the wire.
        let is_free = t.budget >= t.costs;
        if is_free {
            self.send_flit(router, tile);
        }
        let is_busy = !is_free || self.tiles[router][tile].budget < budget;
        if let Some(link) = &mut self.tiles[router][tile].link {
            let sent = link.send_credits(self.now, is_busy);
            self.on_the_wire(router, tile, sent);
        }
    }

    fn send_flit(&mut self, router: usize, tile: usize) {
        let now = self.now;
        let is_link = tile < self.links_of(router);
        let t = &mut self.tiles[router][tile];
        if let Some(link) = &mut t.link {
            if let Some(sent) = link.send_again(now) {
                t.budget -= t.costs;
                return self.on_the_wire(router, tile, sent);
            }
            if !link.has_room() {
                return;
            }
        }
        if t.held[2] == 0 {
            return;
        }
        let t = &self.tiles[router][tile];
        let asks = |queue: usize| {
            let flit = t.buffer[queue].ready(now);
            flit.map(|f| (f.vc, !is_link || t.room.fits(f.vc, &self.packets[f.packet])))
        };
        let mut output = t.output;
        let starts = output.holder.is_none();
        let chosen = output.choose(t.buffer.len(), asks);
        let flit = chosen.and_then(|queue| t.buffer[queue].ready(now));
        let flits = flit.map_or(0, |f| self.packets[f.packet].flits);
        let t = &mut self.tiles[router][tile];
        t.output = output;
        let (Some(queue), Some(flit)) = (chosen, flit) else { return };
        if starts && is_link {
            t.room.used[flit.vc] += flits;
        }
        t.budget -= t.costs;
        t.buffer[queue].flits.pop_front();
        t.buffer[queue].room += 1;
        t.held[2] -= 1;
        t.sent += 1;
        if flit.last {
            t.output.let_go(queue);
        }
        if is_link {
            let sent = match &mut t.link {
                Some(link) => link.send(flit, flits, now),
                None => super::link::Sent { flit: Some(flit), ..Default::default() },
            };
            self.on_the_wire(router, tile, sent);
        } else if flit.last {
            let at = now + 1 + u64::from(self.config.router.netlink_ticks);
            self.later(at, Due::Whole { packet: flit.packet });
        }
    }

    /// Flits sent on a link arrive at its other end, and credits return.
    fn on_the_wire(&mut self, router: usize, tile: usize, sent: super::link::Sent) {
        let end = self.wiring.end(router as u32, tile).expect("a link");
        let latency =
            u64::from(self.config.link[&self.wiring.classes()[usize::from(end.class)]].latency_ticks);
        let to = (end.router as usize, usize::from(end.port));
        if let Some(flit) = sent.flit {
            let at = self.now + latency + u64::from(self.config.router.route_ticks);
            let flit = Flit { at, ..flit };
            self.later(at, Due::Flit { router: to.0, tile: to.1, vc: flit.vc, flit });
        }
        for vc in sent.credits {
            self.later(self.now + latency, Due::Credit { router: to.0, tile: to.1, vc });
        }
        if let Some((at, news)) = sent.news {
            self.later(at, Due::News { router, tile, news });
        }
    }
}
