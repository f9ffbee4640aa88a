//! Work on a thread of its own, while the calling thread checks Python's signals (Ctrl-C) and reports
//! progress.

use netloom_study::run::{Progress, ProgressSink};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between two checks of Python's signals, and between two reports of progress.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Where a run stands, and whether it is to stop.
#[derive(Default)]
pub struct Watch {
    stop: AtomicBool,
    ticks: AtomicU64,
    /// Bits of the fraction; NaN while it is unknown.
    fraction: AtomicU64,
    packet_hops: AtomicU64,
    /// What is running, if it has a name.
    text: Mutex<String>,
}

impl Watch {
    /// Asks the run to stop with a partial result.
    fn request_stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Sets the name of what is running.
    pub fn set_text(&self, text: &str) {
        text.clone_into(&mut self.text.lock().expect("no holder panics"));
    }
}

impl ProgressSink for Watch {
    fn update(&self, progress: Progress) {
        self.ticks.store(progress.ticks, Relaxed);
        self.fraction.store(progress.fraction.unwrap_or(f64::NAN).to_bits(), Relaxed);
        self.packet_hops.store(progress.packet_hops, Relaxed);
    }

    fn stop(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Receives progress: a callable that takes the fraction done (a number or None), simulated us, packet-hops,
/// and the name of what is running.
pub struct Listener {
    /// The callable; `None` if there is none.
    pub callable: Option<Py<PyAny>>,
    /// Simulated us per tick.
    pub us_per_tick: f64,
}

impl Listener {
    /// Reports the progress that the watch has.
    fn report(&self, py: Python, watch: &Watch) -> PyResult<()> {
        let Some(callable) = &self.callable else { return Ok(()) };
        let fraction = f64::from_bits(watch.fraction.load(Relaxed));
        let us = watch.ticks.load(Relaxed) as f64 * self.us_per_tick;
        let text = watch.text.lock().expect("no holder panics").clone();
        let fraction = (!fraction.is_nan()).then_some(fraction);
        callable.call1(py, (fraction, us, watch.packet_hops.load(Relaxed), text)).map(drop)
    }
}

/// What work returned, and the exception that stopped it (of a signal or of the listener), if one did.
pub type Watched<T> = (T, Option<PyErr>);

/// Does work on another thread, without the GIL. An exception asks it to stop, and is returned with its
/// partial result; a second one abandons it.
///
/// # Errors
/// A second exception; a panic of the work.
pub fn watched<T: Send + 'static>(
    py: Python,
    listener: &Listener,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<Watched<T>> {
    let watch = Arc::new(Watch::default());
    let (send, mut receive) = channel();
    let own = Arc::clone(&watch);
    let thread = Builder::new().name("netloom".into()).spawn(move || {
        // After a second exception there is no receiver any more.
        let _ = send.send(work(&own));
    })?;
    let mut raised = None;
    loop {
        let outcome;
        (receive, outcome) = py.detach(move || {
            let outcome = receive.recv_timeout(CHECK_EVERY);
            (receive, outcome)
        });
        match outcome {
            Ok(done) => return Ok((done, raised)),
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(thread)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let checked = py.check_signals().and_then(|()| match raised {
            None => listener.report(py, &watch),
            Some(_) => Ok(()),
        });
        if let Err(error) = checked {
            watch.request_stop();
            if raised.is_some() {
                return Err(error);
            }
            raised = Some(error);
        }
    }
}

/// The exception of a thread that panicked.
fn panicked(thread: JoinHandle<()>) -> PyErr {
    let panic = thread.join().err();
    let text = panic.as_ref().and_then(|p| {
        p.downcast_ref::<String>().map(String::as_str).or_else(|| p.downcast_ref::<&str>().copied())
    });
    PyRuntimeError::new_err(format!("the simulator panicked: {}", text.unwrap_or("no message")))
}
