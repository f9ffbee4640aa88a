//! A profile as trace events of Chrome's format, which ui.perfetto.dev opens: a process for each rank with a
//! track for each of its threads, calls as slices, messages as arrows.

use crate::write::timeline::{Writer, us, whole};
use netloom_study::profile::{CallSpan, Profile};
use serde_json::{Value, json};

/// The track of a thread.
fn track((task, thread): (u32, u32)) -> (u32, u32) {
    (task, thread + 1)
}

fn parts(call: &CallSpan) -> Value {
    let parts = &call.parts;
    json!({
        "software_us": us(whole(parts.software_ns)),
        "injection_us": us(whole(parts.injection_ns)),
        "partner_us": us(whole(parts.partner_ns)),
        "wire_us": us(whole(parts.wire_ns)),
        "queueing_us": us(whole(parts.queueing_ns)),
    })
}

/// The trace as JSON, an event per line.
pub fn to_json(profile: &Profile) -> String {
    let mut writer = Writer::new();
    let mut named = None;
    for thread in &profile.threads {
        let at = track((thread.task, thread.thread));
        if named.replace(thread.task) != Some(thread.task) {
            let name = format!("rank {}, node {}", thread.task, thread.node);
            writer.name("process_name", thread.task, 0, &name);
            writer.sort(thread.task);
        }
        let name =
            if thread.thread == 0 { "calls".into() } else { format!("calls of thread {}", thread.thread) };
        writer.name("thread_name", at.0, at.1, &name);
        for call in &thread.calls {
            let time = (whole(call.from_ns), whole(call.to_ns));
            writer.slice(at, time, ("call", &profile.names[call.name]), parts(call));
        }
    }
    for (number, message) in profile.messages.iter().enumerate() {
        let id = number.to_string();
        let name = if message.is_collective { "message of a collective" } else { "message" };
        let args = json!({
            "bytes": message.bytes, "tag": message.tag, "from": message.from.0, "to": message.to.0,
        });
        writer.arrow("s", track(message.from), whole(message.sent_ns), (&id, name), Some(args));
        writer.arrow("f", track(message.to), whole(message.received_ns), (&id, name), None);
    }
    writer.finish(profile.dropped)
}
