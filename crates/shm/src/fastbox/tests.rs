use super::*;
use proptest::prelude::*;

/// The fastboxes of a writer.
fn fastboxes<'a>(writer: u32) -> Fastboxes<'a> {
    // SAFETY: tests end one value before they make another.
    unsafe { Fastboxes::new(writer) }
}

fn reader(inbox: &Inbox) -> InboxReader<'_> {
    // SAFETY: tests end one reader before they make another.
    unsafe { InboxReader::new(inbox) }
}

fn read(reader: &mut InboxReader) -> Option<u64> {
    let word = reader.peek()?.word;
    reader.release();
    Some(word)
}

#[test]
fn a_full_queue_gives_the_fastbox_back_and_a_full_fastbox_is_reported() {
    let inbox = Inbox::new();
    let (mut own, mut reader) = (fastboxes(7), reader(&inbox));
    let mut sent = 0..;
    let mut send = || inbox.send(&mut own, 3, sent.next().unwrap());
    (0..=OFTEN).for_each(|_| send().unwrap());
    assert_eq!(inbox.owners(), [7, 0, 0, 0]);
    // Another writer fills the queue, so the announcement of a third finds no place.
    let mut third = fastboxes(9);
    for n in 0..OFTEN {
        inbox.send(&mut third, 3, 1000 + u64::from(n)).unwrap();
    }
    while inbox.queue.push(5000, [&[], &[]]).is_ok() {}
    assert_eq!(inbox.send(&mut third, 3, 1100), Err(Full));
    assert_eq!(inbox.owners(), [7, 0, 0, 0]);
    // The first does not need the queue.
    (1..SLOTS).for_each(|_| send().unwrap());
    assert_eq!(send(), Err(Full));
    let (mut of_first, mut of_third) = (0.., 1000..);
    while let Some(word) = read(&mut reader) {
        match word {
            0..1000 => assert_eq!(of_first.next(), Some(word)),
            1000..5000 => assert_eq!(of_third.next(), Some(word)),
            _ => {}
        }
    }
    assert_eq!((of_first.start, of_third.start), (u64::from(OFTEN) + SLOTS as u64, 1100));
    assert!(!reader.has_claimed());
}

#[test]
fn no_source_waits_for_ever() {
    let inbox = Inbox::new();
    let mut own: Vec<_> = (1..=2).map(fastboxes).collect();
    let mut reader = reader(&inbox);
    for writer in &mut own {
        (0..=OFTEN).for_each(|n| inbox.send(writer, 0, n.into()).unwrap());
        while read(&mut reader).is_some() {}
    }
    // The first writes as fast as it is read; a message of the second and one in the queue wait.
    inbox.send(&mut own[1], 0, 1000).unwrap();
    inbox.queue.push(2000, [&[], &[]]).unwrap();
    let mut seen = vec![];
    for _ in 0..2 * IN_A_ROW + 2 {
        inbox.send(&mut own[0], 0, 0).unwrap();
        seen.extend(read(&mut reader));
    }
    assert!(seen.contains(&1000) && seen.contains(&2000), "{seen:?}");
}

/// A reader that looks at one source alone lets its writer see what it has read, and misses nothing
/// elsewhere.
#[test]
fn a_look_for_more_is_at_the_last_source_and_frees_its_slots() {
    let inbox = Inbox::new();
    let mut own = fastboxes(1);
    let mut reader = reader(&inbox);
    (0..=OFTEN).for_each(|n| inbox.send(&mut own, 0, n.into()).unwrap());
    while read(&mut reader).is_some() {}
    inbox.send(&mut own, 0, 1).unwrap();
    inbox.send(&mut own, 0, 2).unwrap();
    inbox.queue.push(3, [&[], &[]]).unwrap();
    assert_eq!(read(&mut reader), Some(1));
    assert_eq!(reader.peek_more().map(|message| message.word), Some(2));
    reader.release();
    assert!(reader.peek_more().is_none());
    for n in 0..SLOTS as u64 {
        inbox.send(&mut own, 0, 10 + n).unwrap();
    }
    assert_eq!(inbox.send(&mut own, 0, 0), Err(Full));
    let rest: Vec<_> = std::iter::from_fn(|| read(&mut reader)).collect();
    assert!(rest.contains(&3) && rest.len() == SLOTS + 1, "{rest:?}");
}

