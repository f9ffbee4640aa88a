//! How epochs begin and end: fences; post, start, complete and wait; locks; flushes.

use super::message::{Kind, Token};
use super::state::{Access, Held, State, Target, take_one};
use super::{Window, wrong_synchronization};
use crate::error::Error;
use crate::transport::{Process, Transport};
use std::future::poll_fn;
use std::sync::atomic::{Ordering, fence};
use std::task::Poll;

impl<T: Transport> Window<T> {
    /// Waits until targets have carried out all operations of this process, and results are here.
    async fn flush_targets(&self, targets: &[Process]) -> Result<(), Error> {
        let window = self.group.context;
        let mut tokens: Vec<Token> = vec![];
        for &target in targets {
            if self.state(|state| std::mem::take(&mut state.target(target).is_dirty)) {
                let token = self.with(|tables| tables.expect(window, target, None, true));
                self.send(target, Kind::Flush, token, vec![]);
                tokens.push(token);
            }
        }
        self.end(targets, tokens).await
    }

    /// Waits for these results and all others of the targets; the first error of all.
    async fn end(&self, targets: &[Process], tokens: Vec<Token>) -> Result<(), Error> {
        let mut end = Ok(());
        for token in tokens {
            end = self.result(token).await.and(end);
        }
        self.until(|state| {
            targets.iter().all(|target| state.targets.get(target).is_none_or(|of| of.answers == 0))
        })
        .await;
        let failed = self.state(|state| {
            let of = |target| state.targets.get_mut(target).and_then(|of| of.failed.take());
            targets.iter().filter_map(of).fold(None, |first: Option<Error>, next| first.or(Some(next)))
        });
        self.results(targets).await.and(failed.map_or(Ok(()), Err)).and(end)
    }

    /// Waits until the results of operations are here.
    async fn results(&self, targets: &[Process]) -> Result<(), Error> {
        self.until(|state| {
            targets.iter().all(|target| state.targets.get(target).is_none_or(|of| of.results == 0))
        })
        .await;
        // What was copied to memory that others have is there.
        fence(Ordering::SeqCst);
        self.state(|state| state.failed.take()).map_or(Ok(()), Err)
    }

    fn all_targets(&self) -> Vec<Process> {
        self.state(|state| state.targets.keys().copied().collect())
    }

    pub(super) async fn flush_all_targets(&self) -> Result<(), Error> {
        self.flush_targets(&self.all_targets()).await
    }

    /// Ends an epoch of this process and of all others, and begins the next, if one follows.
    ///
    /// # Errors
    /// If another kind of epoch is open, or an operation was out of range.
    pub async fn fence(&self, is_followed: bool) -> Result<(), Error> {
        self.check_free()?;
        let flushed = self.flush_all_targets().await;
        self.puts_have_arrived();
        self.barrier().await?;
        self.state(|state| {
            state.targets.clear();
            self.change(state, if is_followed { Access::Fence { is_used: false } } else { Access::None });
        });
        flushed
    }

    /// Another epoch begins, or none.
    fn change(&self, state: &mut State, access: Access) {
        state.access = access;
        self.accessible.set(None);
    }

    /// That an epoch of another kind may begin.
    fn check_no_access(state: &State) -> Result<(), Error> {
        match state.access {
            Access::None | Access::Fence { is_used: false } => Ok(()),
            Access::Fence { is_used: true } => Err(wrong_synchronization(
                "there were operations since MPI_Win_fence, and no fence has ended them",
            )),
            Access::Started { .. } => Err(wrong_synchronization("MPI_Win_complete has not ended an epoch")),
            Access::Locks => Err(wrong_synchronization("locks have not been released")),
            Access::LockAll { .. } => Err(wrong_synchronization("MPI_Win_unlock_all has not been called")),
        }
    }

