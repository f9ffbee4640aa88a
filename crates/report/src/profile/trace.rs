//! A profile as trace events of Chrome's format, which ui.perfetto.dev opens: a process for each rank with a
//! track for each of its threads, calls as slices, messages as arrows, also to communication threads.

use crate::write::timeline::{Writer, us, whole};
use netloom_study::profile::{CallSpan, Profile};
use serde_json::{Value, json};
use std::collections::BTreeSet;

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
    let calling: BTreeSet<_> = profile.threads.iter().map(|thread| (thread.task, thread.thread)).collect();
    let mut others = BTreeSet::new();
    for (number, message) in profile.messages.iter().enumerate() {
        // An arrow leads from slice to slice, and a communication thread makes no calls.
        let ends = [(message.from, message.sent_ns, "send"), (message.to, message.received_ns, "take")];
        for (thread, at_ns, name) in ends.into_iter().filter(|(thread, ..)| !calling.contains(thread)) {
            let (track, at) = (track(thread), whole(at_ns));
            if others.insert(thread) {
                let name = format!("communication thread {}", thread.1);
                writer.name("thread_name", track.0, track.1, &name);
            }
            writer.slice(track, (at, at), ("message", name), json!({ "bytes": message.bytes }));
        }
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use netloom_study::profile::{CallTotals, Message, Parts, ThreadProfile};

    /// Two ranks: the first sends to the second, which waits.
    pub(crate) fn two_ranks() -> Profile {
        let parts = |software_ns, partner_ns| Parts { software_ns, partner_ns, ..Parts::default() };
        let thread = |task, name, from_ns, parts: Parts| {
            let call = CallSpan { name, from_ns, to_ns: from_ns + parts.sum_ns(), parts };
            let totals = CallTotals { name, count: 1, longest_ns: parts.sum_ns(), parts };
            let (by_name, calls) = (vec![totals], vec![call]);
            ThreadProfile { task, node: task, end_ns: 9000.0, by_name, calls, ..ThreadProfile::default() }
        };
        let message = Message {
            from: (0, 0),
            to: (1, 0),
            sent_ns: 5000.25,
            received_ns: 7000.5,
            bytes: 8,
            ..Message::default()
        };
        Profile {
            program: "pair".into(),
            machine: "bgq".into(),
            tasks: 2,
            tasks_per_node: 1,
            end_ns: 9000.0,
            names: vec!["MPI_Recv".into(), "MPI_Send".into()],
            threads: vec![thread(0, 1, 5000.0, parts(400.0, 0.0)), thread(1, 0, 100.0, parts(600.0, 6400.0))],
            messages: vec![message],
            dropped: 0,
        }
    }

    #[test]
    fn a_thread_without_calls_takes_a_message_in_a_slice_of_its_own() {
        let mut profile = two_ranks();
        profile.messages[0].to = (1, 3);
        let trace: Value = serde_json::from_str(&to_json(&profile)).unwrap();
        let of_thread = |phase: &str| -> Vec<Value> {
            let events = trace["traceEvents"].as_array().unwrap().iter();
            events.filter(|e| e["ph"] == phase && e["pid"] == 1 && e["tid"] == 4).cloned().collect()
        };
        assert_eq!(of_thread("M")[0]["args"]["name"], "communication thread 3");
        let (slices, arrows) = (of_thread("X"), of_thread("f"));
        assert_eq!((slices.len(), arrows.len()), (1, 1));
        assert_eq!((&slices[0]["name"], &slices[0]["ts"]), (&Value::from("take"), &arrows[0]["ts"]));
    }

    #[test]
    fn the_trace_is_json_and_its_arrows_lead_from_call_to_call() {
        let trace: Value = serde_json::from_str(&to_json(&two_ranks())).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |phase: &str| -> Vec<&Value> { events.iter().filter(|e| e["ph"] == phase).collect() };
        let names: Vec<&Value> = of("M").iter().map(|e| &e["args"]["name"]).collect();
        assert!(names.contains(&&Value::from("rank 1, node 1")), "{names:?}");
        let (calls, begins, ends) = (of("X"), of("s"), of("f"));
        assert_eq!((calls.len(), begins.len(), ends.len()), (2, 1, 1));
        assert_eq!(calls[1]["args"]["partner_us"], 6.4);
        assert_eq!(begins[0]["id"], ends[0]["id"]);
        for arrow in [begins[0], ends[0]] {
            let at = arrow["ts"].as_f64().unwrap();
            let call = calls.iter().find(|call| call["pid"] == arrow["pid"] && call["tid"] == arrow["tid"]);
            let call = call.expect("a call on the same track");
            let from = call["ts"].as_f64().unwrap();
            assert!((from..=from + call["dur"].as_f64().unwrap()).contains(&at), "{arrow} outside of {call}");
        }
    }
}