#[test]
fn writers_that_send_often_have_fastboxes_and_others_have_none() {
    let inboxes: Vec<_> = (0..DESTINATIONS + 3).map(|_| Inbox::new()).collect();
    let mut own = fastboxes(1);
    // Each in turn, so often that none has more than the others: the first ones are kept account of.
    for n in 0..=OFTEN {
        for (destination, inbox) in (0..).zip(&inboxes) {
            inbox.send(&mut own, destination, n.into()).unwrap();
        }
    }
    let with_fastbox = inboxes.iter().filter(|inbox| inbox.owners() == [1, 0, 0, 0]).count();
    assert!((DESTINATIONS - 1..=DESTINATIONS).contains(&with_fastbox), "{with_fastbox}");
    // More writers than fastboxes.
    let inbox = Inbox::new();
    let mut reader = reader(&inbox);
    for writer in 1..=BOXES as u32 + 2 {
        let mut own = fastboxes(writer);
        for n in 0..4 * OFTEN {
            inbox.send(&mut own, 0, n.into()).unwrap();
            assert_eq!(read(&mut reader), Some(n.into()));
        }
    }
    assert_eq!(inbox.owners(), [1, 2, 3, 4]);
}

/// What happens to an inbox.
#[derive(Clone, Debug)]
enum Step {
    Send { writer: usize, messages: u64 },
    Read(usize),
    NewWriter(usize),
    NewReader,
}

const WRITERS: usize = 6;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..WRITERS, 1..150u64).prop_map(|(writer, messages)| Step::Send { writer, messages }),
        4 => (0..400usize).prop_map(Step::Read),
        1 => (0..WRITERS).prop_map(Step::NewWriter),
        1 => Just(Step::NewReader),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 200 }, ..Default::default() })]

    /// Writers and readers stop and resume, at any place: each writer's messages arrive in order, all of
    /// them.
    #[test]
    fn order_holds_across_announcements(steps in prop::collection::vec(step(), 0..60)) {
        let inbox = Inbox::new();
        let mut own: Vec<_> = (1..=WRITERS as u32).map(fastboxes).collect();
        let mut current = Some(reader(&inbox));
        let (mut sent, mut got) = ([0u64; WRITERS], [0u64; WRITERS]);
        let mut take = |reader: &mut InboxReader| {
            let word = read(reader)?;
            let (writer, n) = (word as usize >> 32, word & 0xffff_ffff);
            assert_eq!(n, got[writer], "of writer {writer}");
            got[writer] += 1;
            Some(())
        };
        for step in steps {
            match step {
                Step::Send { writer, messages } => {
                    for _ in 0..messages {
                        let word = (writer as u64) << 32 | sent[writer];
                        sent[writer] += u64::from(inbox.send(&mut own[writer], 0, word).is_ok());
                    }
                }
                Step::Read(messages) => {
                    let reader = current.as_mut().unwrap();
                    let _ = (0..messages).try_for_each(|_| take(reader));
                }
                Step::NewWriter(writer) => own[writer] = fastboxes(writer as u32 + 1),
                Step::NewReader => {
                    drop(current.take());
                    current = Some(reader(&inbox));
                }
            }
        }
        while take(current.as_mut().unwrap()).is_some() {}
        prop_assert!(!current.unwrap().has_claimed());
        prop_assert_eq!(got, sent);
    }
}

#[test]
fn six_writers_at_once_lose_nothing_and_keep_their_order() {
    const COUNT: u64 = if cfg!(miri) { 300 } else { 100_000 };
    let inbox = &Inbox::new();
    // A reader that has failed does not make room.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS as u64 {
            scope.spawn(move || {
                let mut own = fastboxes(writer as u32 + 1);
                for n in 0..COUNT {
                    while inbox.send(&mut own, 0, writer << 32 | n).is_err() {
                        assert!(std::time::Instant::now() < end, "nobody reads");
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut reader = reader(inbox);
        let mut next = [0; WRITERS];
        while next.iter().sum::<u64>() < WRITERS as u64 * COUNT {
            let Some(word) = read(&mut reader) else {
                assert!(std::time::Instant::now() < end, "messages are lost");
                std::thread::yield_now();
                continue;
            };
            let (writer, n) = (word as usize >> 32, word & 0xffff_ffff);
            assert_eq!(n, next[writer], "of writer {writer}");
            next[writer] += 1;
        }
    });
    assert!(inbox.owners().iter().all(|&owner| owner != 0));
}