    /// Lets a group access this process's memory. If it is not checked, origins begin without being told.
    ///
    /// # Errors
    /// If an earlier group has not been waited for.
    pub fn post(&self, group: Vec<Process>, is_unchecked: bool) -> Result<(), Error> {
        self.state(|state| match state.posted_to {
            Some(_) => Err(wrong_synchronization("MPI_Win_wait has not ended an epoch")),
            None => {
                state.posted_to = Some(group.clone());
                Ok(())
            }
        })?;
        if !is_unchecked {
            group.into_iter().for_each(|origin| self.send(origin, Kind::Post, 0, vec![]));
        }
        Ok(())
    }

    /// Begins to access the memory of a group. Whether a target has posted is waited for when it is accessed.
    ///
    /// # Errors
    /// If an epoch is open.
    pub fn start(&self, group: Vec<Process>, is_unchecked: bool) -> Result<(), Error> {
        self.state(|state| {
            Self::check_no_access(state)?;
            self.change(state, Access::Started { group, is_unchecked });
            Ok(())
        })
    }

    /// Ends what a start has begun: data of this process may be reused, and results are here.
    ///
    /// # Errors
    /// If there was no start, or an operation was out of range.
    pub async fn complete(&self) -> Result<(), Error> {
        let Access::Started { group, is_unchecked } = self.access() else {
            return Err(wrong_synchronization("there was no MPI_Win_start"));
        };
        for &target in group.iter().filter(|_| !is_unchecked) {
            self.wait_for_post(target).await;
        }
        // What was out of range at a target of a dynamic window is only known once it has been carried out.
        let end = match self.extents {
            super::Extents::Dynamic => self.flush_targets(&group).await,
            _ => self.results(&group).await,
        };
        for target in group {
            self.send(target, Kind::Complete, 0, vec![]);
        }
        self.state(|state| {
            self.change(state, Access::None);
            state.targets.clear();
        });
        end
    }

    /// Ends what a post has begun, if all origins have completed; returns whether they have.
    ///
    /// # Errors
    /// If there was no post.
    pub fn test(&self) -> Result<bool, Error> {
        self.state(|state| {
            let Some(group) = &state.posted_to else {
                return Err(wrong_synchronization("there was no MPI_Win_post"));
            };
            let has_ended = group.iter().all(|origin| state.completed.contains_key(origin));
            if has_ended {
                let group = state.posted_to.take().into_iter().flatten();
                group.for_each(|origin| _ = take_one(&mut state.completed, origin));
            }
            Ok(has_ended)
        })
    }

