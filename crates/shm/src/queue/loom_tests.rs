use super::*;
use loom::sync::Arc;

/// Two writers of two messages each into two slots: each slot is used twice, and writers meet a full
/// queue.
#[test]
fn loom_two_writers() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let queue = Arc::new(Queue::<2>::new());
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                let queue = Arc::clone(&queue);
                loom::thread::spawn(move || {
                    (0..2).map(|n| queue.push(writer << 8 | n, [&[n as u8], &[]]).is_ok()).collect::<Vec<_>>()
                })
            })
            .collect();
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        let mut seen = vec![];
        for _ in 0..2 {
            if let Some(message) = reader.next() {
                assert_eq!(message.payload, [message.word as u8]);
                seen.push(message.word);
                reader.release();
            }
        }
        let accepted: Vec<Vec<bool>> = writers.into_iter().map(|w| w.join().unwrap()).collect();
        while let Some(message) = reader.next() {
            seen.push(message.word);
            reader.release();
        }
        for (writer, accepted) in accepted.iter().enumerate() {
            let sent = (0..2).filter(|&n| accepted[n]).map(|n| (writer as u64) << 8 | n as u64);
            let got = seen.iter().copied().filter(|word| word >> 8 == writer as u64);
            assert!(sent.eq(got), "{accepted:?} {seen:?}");
        }
    });
}

/// An only writer of four messages into two slots, which stops and resumes in the middle.
#[test]
fn loom_an_only_writer() {
    loom::model(|| {
        let queue = Arc::new(Queue::<2>::new());
        let writes = {
            let queue = Arc::clone(&queue);
            loom::thread::spawn(move || {
                let mut accepted = 0;
                for _ in 0..2 {
                    // SAFETY: the only writer.
                    let mut writer = unsafe { Writer::new(&queue) };
                    for _ in 0..2 {
                        accepted += u64::from(writer.push(accepted, [&[accepted as u8], &[]]).is_ok());
                    }
                }
                accepted
            })
        };
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        let mut seen = 0;
        let mut read_all = |seen: &mut u64| {
            while let Some(message) = reader.next() {
                assert_eq!((message.word, message.payload), (*seen, &[*seen as u8][..]));
                *seen += 1;
                reader.release();
            }
        };
        read_all(&mut seen);
        let accepted = writes.join().unwrap();
        read_all(&mut seen);
        assert_eq!(seen, accepted);
    });
}

/// A writer that ends before, after or without its claim, beside one that lives: the message of the
/// latter arrives, and nothing blocks the reader.
#[test]
fn loom_a_writer_that_ends() {
    loom::model(|| {
        let shared = Arc::new((Queue::<2>::new(), [0; 2].map(AtomicU64::new), AtomicU32::new(0)));
        let set = |record: &AtomicU64, n: Option<u64>| {
            record.store(n.map_or(0, |n| n + 1), Ordering::Release);
        };
        let dies = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || {
                let (queue, records, has_ended) = &*shared;
                let tail = queue.tail.0.load(Ordering::Relaxed);
                set(&records[0], Some(tail));
                let claim = |from: u64| {
                    queue.tail.0.compare_exchange(from, from + 1, Ordering::Release, Ordering::Relaxed)
                };
                let _ = claim(tail);
                has_ended.store(1, Ordering::Release);
            })
        };
        let lives = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || {
                shared.0.push_recorded(5, [b"x", &[]], |n| set(&shared.1[1], n)).unwrap();
            })
        };
        let (queue, records, has_ended) = &*shared;
        let is_lost = |n: u64| {
            let [ended, living] = [0, 1].map(|at| records[at].load(Ordering::Acquire) == n + 1);
            has_ended.load(Ordering::Acquire) == 1 && ended && !living
        };
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(queue) };
        reader.skip_lost(is_lost);
        let mut found = 0;
        if reader.next().is_some() {
            found += 1;
            reader.release();
        }
        dies.join().unwrap();
        lives.join().unwrap();
        reader.skip_lost(is_lost);
        if let Some(message) = reader.next() {
            assert_eq!((message.word, message.payload), (5, &b"x"[..]));
            found += 1;
            reader.release();
        }
        reader.skip_lost(is_lost);
        assert_eq!(found, 1);
        assert!(!reader.has_claimed());
    });
}
