//! Problems as Python exceptions: the classes of `netloom.errors`, with the text that the command prints.

use netloom_study::diagnose::Problem;
use pyo3::prelude::*;

/// Which exception a problem becomes.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A mistake in a study, a machine or a change.
    Study,
    /// A folder that cannot be written or is not to be replaced.
    Output,
}

/// The exception of a problem.
pub fn exception(py: Python, kind: Kind, problem: &Problem) -> PyErr {
    let class = match kind {
        Kind::Study => "StudyError",
        Kind::Output => "OutputError",
    };
    match instance(py, class, problem) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

fn instance<'py>(py: Python<'py>, class: &str, problem: &Problem) -> PyResult<Bound<'py, PyAny>> {
    let place = problem.origin.as_ref();
    let arguments = (
        problem.render(false),
        problem.message.as_str(),
        problem.help.as_deref(),
        place.map(|origin| origin.file.name.as_str()),
        place.map(netloom_study::diagnose::Origin::line),
        place.map(|_| problem.label.as_str()),
    );
    py.import("netloom.errors")?.getattr(class)?.call1(arguments)
}

/// Problems as exceptions of a kind.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python, kind: Kind) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Problem> {
    fn or_raise(self, py: Python, kind: Kind) -> PyResult<T> {
        self.map_err(|problem| exception(py, kind, &problem))
    }
}
