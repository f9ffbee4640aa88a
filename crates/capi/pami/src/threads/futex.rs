//! Waits by the kernel's futex, without the C library's functions: those of OpenMP's library (libgomp), of
//! atomic waits of C++ and of Rust.
//!
//! What calls `syscall` of the C library calls that of this library. Instructions of other libraries that
//! call the kernel are trapped: the kernel sends a signal for each that is not in the C library's own text
//! (syscall user dispatch, which ends with a thread and is not inherited by children). Other system calls are
//! carried out by the signal's handler.

use super::{Thread, current_of_several, registry};
use std::ffi::{c_int, c_long, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Arguments of a system call.
type Arguments = [c_long; 6];

/// Carries out a futex's wait or wake among a guest's threads; `None` if it is another operation.
fn futex(thread: &Thread, [address, operation, value, time, _, mask]: Arguments) -> Option<c_long> {
    let key = address as usize;
    match operation as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        wait @ (libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) => {
            thread.settle();
            // SAFETY: the caller gives the address of a word.
            let word = unsafe { (address as *const AtomicU32).as_ref() };
            match word {
                None => return Some(-c_long::from(libc::EFAULT)),
                Some(word) if word.load(Ordering::SeqCst) != value as u32 => {
                    return Some(-c_long::from(libc::EAGAIN));
                }
                Some(_) => {}
            }
            // SAFETY: the caller gives NULL or a time: of one kind how long, of the other until when.
            let at_most_ns = unsafe {
                match wait {
                    libc::FUTEX_WAIT => super::sleep::ns(time as *const libc::timespec),
                    _ => super::sleep::ns_until(clock(operation), time as *const libc::timespec),
                }
            };
            let ends_ns = at_most_ns.map(|most| thread.hub().last_ns() + most as f64);
            registry().waiting.push_back((key, thread.number));
            Some(if thread.block(key, ends_ns) { 0 } else { -c_long::from(libc::ETIMEDOUT) })
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => wake(thread, key, value),
        // Those that would wait for another word are woken: they look again.
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => wake(thread, key, c_long::from(c_int::MAX)),
        _ => {
            let _ = mask;
            None
        }
    }
}

fn clock(operation: c_long) -> libc::clockid_t {
    match operation as c_int & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    }
}

/// Wakes threads of the guest that wait for a word; `None` if there are none.
fn wake(thread: &Thread, key: usize, count: c_long) -> Option<c_long> {
    thread.settle();
    let woken = registry().take_waiting(key, count.clamp(0, c_int::MAX.into()) as usize);
    thread.hub().unpark(&woken);
    (!woken.is_empty()).then_some(woken.len() as c_long)
}

/// The C library's function.
fn real_syscall(number: c_long, [a, b, c, d, e, f]: Arguments) -> c_long {
    // SAFETY: the caller's system call.
    unsafe { super::real::syscall(number, a, b, c, d, e, f) }
}

/// The C library's function has any number of arguments; on the machines that it is built for they are passed
/// like these.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if number == libc::SYS_futex
        && let Some(thread) = current_of_several()
        && let Some(result) = futex(thread, arguments)
    {
        if result < 0 {
            // SAFETY: the calling thread's own.
            unsafe { *libc::__errno_location() = -result as c_int };
            return -1;
        }
        return result;
    }
    real_syscall(number, arguments)
}

/// Traps the system calls of the calling thread that do not come from the C library, where the system can.
pub fn trap() {
    #[cfg(target_arch = "x86_64")]
    if let Some((start, bytes)) = c_library() {
        const SET: c_int = 59; // PR_SET_SYSCALL_USER_DISPATCH
        const ON: usize = 1;
        // SAFETY: calls of the kernel: a handler that lives as long as the library, and a range of addresses.
        unsafe {
            static IS_SET: OnceLock<()> = OnceLock::new();
            IS_SET.get_or_init(|| {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = trapped as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
                libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut());
            });
            libc::prctl(SET, ON, start, bytes, std::ptr::null::<c_void>());
        }
    }
}

/// The text of the C library.
#[cfg(target_arch = "x86_64")]
fn c_library() -> Option<(usize, usize)> {
    static TEXT: OnceLock<Option<(usize, usize)>> = OnceLock::new();

    /// Looks for the part of a library that has the address, and ends with it in its place.
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the C library's information, and a pointer to a pair, by `dl_iterate_phdr`.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<(usize, usize)>()) };
        // SAFETY: the library's program headers.
        let parts = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        for part in parts.iter().filter(|part| part.p_type == libc::PT_LOAD && part.p_flags & libc::PF_X != 0)
        {
            let (start, bytes) = ((info.dlpi_addr + part.p_vaddr) as usize, part.p_memsz as usize);
            if (start..start + bytes).contains(&found.0) {
                *found = (start, bytes);
                return 1;
            }
        }
        0
    }

    *TEXT.get_or_init(|| {
        let mut found = (super::real::syscall_address() as usize, 0);
        // SAFETY: a function as it demands, and a place for what it finds.
        let is_found = unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) } != 0;
        is_found.then_some(found)
    })
}

/// A system call that does not come from the C library.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments of a handler; the thread's own error number.
    let (registers, errno) = unsafe {
        (&mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs, &mut *libc::__errno_location())
    };
    let before = *errno;
    let argument = |register: c_int| registers[register as usize] as c_long;
    let number = argument(libc::REG_RAX);
    let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9]
        .map(argument);
    let result = current_of_several()
        .filter(|_| number == libc::SYS_futex)
        .and_then(|thread| futex(thread, arguments))
        .unwrap_or_else(|| match real_syscall(number, arguments) {
            -1 => -c_long::from(*errno),
            result => result,
        });
    registers[libc::REG_RAX as usize] = result;
    *errno = before;
}
