use super::*;
use proptest::prelude::*;
use std::sync::Arc;

#[test]
fn messages_arrive_in_order_and_a_full_queue_is_reported() {
    let queue = Queue::<16>::new();
    // SAFETY: the only reader.
    let mut reader = unsafe { Reader::new(&queue) };
    assert!(reader.next().is_none());
    for lap in 0..5u64 {
        for n in 0..16 {
            queue.push(lap * 16 + n, [&[n as u8; 3], b"x"]).unwrap();
        }
        assert_eq!(queue.push(0, [&[], &[]]), Err(Full));
        assert!(reader.has_claimed());
        for n in 0..16 {
            let message = reader.next().unwrap();
            assert_eq!(
                (message.word, message.payload),
                (lap * 16 + n, &[n as u8, n as u8, n as u8, b'x'][..])
            );
            reader.release();
        }
        assert!(reader.next().is_none() && !reader.has_claimed());
    }
}

#[test]
fn what_a_writer_claimed_and_never_wrote_is_left_out() {
    let queue = Queue::<16>::new();
    // SAFETY: the only reader.
    let mut reader = unsafe { Reader::new(&queue) };
    queue.push(7, [&[], &[]]).unwrap();
    // Number 1 is claimed and lost.
    queue.tail.0.fetch_add(1, Ordering::Relaxed);
    queue.push(8, [&[], &[]]).unwrap();
    assert!(!reader.skip_lost(|_| panic!("a message is there")));
    assert_eq!(reader.next().unwrap().word, 7);
    reader.release();
    assert!(reader.next().is_none() && !reader.skip_lost(|_| false));
    assert!(reader.skip_lost(|n| n == 1));
    assert_eq!(reader.next().unwrap().word, 8);
    reader.release();
    assert!(!reader.skip_lost(|_| panic!("nothing is claimed")));
    let records = std::cell::RefCell::new(vec![]);
    queue.push_recorded(0, [&[], &[]], |n| records.borrow_mut().push(n)).unwrap();
    assert_eq!(records.into_inner(), [Some(3), None]);
}

#[test]
fn a_reader_resumes_where_the_last_one_stopped() {
    let queue = Queue::<64>::new();
    for n in 0..200 {
        queue.push(n, [&[], &[]]).unwrap();
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        assert_eq!(reader.next().unwrap().word, n);
        reader.release();
    }
}

#[test]
fn an_only_writer_resumes_where_the_last_one_stopped() {
    let queue = Queue::<16>::new();
    let mut sent = 0..;
    let mut read = 0..;
    for count in [3, 16, 0, 1, 9, 16, 2, 40] {
        // SAFETY: one writer at a time, and the only reader.
        let (mut writer, mut reader) = unsafe { (Writer::new(&queue), Reader::new(&queue)) };
        let accepted = (0..count).take_while(|_| {
            let n = sent.start;
            let is_accepted = writer.push(n, [&[], &[]]).is_ok();
            sent.start += u64::from(is_accepted);
            is_accepted
        });
        let accepted = accepted.count();
        assert!(accepted == count || sent.start - read.start == 16, "{accepted} of {count}");
        for _ in 0..accepted / 2 + 1 {
            let Some(message) = reader.next() else { break };
            assert_eq!(Some(message.word), read.next());
            reader.release();
        }
    }
    // SAFETY: the only reader.
    let mut reader = unsafe { Reader::new(&queue) };
    while let Some(message) = reader.next() {
        assert_eq!(Some(message.word), read.next());
        reader.release();
    }
    assert_eq!(read, sent);
}

