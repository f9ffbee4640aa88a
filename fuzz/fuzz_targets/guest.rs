//! Requests of guests: whatever is in the messages of four of them, each is executed or refused with a
//! reason. A message is a byte whose low bits are the task, a byte with its length, and its bytes; each task
//! first creates a context.
#![no_main]

#[path = "../../crates/guest/tests/scripted/mod.rs"]
mod scripted;

use libfuzzer_sys::fuzz_target;
use scripted::{Script, TASKS, opens, run, run_with_messages};

fuzz_target!(|bytes: &[u8]| {
    let mut scripts: [Script; TASKS as usize] = std::array::from_fn(|_| Script::from([opens()]));
    let mut rest = bytes;
    while let [task, length, message @ ..] = rest {
        let length = usize::from(*length).min(message.len());
        scripts[usize::from(*task) % scripts.len()].push_back(message[..length].to_vec());
        rest = &message[length..];
    }
    let (with_messages, per_node) = (scripts.clone(), 1 + bytes.len() as u32 % 2);
    for (task, why) in run(scripts).into_iter().chain(run_with_messages(false, per_node, with_messages)) {
        assert!(task < TASKS && !why.is_empty());
    }
});
