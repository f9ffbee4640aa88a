//! How tasks reach their launcher: a socket with a name of the kernel's, of which no file is left.
#![allow(unsafe_code)]

use super::environment::LAUNCHER;
use super::request::{Answer, Incoming, Request, write_fields};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{SystemTime, UNIX_EPOCH};

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

/// The launcher's end.
pub(super) struct Service {
    listener: UnixListener,
    /// Its name, which is also that of the job.
    pub(super) name: String,
    connections: Vec<(UnixStream, Incoming)>,
}

impl Service {
    /// A socket that no other launcher has.
    pub(super) fn new() -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        let name = format!("netloom-{}-{now:x}", std::process::id());
        let listener = UnixListener::bind_addr(&address(&name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Service { listener, name, connections: vec![] })
    }

    /// What to wait for.
    pub(super) fn files(&self) -> impl Iterator<Item = RawFd> {
        let connections = self.connections.iter().map(|(stream, _)| stream.as_raw_fd());
        std::iter::once(self.listener.as_raw_fd()).chain(connections)
    }

    /// Answers the requests that are there.
    pub(super) fn answer(&mut self, mut answer: impl FnMut(Request) -> Answer) {
        while let Ok((stream, _)) = self.listener.accept() {
            // A name of the kernel's is open to all users.
            if is_own_user(&stream) && stream.set_nonblocking(true).is_ok() {
                self.connections.push((stream, Incoming::default()));
            }
        }
        self.connections.retain_mut(|(stream, incoming)| match incoming.read(stream) {
            Ok(None) => true,
            Ok(Some(fields)) => {
                let answer = match Request::of_fields(&fields) {
                    Some(request) => answer(request),
                    None => Answer::Refused("the launcher does not understand the request".into()),
                };
                // It is short: if there is no space for it, nobody reads it.
                let _ = write_fields(stream, &answer.to_fields());
                false
            }
            Err(_) => false,
        });
    }
}

/// Whether the other side is a process of this user.
fn is_own_user(stream: &UnixStream) -> bool {
    // SAFETY: zeros are valid; a system call with a place of this length.
    unsafe {
        let mut of: libc::ucred = std::mem::zeroed();
        let mut length = size_of_val(&of) as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let place = (&raw mut of).cast();
        libc::getsockopt(stream.as_raw_fd(), level, option, place, &raw mut length) == 0
            && of.uid == libc::geteuid()
    }
}

/// A request of this process to its launcher, which is under way.
#[derive(Debug)]
pub struct Asked {
    stream: UnixStream,
    incoming: Incoming,
}

/// Sends a request to the launcher of this process.
///
/// # Errors
/// If there is none, or it cannot be reached.
pub fn ask(request: &Request) -> Result<Asked, String> {
    let name = std::env::var(LAUNCHER)
        .map_err(|_| "there is no launcher to ask: start the program with `netloom exec`".to_string())?;
    let unreachable = |e: io::Error| format!("the launcher cannot be reached: {e}");
    let mut stream =
        address(&name).and_then(|address| UnixStream::connect_addr(&address)).map_err(unreachable)?;
    write_fields(&mut stream, &request.to_fields()).map_err(unreachable)?;
    stream.set_nonblocking(true).map_err(unreachable)?;
    Ok(Asked { stream, incoming: Incoming::default() })
}

impl Asked {
    /// The answer, once it is there.
    ///
    /// # Errors
    /// If there will be none.
    pub fn answer(&mut self) -> Result<Option<Answer>, String> {
        let lost = || "the launcher does not answer".to_string();
        match self.incoming.read(&mut self.stream) {
            Ok(None) => Ok(None),
            Ok(Some(fields)) => Answer::of_fields(&fields).map(Some).ok_or_else(lost),
            Err(_) => Err(lost()),
        }
    }
}
