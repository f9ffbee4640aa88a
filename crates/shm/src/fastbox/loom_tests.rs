use super::*;
use loom::sync::Arc;

/// A writer changes from the queue to the fastbox, beside one that writes to the queue.
#[test]
fn loom_a_fastbox_is_announced() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let inbox = Arc::new(Inbox::new());
        let often = {
            let inbox = Arc::clone(&inbox);
            loom::thread::spawn(move || {
                // SAFETY: the only one of this number.
                let mut own = unsafe { Fastboxes::new(1) };
                (1..4).filter(|&n| inbox.send(&mut own, 0, n).is_ok()).collect::<Vec<_>>()
            })
        };
        let once = {
            let inbox = Arc::clone(&inbox);
            loom::thread::spawn(move || inbox.queue.push(9, [&[], &[]]).is_ok())
        };
        // SAFETY: the only reader.
        let mut reader = unsafe { InboxReader::new(&inbox) };
        let mut read = || {
            let word = reader.peek().map(|message| message.word);
            word.inspect(|_| reader.release())
        };
        let mut seen: Vec<u64> = (0..2).filter_map(|_| read()).collect();
        let (sent, has_sent) = (often.join().unwrap(), once.join().unwrap());
        seen.extend(std::iter::from_fn(read));
        let (others, own): (Vec<u64>, Vec<u64>) = seen.iter().partition(|&&word| word == 9);
        assert_eq!((own, others.len()), (sent, usize::from(has_sent)));
    });
}