#[test]
fn four_writers_lose_nothing_and_keep_their_order() {
    const COUNT: u64 = if cfg!(miri) { 50 } else { 100_000 };
    let queue = Arc::new(Queue::<64>::new());
    let writers: Vec<_> = (0..4u64)
        .map(|writer| {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || {
                for n in 0..COUNT {
                    let payload = n.to_le_bytes().repeat(1 + (n % 60) as usize);
                    while queue.push(writer << 32 | n, [&payload, &[]]).is_err() {
                        std::thread::yield_now();
                    }
                }
            })
        })
        .collect();
    // SAFETY: the only reader.
    let mut reader = unsafe { Reader::new(&queue) };
    let mut next = [0; 4];
    while next.iter().sum::<u64>() < 4 * COUNT {
        let Some(message) = reader.next() else {
            std::thread::yield_now();
            continue;
        };
        let (writer, n) = (message.word as usize >> 32, message.word & 0xffff_ffff);
        assert_eq!(n, next[writer], "of writer {writer}");
        assert_eq!(message.payload, n.to_le_bytes().repeat(1 + (n % 60) as usize));
        next[writer] += 1;
        reader.release();
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

/// A queue with long messages.
type Long = Queue<16, 3>;

/// The bytes of the n-th message: over the turns of the slots that it covers lie those that a reader will
/// expect there, in this lap and in the next.
fn treacherous(at: u64, n: u64, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|i| (n as usize * 7 + i) as u8).collect();
    for slot in 1.. {
        let from = slot * SLOT_B - HEAD_B;
        if from + 4 > length {
            break;
        }
        let lap = if n.is_multiple_of(2) { 0 } else { 16 };
        let turn = (at + slot as u64 + 1 + lap) as u32;
        bytes[from..from + 4].copy_from_slice(&turn.to_le_bytes());
    }
    bytes
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Read(usize),
    NewWriter,
    NewReader,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![0..40usize, 0..=Long::LONG_MAX].prop_map(Step::Write),
        3 => (0..12usize).prop_map(Step::Read),
        1 => Just(Step::NewWriter),
        1 => Just(Step::NewReader),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 500 }, ..Default::default() })]

    /// Messages of all lengths arrive whole and in order, whatever their bytes are, and whether writers and
    /// readers stop and resume or not.
    #[test]
    fn long_messages_arrive_whole(steps in prop::collection::vec(step(), 0..200)) {
        let queue = Long::new();
        // SAFETY: one writer and one reader at a time, here and below.
        let (mut writer, mut reader) = unsafe { (Writer::new(&queue), Some(Reader::new(&queue))) };
        let (mut sent, mut read) = (0, 0);
        let mut waiting = std::collections::VecDeque::new();
        let mut take = |reader: &mut Reader<'_, 16, 3>, waiting: &mut std::collections::VecDeque<Vec<u8>>| {
            let Some(message) = reader.next() else { return assert!(waiting.is_empty(), "{read} is lost") };
            assert_eq!(message.word, read);
            assert_eq!(Some(message.payload), waiting.pop_front().as_deref());
            read += 1;
            reader.release();
        };
        for step in steps {
            match step {
                Step::Write(length) => {
                    let bytes = treacherous(writer.tail, sent, length);
                    let (first, second) = bytes.split_at(length / 3);
                    if writer.push(sent, [first, second]).is_ok() {
                        waiting.push_back(bytes);
                        sent += 1;
                    } else {
                        prop_assert!(!waiting.is_empty(), "an empty queue has no space for {length} B");
                    }
                }
                Step::Read(count) => (0..count).for_each(|_| take(reader.as_mut().unwrap(), &mut waiting)),
                Step::NewWriter => writer = unsafe { Writer::new(&queue) },
                Step::NewReader => {
                    drop(reader.take());
                    reader = Some(unsafe { Reader::new(&queue) });
                }
            }
        }
        (0..17).for_each(|_| take(reader.as_mut().unwrap(), &mut waiting));
    }
}

#[test]
fn an_only_writer_of_all_lengths_beside_its_reader() {
    const COUNT: u64 = if cfg!(miri) { 200 } else { 200_000 };
    let queue = Long::new();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let length = |n: u64| (n * n % 97 * 23) as usize;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the only writer.
            let mut writer = unsafe { Writer::new(&queue) };
            for n in 0..COUNT {
                let bytes = treacherous(writer.tail, n, length(n));
                while writer.push(n, [&bytes, &[]]).is_err() {
                    assert!(std::time::Instant::now() < end, "nobody reads");
                    std::thread::yield_now();
                }
            }
        });
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        for n in 0..COUNT {
            while !reader.has_next() {
                assert!(std::time::Instant::now() < end, "a message is lost");
                std::thread::yield_now();
            }
            // SAFETY: it is there.
            let message = unsafe { reader.message() };
            assert_eq!((message.word, message.payload), (n, &treacherous(reader.head, n, length(n))[..]));
            reader.release();
        }
    });
}
