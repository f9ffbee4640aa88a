//! What the tasks of `netloom exec` waited for when the time limit was reached, and why a program hangs that
//! hangs: by a comparison of all.

use netloom_mpi::waits::Waits;
use netloom_mpi::waits::compare::Job;
use netloom_mpi::waits::words::counted;
use netloom_shm::launch::AtLimit;

/// Most lines about tasks.
const LINES: usize = 40;

/// The lines. Tasks that say the same share one.
pub fn lines(at_limit: &AtLimit) -> Vec<String> {
    let AtLimit { waiting, silent, ended } = at_limit;
    let mut groups: Vec<(String, Vec<u32>)> = vec![];
    for (&task, of) in waiting {
        let words = of.lines.join("; ");
        match groups.iter_mut().find(|(others, _)| *others == words) {
            Some((_, tasks)) => tasks.push(task),
            None => groups.push((words, vec![task])),
        }
    }
    let more = groups.len().saturating_sub(LINES);
    let of_group = |(words, tasks): &(String, Vec<u32>)| match words.as_str() {
        "" => format!("{}: in a call that waited", counted("task", tasks)),
        words => format!("{}: {words}", counted("task", tasks)),
    };
    let mut lines: Vec<String> = groups.iter().take(LINES).map(of_group).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    if !silent.is_empty() {
        let was = if silent.len() == 1 { "was" } else { "were" };
        lines.push(format!("{} {was} in no call that waited for long", counted("task", silent)));
    }
    // Only what uses a library above PAMI has something to compare.
    let waits = waiting.iter().filter_map(|(&task, of)| Some((task, Waits::of_bytes(&of.state)?))).collect();
    let sentences = Job { waits, ended: ended.iter().copied().collect() }.sentences();
    lines.extend(sentences.into_iter().map(|sentence| format!("at that moment: {sentence}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_shm::launch::Waiting;

    #[test]
    fn tasks_that_say_the_same_share_a_line() {
        let waiting = |text: &str| Waiting { lines: vec![text.into()], state: vec![] };
        let words = |task| if task % 4 == 0 { "MPI_Recv" } else { "MPI_Barrier" };
        let told = (0..7).map(|task| (task, waiting(words(task)))).collect();
        let at_limit = AtLimit { waiting: told, silent: vec![7], ended: vec![] };
        let expected = [
            "tasks 0 and 4: MPI_Recv",
            "tasks 1 to 3, 5 and 6: MPI_Barrier",
            "task 7 was in no call that waited for long",
        ];
        assert_eq!(lines(&at_limit), expected);
        let told = (0..50).map(|task| (task, waiting(&task.to_string()))).collect();
        let all = lines(&AtLimit { waiting: told, ..AtLimit::default() });
        assert_eq!((all.len(), all.last().unwrap().as_str()), (LINES + 1, "and 10 more"));
        assert_eq!(lines(&AtLimit::default()), [""; 0]);
    }
}
