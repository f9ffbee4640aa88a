//! Several processes, on one computer or many, run the points of a sweep in one folder: each point is claimed
//! by a file in its folder, which a file system creates for one of them only.
//!
//! Claims have numbers. The highest is the one that counts. It is stale if its process has ended, as far as
//! that can be seen from here, or if it has not been written for long: whoever creates the next one takes the
//! point over. Age is measured by the file system's clock, so computers may differ in theirs.

use crate::folder::own_number;
use netloom_study::diagnose::Problem;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// How often a claim is written again, and the age from which it is stale.
const BEAT: Duration = Duration::from_secs(10);
const STALE: Duration = Duration::from_secs(90);
/// The name of a claim, before its number.
const NAME: &str = ".claim-";

/// The claims of this process.
pub(super) struct Claims {
    own: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Writes them again; ends when the sender is dropped.
    beat: Option<(Sender<()>, JoinHandle<()>)>,
    stale: Duration,
}

impl Claims {
    /// None at first.
    pub fn new() -> Self {
        Self::with(BEAT, STALE)
    }

    fn with(beat: Duration, stale: Duration) -> Self {
        let own: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let (sender, receiver) = channel();
        let claims = Arc::clone(&own);
        let beats = move || {
            while receiver.recv_timeout(beat) == Err(RecvTimeoutError::Timeout) {
                for claim in &*lock(&claims) {
                    // If it cannot be written, others take the point over, at worst to the same end.
                    let _ = fs::write(claim, Owner::here().text());
                }
            }
        };
        let thread = std::thread::Builder::new().name("claims".into()).spawn(beats);
        Claims { own, beat: thread.ok().map(|thread| (sender, thread)), stale }
    }

    /// Claims the point with this folder, which is created; `false` if another process has it.
    ///
    /// # Errors
    /// File system errors.
    pub fn claim(&self, folder: &Path) -> Result<bool, Problem> {
        self.try_to_claim(folder)
            .map_err(|e| Problem::new(format!("cannot claim the point {}: {e}", folder.display())))
    }

    fn try_to_claim(&self, folder: &Path) -> std::io::Result<bool> {
        fs::create_dir_all(folder)?;
        let last = numbers(folder)?.into_iter().max();
        if let Some(number) = last
            && !self.is_stale(&path(folder, number))?
        {
            return Ok(false);
        }
        let next = path(folder, last.map_or(1, |number| number + 1));
        // Held meanwhile, so that a beat does not create it again after it was given up.
        let mut own = lock(&self.own);
        match OpenOptions::new().write(true).create_new(true).open(&next) {
            Ok(mut file) => {
                own.insert(next);
                file.write_all(Owner::here().text().as_bytes()).map(|()| true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives up the claim of the point with this folder, and those that it replaced; not one by which another
    /// process has taken the point over.
    pub fn release(&self, folder: &Path) {
        let mut own = lock(&self.own);
        let mut numbers = numbers(folder).unwrap_or_default();
        let last = numbers.iter().copied().filter(|&number| own.remove(&path(folder, number))).max();
        numbers.retain(|&number| Some(number) <= last);
        for number in numbers {
            let _ = fs::remove_file(path(folder, number));
        }
    }

    fn is_stale(&self, claim: &Path) -> std::io::Result<bool> {
        let (text, written) = match fs::read_to_string(claim).and_then(|text| Ok((text, written_at(claim)?)))
        {
            Ok(found) => found,
            // Given up just now.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if Owner::of_text(&text).is_some_and(|owner| owner.has_ended()) {
            return Ok(true);
        }
        // A file that is written now has the file system's time.
        let clock = claim.with_file_name(format!(".clock-{}", own_number()));
        fs::write(&clock, "")?;
        let now = written_at(&clock);
        let _ = fs::remove_file(&clock);
        Ok(now?.duration_since(written).is_ok_and(|age| age > self.stale))
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.beat.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn lock(own: &Mutex<BTreeSet<PathBuf>>) -> MutexGuard<'_, BTreeSet<PathBuf>> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}

fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{NAME}{number}"))
}

/// The numbers of the claims of a point.
fn numbers(folder: &Path) -> std::io::Result<Vec<u32>> {
    let mut numbers = vec![];
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok()));
    }
    Ok(numbers)
}

/// When a file was written last.
fn written_at(file: &Path) -> std::io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

/// The process that has a claim: the computer since it was started, and the process there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    computer: String,
    process: u32,
}

impl Owner {
    fn here() -> Self {
        // Processes of different containers have numbers of their own.
        let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Owner { computer: format!("{} {}", boot.trim(), space.display()), process: std::process::id() }
    }

