//! Errors: a class of the standard, and what is wrong.

use std::borrow::Cow;

/// Classes of errors, with the values of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // See `CLASSES`.
pub enum Class {
    Buffer = 1,
    Count = 2,
    Type = 3,
    Tag = 4,
    Comm = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Group = 9,
    Op = 10,
    Topology = 11,
    Dims = 12,
    Arg = 13,
    Truncate = 15,
    Other = 16,
    Intern = 17,
    Pending = 18,
    InStatus = 19,
    Access = 20,
    Amode = 21,
    Assert = 22,
    BadFile = 23,
    Base = 24,
    Conversion = 25,
    Disp = 26,
    DupDatarep = 27,
    FileExists = 28,
    FileInUse = 29,
    File = 30,
    InfoKey = 31,
    InfoNokey = 32,
    InfoValue = 33,
    Info = 34,
    Io = 35,
    Keyval = 36,
    Locktype = 37,
    Name = 38,
    NoMem = 39,
    NotSame = 40,
    NoSpace = 41,
    NoSuchFile = 42,
    Port = 43,
    Quota = 44,
    ReadOnly = 45,
    RmaAttach = 46,
    RmaRange = 48,
    RmaShared = 49,
    RmaSync = 50,
    Service = 51,
    Size = 52,
    Spawn = 53,
    UnsupportedDatarep = 54,
    UnsupportedOperation = 55,
    Win = 56,
    RmaFlavor = 57,
    ProcAborted = 58,
    Session = 60,
    Errhandler = 61,
    Abi = 62,
}

impl Class {
    /// Its name in the standard.
    pub fn name(self) -> &'static str {
        CLASSES[self as usize].1
    }
}

/// What went wrong in a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// Its class.
    pub class: Class,
    /// What is wrong, with the argument and its value.
    pub text: Cow<'static, str>,
    /// The code, if a function of the program returned it.
    pub code: Option<i32>,
    /// The handle of the object whose error handler is told, if it is not that of the call, as of an error of a
    /// request; else 0.
    pub object: usize,
}

impl Error {
    /// An error of a class.
    pub fn new(class: Class, text: impl Into<Cow<'static, str>>) -> Self {
        Error { class, text: text.into(), code: None, object: 0 }
    }

    /// The same with a code that a function of the program returned.
    pub fn with_code(self, code: i32) -> Self {
        Error { code: Some(code), ..self }
    }

    /// The same with the object whose error handler is told.
    pub fn with_object(self, object: usize) -> Self {
        Error { object, ..self }
    }

    /// The code that a call returns.
    pub fn code(&self) -> i32 {
        self.code.unwrap_or(self.class as i32)
    }
}