    /// Waits until all origins of a post have completed.
    ///
    /// # Errors
    /// If there was no post.
    pub async fn wait(&self) -> Result<(), Error> {
        poll_fn(|_| match self.test() {
            Ok(false) => Poll::Pending,
            Ok(true) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }

    /// Locks a target.
    ///
    /// # Errors
    /// If it is locked by this process, or another kind of epoch is open.
    pub async fn lock(&self, rank: u32, is_exclusive: bool, is_unchecked: bool) -> Result<(), Error> {
        let process = self.process(rank);
        self.state(|state| {
            if state.access != Access::Locks {
                Self::check_no_access(state)?;
            } else if state.held(process) != Held::No {
                return Err(wrong_synchronization(format!("rank {rank} is locked by this rank already")));
            }
            self.change(state, Access::Locks);
            state.target(process).lock = Held::Unchecked;
            Ok(())
        })?;
        if !is_unchecked {
            self.acquire(process, is_exclusive).await;
        }
        Ok(())
    }

    /// Waits until a target has carried out all, and releases its lock.
    ///
    /// # Errors
    /// If it is not locked, or an operation was out of range.
    pub async fn unlock(&self, rank: u32) -> Result<(), Error> {
        let process = self.process(rank);
        if self.access() != Access::Locks || self.state(|state| state.held(process)) == Held::No {
            return Err(wrong_synchronization(format!("rank {rank} is not locked by this rank")));
        }
        let end = self.release(&[process]).await;
        self.puts_have_arrived();
        self.state(|state| {
            state.targets.remove(&process);
            let none_is_locked = state.targets.values().all(|target| target.lock == Held::No);
            self.change(state, if none_is_locked { Access::None } else { Access::Locks });
        });
        end
    }

    /// Ends accesses to targets, and releases the locks of those that are locked.
    async fn release(&self, targets: &[Process]) -> Result<(), Error> {
        let window = self.group.context;
        let (mut tokens, mut others) = (vec![], vec![]);
        // A lock is kept until all data has been read.
        let end = self.results(targets).await;
        for &target in targets {
            if self.state(|state| state.held(target)) == Held::Yes {
                let token = self.with(|tables| tables.expect(window, target, None, true));
                self.send(target, Kind::Unlock, token, vec![]);
                tokens.push(token);
            } else {
                others.push(target);
            }
        }
        let flushed = self.flush_targets(&others).await;
        self.end(targets, tokens).await.and(flushed).and(end)
    }

    /// Locks all targets, shared with others. The lock of a target is acquired when it is first accessed, but
    /// for those of which the program uses the memory without operations.
    ///
    /// # Errors
    /// If an epoch is open.
    pub async fn lock_all(
        &self,
        is_unchecked: bool,
        used_ranks: impl Iterator<Item = u32>,
    ) -> Result<(), Error> {
        self.state(|state| {
            Self::check_no_access(state)?;
            self.change(state, Access::LockAll { is_unchecked });
            Ok::<_, Error>(())
        })?;
        for rank in used_ranks.filter(|_| !is_unchecked) {
            self.acquire(self.process(rank), false).await;
        }
        Ok(())
    }

    /// Waits until all targets have carried out all, and releases their locks.
    ///
    /// # Errors
    /// If not all were locked at once, or an operation was out of range.
    pub async fn unlock_all(&self) -> Result<(), Error> {
        if !matches!(self.access(), Access::LockAll { .. }) {
            return Err(wrong_synchronization("there was no MPI_Win_lock_all"));
        }
        let end = self.release(&self.all_targets()).await;
        self.puts_have_arrived();
        self.state(|state| {
            self.change(state, Access::None);
            state.targets.clear();
        });
        end
    }

    /// That a lock is held, of a target or of any.
    fn check_locked(&self, rank: Option<u32>) -> Result<(), Error> {
        let is_locked = match self.access() {
            Access::LockAll { .. } => true,
            Access::Locks => rank.is_none_or(|rank| {
                let process = self.process(rank);
                self.state(|state| state.held(process)) != Held::No
            }),
            _ => false,
        };
        if is_locked { Ok(()) } else { Err(wrong_synchronization("the target is not locked by this rank")) }
    }

    /// Waits until a target, or all, have carried out all operations.
    ///
    /// # Errors
    /// If it is not locked, or an operation was out of range.
    pub async fn flush(&self, rank: Option<u32>) -> Result<(), Error> {
        self.check_locked(rank)?;
        let end = match rank {
            Some(rank) => self.flush_targets(&[self.process(rank)]).await,
            None => self.flush_all_targets().await,
        };
        self.puts_have_arrived();
        end
    }

    /// Whether a flush of this target has nothing to wait for, and no error to report: then it has ended.
    pub fn is_flushed(&self, rank: u32) -> bool {
        let process = self.process(rank);
        let is_flushed = self.state(|state| {
            let target = state.targets.get(&process);
            let is_locked = match state.access {
                Access::LockAll { .. } => true,
                Access::Locks => target.is_some_and(|of| of.lock != Held::No),
                _ => false,
            };
            is_locked && state.failed.is_none() && target.is_none_or(Target::is_idle)
        });
        // As at the end of `results`.
        fence(Ordering::SeqCst);
        if is_flushed {
            self.puts_have_arrived();
        }
        is_flushed
    }

    /// Waits until buffers of this process may be reused.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub async fn flush_local(&self, rank: Option<u32>) -> Result<(), Error> {
        self.check_locked(rank)?;
        match rank {
            Some(rank) => self.results(&[self.process(rank)]).await,
            None => self.results(&self.all_targets()).await,
        }
    }
}