    fn text(&self) -> String {
        format!("{}\n{}\n", self.process, self.computer)
    }

    fn of_text(text: &str) -> Option<Self> {
        let (process, computer) = text.split_once('\n')?;
        Some(Owner { computer: computer.trim_end().into(), process: process.parse().ok()? })
    }

    /// Whether the process is known to have ended: only on this computer.
    fn has_ended(&self) -> bool {
        let is_here = self.computer == Owner::here().computer && Path::new("/proc/self").exists();
        is_here && !Path::new(&format!("/proc/{}", self.process)).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A claim of a process that may live elsewhere.
    fn of_another_computer(folder: &Path, number: u32) {
        fs::create_dir_all(folder).unwrap();
        fs::write(path(folder, number), Owner { computer: "another".into(), process: 1 }.text()).unwrap();
    }

    #[test]
    fn a_point_is_claimed_by_one_until_it_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().join("points/a=1");
        let (one, other) = (Claims::new(), Claims::new());
        assert!(one.claim(&point).unwrap() && !other.claim(&point).unwrap());
        one.release(&point);
        assert!(other.claim(&point).unwrap() && !one.claim(&point).unwrap());
        other.release(&point);
        assert_eq!(fs::read_dir(&point).unwrap().count(), 0);
        // One that was taken over stays with the other.
        assert!(one.claim(&point).unwrap());
        of_another_computer(&point, 2);
        one.release(&point);
        assert_eq!(numbers(&point).unwrap(), [2]);
        assert!(!one.claim(&point).unwrap());
        one.release(&point);
        assert_eq!(numbers(&point).unwrap(), [2]);
    }

    #[test]
    fn claims_of_dead_processes_and_old_ones_are_taken_over_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let [dead, old, fresh] = ["dead", "old", "fresh"].map(|name| folder.path().join(name));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        fs::create_dir_all(&dead).unwrap();
        fs::write(path(&dead, 4), Owner { process: child.id(), ..Owner::here() }.text()).unwrap();
        of_another_computer(&old, 1);
        let long_ago = SystemTime::now() - 2 * STALE;
        fs::File::options().write(true).open(path(&old, 1)).unwrap().set_modified(long_ago).unwrap();
        of_another_computer(&fresh, 1);
        let claims = Claims::new();
        let taken = |point: &Path| {
            let all: Vec<bool> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| claims.claim(point).unwrap())).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            all.into_iter().filter(|&taken| taken).count()
        };
        assert_eq!([taken(&dead), taken(&old), taken(&fresh)], [1, 1, 0]);
        assert!(path(&dead, 5).exists() && path(&old, 2).exists());
        claims.release(&dead);
        assert_eq!(fs::read_dir(&dead).unwrap().count(), 0);
    }

    #[test]
    fn claims_are_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::with(Duration::from_millis(5), STALE);
        assert!(claims.claim(folder.path()).unwrap());
        let claim = path(folder.path(), 1);
        fs::write(&claim, "").unwrap();
        let limit = SystemTime::now() + Duration::from_secs(60);
        while Owner::of_text(&fs::read_to_string(&claim).unwrap()) != Some(Owner::here()) {
            assert!(SystemTime::now() < limit, "no beat");
            std::thread::sleep(Duration::from_millis(1));
        }
        claims.release(folder.path());
        std::thread::sleep(Duration::from_millis(20));
        assert!(!claim.exists());
    }
}