/// Name and meaning of each class of the standard, by value: `MPI_Error_string`.
const CLASSES: [(i32, &str, &str); 63] = [
    (0, "MPI_SUCCESS", "no error"),
    (1, "MPI_ERR_BUFFER", "invalid buffer"),
    (2, "MPI_ERR_COUNT", "invalid count"),
    (3, "MPI_ERR_TYPE", "invalid datatype"),
    (4, "MPI_ERR_TAG", "invalid tag"),
    (5, "MPI_ERR_COMM", "invalid communicator"),
    (6, "MPI_ERR_RANK", "invalid rank"),
    (7, "MPI_ERR_REQUEST", "invalid request"),
    (8, "MPI_ERR_ROOT", "invalid root"),
    (9, "MPI_ERR_GROUP", "invalid group"),
    (10, "MPI_ERR_OP", "invalid reduction operation"),
    (11, "MPI_ERR_TOPOLOGY", "invalid topology"),
    (12, "MPI_ERR_DIMS", "invalid dimensions"),
    (13, "MPI_ERR_ARG", "invalid argument"),
    (14, "MPI_ERR_UNKNOWN", "unknown error"),
    (15, "MPI_ERR_TRUNCATE", "a message is longer than the receive buffer"),
    (16, "MPI_ERR_OTHER", "another error"),
    (17, "MPI_ERR_INTERN", "an error inside of MPI"),
    (18, "MPI_ERR_PENDING", "a request is pending"),
    (19, "MPI_ERR_IN_STATUS", "the error is in the status"),
    (20, "MPI_ERR_ACCESS", "permission denied"),
    (21, "MPI_ERR_AMODE", "invalid access mode"),
    (22, "MPI_ERR_ASSERT", "invalid assertion"),
    (23, "MPI_ERR_BAD_FILE", "invalid file name"),
    (24, "MPI_ERR_BASE", "invalid base address"),
    (25, "MPI_ERR_CONVERSION", "an error in a conversion of data"),
    (26, "MPI_ERR_DISP", "invalid displacement"),
    (27, "MPI_ERR_DUP_DATAREP", "the data representation is registered already"),
    (28, "MPI_ERR_FILE_EXISTS", "the file exists"),
    (29, "MPI_ERR_FILE_IN_USE", "the file is in use"),
    (30, "MPI_ERR_FILE", "invalid file handle"),
    (31, "MPI_ERR_INFO_KEY", "invalid key of an info object"),
    (32, "MPI_ERR_INFO_NOKEY", "the info object has no such key"),
    (33, "MPI_ERR_INFO_VALUE", "invalid value of an info object"),
    (34, "MPI_ERR_INFO", "invalid info object"),
    (35, "MPI_ERR_IO", "an error of input or output"),
    (36, "MPI_ERR_KEYVAL", "invalid attribute key"),
    (37, "MPI_ERR_LOCKTYPE", "invalid type of lock"),
    (38, "MPI_ERR_NAME", "the service name is not published"),
    (39, "MPI_ERR_NO_MEM", "out of memory"),
    (40, "MPI_ERR_NOT_SAME", "a collective argument differs between processes"),
    (41, "MPI_ERR_NO_SPACE", "no space left"),
    (42, "MPI_ERR_NO_SUCH_FILE", "the file does not exist"),
    (43, "MPI_ERR_PORT", "invalid port name"),
    (44, "MPI_ERR_QUOTA", "quota exceeded"),
    (45, "MPI_ERR_READ_ONLY", "the file or file system is read-only"),
    (46, "MPI_ERR_RMA_ATTACH", "memory cannot be attached"),
    (47, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"),
    (48, "MPI_ERR_RMA_RANGE", "the target memory is not part of the window"),
    (49, "MPI_ERR_RMA_SHARED", "memory cannot be shared"),
    (50, "MPI_ERR_RMA_SYNC", "wrong synchronization of a window"),
    (51, "MPI_ERR_SERVICE", "the service name is not known"),
    (52, "MPI_ERR_SIZE", "invalid size"),
    (53, "MPI_ERR_SPAWN", "processes cannot be spawned"),
    (54, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation"),
    (55, "MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation"),
    (56, "MPI_ERR_WIN", "invalid window"),
    (57, "MPI_ERR_RMA_FLAVOR", "wrong flavor of window"),
    (58, "MPI_ERR_PROC_ABORTED", "a peer process has ended"),
    (59, "MPI_ERR_VALUE_TOO_LARGE", "a value is too large for its argument"),
    (60, "MPI_ERR_SESSION", "invalid session"),
    (61, "MPI_ERR_ERRHANDLER", "invalid error handler"),
    (62, "MPI_ERR_ABI", "an error of the binary interface"),
];

/// Those of the tool information interface (section 15.3.10), which have numbers of their own.
const TOOL_CLASSES: [(i32, &str, &str); 18] = [
    (1001, "MPI_T_ERR_CANNOT_INIT", "the tool information interface cannot be initialised"),
    (1002, "MPI_T_ERR_NOT_ACCESSIBLE", "the variable is not accessible now"),
    (1003, "MPI_T_ERR_NOT_INITIALIZED", "the tool information interface is not initialised"),
    (1004, "MPI_T_ERR_NOT_SUPPORTED", "this is not supported"),
    (1005, "MPI_T_ERR_MEMORY", "out of memory"),
    (1006, "MPI_T_ERR_INVALID", "wrong use of the interface, or wrong arguments"),
    (1007, "MPI_T_ERR_INVALID_INDEX", "there is nothing of this index"),
    (1008, "MPI_T_ERR_INVALID_ITEM", "the index of an item is out of range"),
    (1009, "MPI_T_ERR_INVALID_SESSION", "not a session of performance variables"),
    (1010, "MPI_T_ERR_INVALID_HANDLE", "not a handle of the interface"),
    (1011, "MPI_T_ERR_INVALID_NAME", "there is nothing of this name"),
    (1012, "MPI_T_ERR_OUT_OF_HANDLES", "no more handles can be had"),
    (1013, "MPI_T_ERR_OUT_OF_SESSIONS", "no more sessions can be had"),
    (1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "the variable cannot be set at this moment"),
    (1015, "MPI_T_ERR_CVAR_SET_NEVER", "the variable cannot be set until the program ends"),
    (1016, "MPI_T_ERR_PVAR_NO_WRITE", "the variable cannot be written or reset"),
    (1017, "MPI_T_ERR_PVAR_NO_STARTSTOP", "the variable cannot be started or stopped"),
    (1018, "MPI_T_ERR_PVAR_NO_ATOMIC", "the variable cannot be read and reset at once"),
];

/// Value, name and meaning of a class of the standard.
pub fn class(value: i32) -> Option<&'static (i32, &'static str, &'static str)> {
    CLASSES.iter().chain(&TOOL_CLASSES).find(|class| class.0 == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_stand_at_their_values() {
        assert!(CLASSES.iter().enumerate().all(|(n, class)| class.0 == n as i32));
        assert_eq!(CLASSES[Class::UnsupportedOperation as usize].1, "MPI_ERR_UNSUPPORTED_OPERATION");
        assert_eq!(CLASSES[Class::Truncate as usize].1, "MPI_ERR_TRUNCATE");
        assert_eq!(CLASSES[Class::Abi as usize].1, "MPI_ERR_ABI");
        let name = |value| class(value).map(|of| of.1);
        assert_eq!([61, 1018].map(name), [Some("MPI_ERR_ERRHANDLER"), Some("MPI_T_ERR_PVAR_NO_ATOMIC")]);
        assert_eq!([-1, 63, 1000, 1019].map(name), [None; 4]);
    }
}
