//! What each of the two tasks does: it calls PAMI as a program in C would.
#![allow(unsafe_code)]

use super::Case;
use super::contexts::Contexts;
use netloom_shm::bare;
use netloom_shm::segment::ENVIRONMENT;
use pami::abi::{self, DispatchHints, Receive, Send, SendEvents, SendImmediate, iovec};
use pami::{client, context, dispatch, send};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The processors that this process may use.
pub fn allowed() -> Vec<usize> {
    // SAFETY: a set is valid with all bytes zero; the system call writes at most its length.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &set)).collect()
    }
}

/// The thread runs on this core from now on.
pub fn pin(core: usize) {
    // SAFETY: a set is valid with all bytes zero; `core` is one of those of such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// Dispatch identifiers, and what their functions count.
#[derive(Clone, Copy)]
enum Count {
    /// Messages that arrive.
    Message,
    /// Messages of a bandwidth test whose data has arrived.
    Received,
    /// Sends whose buffer is free.
    Sent,
}

/// The length of the longest message.
const LARGEST_B: usize = 16 << 20;
/// Sends at a time in a test of bandwidth.
const IN_FLIGHT: u64 = 4;

/// Only the thread that advances the context changes them.
static COUNTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// Where data of the bandwidth test goes.
static TARGET: AtomicU64 = AtomicU64::new(0);

fn count(what: Count) {
    let counter = &COUNTS[what as usize];
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

fn counted(what: Count) -> u64 {
    COUNTS[what as usize].load(Ordering::Relaxed)
}

unsafe extern "C" fn message(
    _: *mut c_void,
    _: *mut c_void,
    _: *const c_void,
    _: usize,
    _: *const c_void,
    _: usize,
    _: u32,
    _: *mut Receive,
) {
    count(Count::Message);
}

unsafe extern "C" fn bulk(
    _: *mut c_void,
    _: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *const c_void,
    bytes: usize,
    _: u32,
    receive: *mut Receive,
) {
    let target = TARGET.load(Ordering::Relaxed) as *mut u8;
    // SAFETY: PAMI gives either the data or a record to fill in; the target is as long as the longest
    // message.
    unsafe {
        match receive.as_mut() {
            None => {
                target.copy_from_nonoverlapping(data.cast(), bytes);
                count(Count::Received);
            }
            Some(receive) => {
                receive.addr = target.cast();
                receive.local_fn = Some(received);
            }
        }
    }
}

unsafe extern "C" fn received(_: *mut c_void, _: *mut c_void, result: abi::Result) {
    if result == abi::SUCCESS {
        count(Count::Received);
    }
}

unsafe extern "C" fn sent(_: *mut c_void, _: *mut c_void, result: abi::Result) {
    if result == abi::SUCCESS {
        count(Count::Sent);
    }
}

/// Memory of a bandwidth test.
struct Buffer(*mut u8);

impl Buffer {
    /// Zeros in pages of 4 KiB, or in huge ones if the system has them.
    fn new(is_huge: bool) -> Result<Self, String> {
        const HUGE: usize = 2 << 20;
        let bytes = LARGEST_B + HUGE;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which overlaps nothing, and is written as a whole.
        unsafe {
            let base = libc::mmap(null_mut(), bytes, protection, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return Err(format!("cannot allocate {bytes} B: {}", std::io::Error::last_os_error()));
            }
            let base = base.cast::<u8>();
            let start = base.add(base.align_offset(HUGE));
            libc::madvise(
                base.cast(),
                bytes,
                if is_huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE },
            );
            start.write_bytes(1, LARGEST_B);
            Ok(Buffer(start))
        }
    }
}

/// This task's side of the job.
struct Task {
    number: usize,
    context: *mut c_void,
    peer: u32,
    shared: &'static bare::Shared,
}

/// That a call has succeeded.
pub fn check(call: &str, result: abi::Result) -> Result<(), String> {
    if result == abi::SUCCESS { Ok(()) } else { Err(format!("{call} returned {result}")) }
}

impl Task {
    fn join(shared: &'static bare::Shared, number: usize) -> Result<Self, String> {
        let (mut handle, mut context, mut peer) = (null_mut(), null_mut(), 0);
        // SAFETY: calls with places for their results.
        unsafe {
            check(
                "PAMI_Client_create",
                client::PAMI_Client_create(c"bench".as_ptr(), &mut handle, null_mut(), 0),
            )?;
            let made = context::PAMI_Context_createv(handle, null_mut(), 0, &mut context, 1);
            check("PAMI_Context_createv", made)?;
            let endpoint = client::PAMI_Endpoint_create(handle, 1 - number as u32, 0, &mut peer);
            check("PAMI_Endpoint_create", endpoint)?;
            for (of, function) in
                [(Count::Message, message as abi::DispatchFunction), (Count::Received, bulk)]
            {
                let hints = DispatchHints(0);
                let set =
                    dispatch::PAMI_Dispatch_set(context, of as usize, Some(function), null_mut(), hints);
                check("PAMI_Dispatch_set", set)?;
            }
        }
        Ok(Task { number, context, peer, shared })
    }

    fn send_of(&self, of: Count, data: *mut u8, bytes: usize) -> SendImmediate {
        let header = iovec { iov_base: null_mut(), iov_len: 0 };
        let data = iovec { iov_base: data.cast(), iov_len: bytes };
        SendImmediate { header, data, dispatch: of as usize, hints: 0, dest: self.peer }
    }

    fn advance_until(&self, of: Count, value: u64) {
        while counted(of) < value {
            // SAFETY: the context lives as long as the task.
            unsafe { context::PAMI_Context_advance(self.context, 100) };
        }
    }

    fn send_immediate(&self, message: &mut SendImmediate) -> Result<(), String> {
        // SAFETY: the context lives as long as the task, the data as long as the call.
        check("PAMI_Send_immediate", unsafe { send::PAMI_Send_immediate(self.context, message) })
    }

    /// Half round trip of messages of 8 B, s.
    fn half_round_trip_s(&self, rounds: u64) -> Result<f64, String> {
        let mut data = [0u8; 8];
        let mut message = self.send_of(Count::Message, data.as_mut_ptr(), data.len());
        let first = counted(Count::Message);
        self.shared.barrier(self.number);
        let began = Instant::now();
        for round in first + 1..=first + rounds {
            if self.number == 1 {
                self.advance_until(Count::Message, round);
            }
            self.send_immediate(&mut message)?;
            if self.number == 0 {
                self.advance_until(Count::Message, round);
            }
        }
        Ok(began.elapsed().as_secs_f64() / rounds as f64 / 2.0)
    }

    /// Messages of 8 B per second, from task 0 to task 1.
    fn messages_per_s(&self, total: u64) -> Result<f64, String> {
        let mut data = [0u8; 8];
        let mut message = self.send_of(Count::Message, data.as_mut_ptr(), data.len());
        let first = counted(Count::Message);
        self.shared.barrier(self.number);
        let began = Instant::now();
        if self.number == 0 {
            for n in 0..total {
                self.send_immediate(&mut message)?;
                if n % 64 == 63 {
                    // SAFETY: the context lives as long as the task.
                    unsafe { context::PAMI_Context_advance(self.context, 1) };
                }
            }
            // What had no space waits in the context; the other task reports the end.
            self.advance_until(Count::Message, first + 1);
        } else {
            self.advance_until(Count::Message, first + total);
            self.send_immediate(&mut message)?;
        }
        Ok(total as f64 / began.elapsed().as_secs_f64())
    }

    /// Bandwidth of sends from task 0 to task 1, bytes per second.
    fn bandwidth_b_per_s(&self, buffer: &Buffer, bytes: usize, total: u64) -> Result<f64, String> {
        let events = SendEvents { cookie: null_mut(), local_fn: Some(sent), remote_fn: None };
        let mut send = Send { send: self.send_of(Count::Received, buffer.0, bytes), events };
        let mut answer = self.send_of(Count::Message, null_mut(), 0);
        TARGET.store(buffer.0 as u64, Ordering::Relaxed);
        let [sends, messages, receives] = [Count::Sent, Count::Message, Count::Received].map(counted);
        self.shared.barrier(self.number);
        let began = Instant::now();
        if self.number == 0 {
            for n in 1..=total {
                // SAFETY: the context and the buffer live as long as the task.
                check("PAMI_Send", unsafe { send::PAMI_Send(self.context, &mut send) })?;
                self.advance_until(Count::Sent, sends + n.saturating_sub(IN_FLIGHT));
            }
            self.advance_until(Count::Sent, sends + total);
            self.advance_until(Count::Message, messages + 1);
        } else {
            self.advance_until(Count::Received, receives + total);
            self.send_immediate(&mut answer)?;
        }
        Ok(total as f64 * bytes as f64 / began.elapsed().as_secs_f64())
    }
}

/// Bandwidth of `memcpy` within a process, bytes per second.
fn memcpy_b_per_s([from, to]: &[Buffer; 2], bytes: usize, total: u64) -> f64 {
    use std::hint::black_box;
    let copy = || {
        // SAFETY: two buffers, each as long as the longest message.
        unsafe { black_box(to.0).copy_from_nonoverlapping(black_box(from.0), bytes) };
    };
    // The first time may find the data elsewhere.
    copy();
    let began = Instant::now();
    (0..total).for_each(|_| copy());
    total as f64 * bytes as f64 / began.elapsed().as_secs_f64()
}

/// The best of several repetitions, with its reference.
fn add(cases: &mut Vec<Case>, name: &str, bytes: usize, unit: &str, value: f64, reference: Option<f64>) {
    let case = Case {
        name: name.into(),
        bytes,
        value,
        unit: unit.into(),
        reference,
        ratio: reference.map(|reference| value / reference),
    };
    match cases.iter_mut().find(|known| known.name == case.name && known.bytes == bytes) {
        None => cases.push(case),
        Some(known) => {
            let is_better = if unit == "ns" { value < known.value } else { value > known.value };
            if is_better {
                *known = case;
            }
        }
    }
}

/// Measures everything; task 0 has the figures.
pub fn run(shared: i32, cores: [usize; 2], quick: bool) -> Result<Option<Vec<Case>>, String> {
    let shared = bare::map(shared).map_err(|error| format!("cannot map the shared memory: {error}"))?;
    let number = match std::env::var(ENVIRONMENT[1]).as_deref() {
        Ok("0") => 0,
        Ok("1") => 1,
        _ => return Err("--task is for the tasks that `netloom bench messaging` starts".into()),
    };
    pin(cores[number]);
    let task = Task::join(shared, number)?;
    let (share, repetitions) = if quick { (20, 1) } else { (1, 3) };
    let buffers = [false, true].map(|is_huge| Ok([Buffer::new(is_huge)?, Buffer::new(is_huge)?]));
    let mut cases = vec![];
    // Virtual cores move now and then: short measurements in turns see the same places.
    for _ in 0..5 * repetitions {
        let bare = shared.ping_pong_s(number, 200_000 / share);
        let half = task.half_round_trip_s(100_000 / share)?;
        add(&mut cases, "cache line, half round trip", 8, "ns", bare * 1e9, None);
        add(&mut cases, "PAMI_Send_immediate, half round trip", 8, "ns", half * 1e9, Some(bare * 1e9));
        let rate = task.messages_per_s(1_000_000 / share)?;
        add(&mut cases, "PAMI_Send_immediate, message rate", 8, "1/s", rate, None);
    }
    for _ in 0..repetitions {
        for (pages, buffers) in ["4 KiB pages", "huge pages"].iter().zip(&buffers) {
            let buffers = buffers.as_ref().map_err(|error: &String| error.clone())?;
            for bytes in [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, LARGEST_B] {
                if bytes < 1 << 20 && *pages == "huge pages" {
                    continue;
                }
                let total = (2_000_000_000 / bytes as u64 / share).clamp(4, 100_000);
                // One after the other: each has the memory's whole bandwidth.
                shared.barrier(number);
                let copy = if number == 0 { memcpy_b_per_s(buffers, bytes, total) } else { 1.0 };
                let bandwidth = task.bandwidth_b_per_s(&buffers[0], bytes, total)?;
                add(&mut cases, &format!("memcpy, {pages}"), bytes, "B/s", copy, None);
                add(&mut cases, &format!("PAMI_Send, {pages}"), bytes, "B/s", bandwidth, Some(copy));
            }
        }
    }
    shared.barrier(number);
    if number == 0 {
        let contexts = Contexts::create(0)?;
        for _ in 0..5 * repetitions {
            let total = 1_000_000 / share;
            let one = contexts.rate(&cores[..1], total)?;
            let two = contexts.rate(&cores, total)?;
            add(&mut cases, "rate to itself, 1 context", 8, "1/s", one, None);
            add(&mut cases, "rate to themselves, 2 contexts", 8, "1/s", two, Some(2.0 * one));
        }
    }
    shared.rest(number);
    Ok((number == 0).then_some(cases))
}
