//! `timeline.json`: what some nodes did when, in the trace-event format of Chrome, which ui.perfetto.dev
//! opens.
//!
//! A node is a process there. Its rank has a thread for the steps of its program, one for the calls that send
//! and one for the receives that complete. Messages and packets overlap, so they are asynchronous events.
//! Arrows lead from the call that sends a message to its receipt.

use netloom_study::timeline::{Activity, MessageSpan, NodeTimeline, PacketSpan, StepSpan, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Threads of a rank.
const STEPS: u32 = 1;
const SENDS: u32 = 2;
const RECEIVES: u32 = 3;

/// A time in whole nanoseconds. What ends when the next begins still does so then.
pub(crate) fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// Nanoseconds in the format's unit, microseconds.
pub(crate) fn us(ns: u64) -> Value {
    Value::from(ns as f64 / 1e3)
}

/// The sender, the receiver and the number of a message, which identify its two ends.
type MessageId = (u32, u32, u32);

fn text_of((from, to, number): MessageId) -> String {
    format!("{from}-{to}-{number}")
}

/// Trace events as JSON, an event per line.
pub(crate) struct Writer {
    text: String,
    events: usize,
}

impl Writer {
    /// Without events.
    pub fn new() -> Self {
        Writer { text: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[".into(), events: 0 }
    }

    /// The whole text, of a timeline without this number of events.
    pub fn finish(self, left_out: u64) -> String {
        self.text + &format!("\n],\"otherData\":{{\"events_left_out\":{left_out}}}}}\n")
    }

    fn put(&mut self, event: Value) {
        let comma = if self.events == 0 { "" } else { "," };
        self.events += 1;
        write!(self.text, "{comma}\n{event}").expect("text grows");
    }

    /// A name of a process, or of one of its threads.
    pub fn name(&mut self, what: &str, node: u32, thread: u32, name: &str) {
        self.put(json!({ "ph": "M", "name": what, "pid": node, "tid": thread, "args": { "name": name } }));
    }

    /// A process stands in the order of its number.
    pub fn sort(&mut self, node: u32) {
        self.put(json!({
            "ph": "M", "name": "process_sort_index", "pid": node, "tid": 0, "args": { "sort_index": node },
        }));
    }

    /// Something that takes from one time to another, at least 1 ns.
    pub fn slice(
        &mut self,
        (node, thread): (u32, u32),
        (from, to): (u64, u64),
        (category, name): (&str, &str),
        args: Value,
    ) {
        self.put(json!({
            "ph": "X", "cat": category, "name": name, "pid": node, "tid": thread,
            "ts": us(from), "dur": us(to.saturating_sub(from).max(1)), "args": args,
        }));
    }

    /// Something that may overlap with others of its name.
    fn span(
        &mut self,
        node: u32,
        id: String,
        (from, to): (u64, u64),
        (category, name): (&str, &str),
        args: Value,
    ) {
        self.put(json!({
            "ph": "b", "cat": category, "name": name, "pid": node, "tid": 0, "id": id, "ts": us(from), "args": args,
        }));
        self.put(json!({
            "ph": "e", "cat": category, "name": name, "pid": node, "tid": 0, "id": id, "ts": us(to.max(from)),
        }));
    }

    fn steps(&mut self, node: u32, steps: &[StepSpan]) {
        for step in steps {
            let (name, args) = match &step.activity {
                Activity::Compute => ("compute".into(), json!({})),
                Activity::Software => ("messaging software".into(), json!({})),
                Activity::Injection => ("injection".into(), json!({})),
                Activity::Wait { awaited, partner_ns, wire_ns, queueing_ns } => (
                    format!("wait for {awaited}"),
                    json!({
                        "partner_us": us(whole(*partner_ns)),
                        "wire_us": us(whole(*wire_ns)),
                        "queueing_us": us(whole(*queueing_ns)),
                    }),
                ),
            };
            let time = (whole(step.from_ns), whole(step.to_ns));
            self.slice((node, STEPS), time, ("step", &name), args);
        }
    }

    /// An end of an arrow.
    pub fn arrow(
        &mut self,
        phase: &str,
        (node, thread): (u32, u32),
        at: u64,
        (id, name): (&str, &str),
        args: Option<Value>,
    ) {
        let mut event = json!({
            "ph": phase, "cat": "message", "name": name, "pid": node, "tid": thread, "ts": us(at), "id": id,
        });
        if let Some(args) = args {
            event["args"] = args;
        }
        if phase == "f" {
            event["bp"] = "e".into();
        }
        self.put(event);
    }

    fn messages(&mut self, of: &NodeTimeline, rank: u32, ends: &Ends) {
        for send in &of.sends {
            let id = (rank, send.peer, send.number);
            let time = (whole(send.from_ns), whole(send.to_ns));
            let name = format!("send {} B to rank {}", send.bytes, send.peer);
            self.slice((of.node, SENDS), time, ("send", &name), facts(send));
            if ends.received.contains_key(&id) {
                self.arrow("s", (of.node, SENDS), time.0, (&text_of(id), "message"), None);
            }
        }
        for receive in &of.receives {
            let id = (receive.peer, rank, receive.number);
            let done = whole(receive.to_ns);
            let name = format!("received {} B from rank {}", receive.bytes, receive.peer);
            self.slice((of.node, RECEIVES), (done, done), ("receive", &name), facts(receive));
            // If the sender is not shown, only the receiver's part is known.
            let sent = ends.sent.get(&id).copied();
            if sent.is_some() {
                self.arrow("f", (of.node, RECEIVES), done, (&text_of(id), "message"), None);
            }
            let began = sent.unwrap_or(whole(receive.from_ns));
            let text = format!("m{}-{}-{}", id.0, id.1, id.2);
            self.span(of.node, text, (began, done), ("message", "messages received"), facts(receive));
        }
    }

    fn packet(&mut self, number: usize, packet: &PacketSpan, is_shown: impl Fn(u32) -> bool) {
        let args = json!({
            "source": packet.source,
            "destination": packet.destination,
            "length": packet.length,
            "made_us": us(whole(packet.made_ns)),
        });
        let time = (whole(packet.from_ns), whole(packet.to_ns));
        for (node, name) in [(packet.source, "packets sent"), (packet.destination, "packets received")] {
            if is_shown(node) {
                let id = format!("p{number}-{name}");
                self.span(node, id, time, ("packet", name), args.clone());
            }
        }
    }
}

/// The known parts of a message.
fn facts(message: &MessageSpan) -> Value {
    json!({ "peer": message.peer, "bytes": message.bytes, "tag": message.tag })
}

/// When the messages whose ends are shown were sent and received.
struct Ends {
    sent: BTreeMap<MessageId, u64>,
    received: BTreeMap<MessageId, u64>,
}

impl Ends {
    fn of(timeline: &Timeline) -> Self {
        let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
        for (node, rank) in timeline.nodes.iter().filter_map(|node| Some((node, node.rank?))) {
            sent.extend(node.sends.iter().map(|m| ((rank, m.peer, m.number), whole(m.from_ns))));
            received.extend(node.receives.iter().map(|m| ((m.peer, rank, m.number), whole(m.to_ns))));
        }
        Ends { sent, received }
    }
}

/// A timeline as JSON, an event per line.
pub fn to_json(timeline: &Timeline) -> String {
    let mut writer = Writer::new();
    let ends = Ends::of(timeline);
    for of in &timeline.nodes {
        let rank = of.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        writer.name("process_name", of.node, 0, &format!("node {}{rank}", of.node));
        if let Some(rank) = of.rank {
            for (thread, name) in [(STEPS, "program"), (SENDS, "sends"), (RECEIVES, "receives")] {
                writer.name("thread_name", of.node, thread, name);
            }
            writer.steps(of.node, &of.steps);
            writer.messages(of, rank, &ends);
        }
    }
    let is_shown = |node| timeline.nodes.binary_search_by_key(&node, |of| of.node).is_ok();
    for (number, packet) in timeline.packets.iter().enumerate() {
        writer.packet(number, packet, is_shown);
    }
    writer.finish(timeline.dropped)
}
