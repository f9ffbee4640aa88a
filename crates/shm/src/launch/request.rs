//! What tasks ask of their launcher, and its answers, as bytes.

use std::io::{self, Read, Write};

/// Most bytes of a request or an answer: no program has longer command lines.
pub(super) const BYTES_MAX: usize = 64 << 20;

/// Processes of one program that are to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Path of the program.
    pub program: Vec<u8>,
    /// What the program finds as its name.
    pub name: Vec<u8>,
    /// Its arguments.
    pub arguments: Vec<Vec<u8>>,
    /// Folder that it starts in.
    pub folder: Vec<u8>,
    /// Variables that are set for it, as `NAME=VALUE`.
    pub environment: Vec<Vec<u8>>,
    /// Allowed numbers of processes, the greatest first.
    pub counts: Vec<u32>,
}

/// What a task waits for, as it reports to its launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// In words.
    pub lines: Vec<String>,
    /// As bytes of the library that the program uses, for a comparison; none if it has nothing to say.
    pub state: Vec<u8>,
}

/// What a task asks of the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// New tasks: a world of their own. The answer is [`Answer::Spawned`].
    Spawn {
        /// The task that asks.
        by: u32,
        /// What they run.
        commands: Vec<Command>,
    },
    /// How many tasks of the world with this first task have ended. The answer is [`Answer::Number`].
    CountEnded(u32),
    /// The tasks of the world with this first task are to be ended, which is no failure of the job.
    End(u32),
    /// A new port of a task. The answer is [`Answer::Name`].
    OpenPort(u32),
    /// A task closes its port.
    ClosePort(u32, String),
    /// Whether there is such a port.
    FindPort(String),
    /// A task publishes a port under the name of a service.
    Publish(u32, [String; 2]),
    /// A service, and its port, are published no more.
    Unpublish([String; 2]),
    /// The port of a service. The answer is [`Answer::Name`].
    Lookup(String),
    /// Nothing: a task reports what it waits for.
    Report(u32, Waiting),
}

/// The launcher's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// It is not, and why.
    Refused(String),
    /// A number.
    Number(u32),
    /// A name.
    Name(String),
    /// The first of the new tasks, and how many run each command.
    Spawned(u32, Vec<u32>),
}

/// A list of byte strings.
type Fields = Vec<Vec<u8>>;

fn number(n: u32) -> Vec<u8> {
    n.to_le_bytes().into()
}

fn fields(kind: u32, rest: impl IntoIterator<Item = Vec<u8>>) -> Fields {
    std::iter::once(number(kind)).chain(rest).collect()
}

/// Reads a list of byte strings from its start.
struct Reader<'a>(std::slice::Iter<'a, Vec<u8>>);

impl Reader<'_> {
    fn bytes(&mut self) -> Option<Vec<u8>> {
        self.0.next().cloned()
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes()?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }

    /// A list with its length before it.
    fn list<T>(&mut self, mut of: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| of(self)).collect()
    }
}

fn list(of: impl ExactSizeIterator<Item = Fields>) -> Fields {
    std::iter::once(number(of.len() as u32)).chain(of.flatten()).collect()
}

impl Request {
    pub(super) fn to_fields(&self) -> Fields {
        let text = |text: &String| text.as_bytes().to_vec();
        match self {
            Request::Spawn { by, commands } => {
                let of = |command: &Command| {
                    let Command { program, name, arguments, folder, environment, counts } = command;
                    let mut all = vec![program.clone(), name.clone(), folder.clone()];
                    for texts in [arguments, environment] {
                        all.extend(list(texts.iter().map(|text| vec![text.clone()])));
                    }
                    all.extend(list(counts.iter().map(|&count| vec![number(count)])));
                    all
                };
                fields(0, std::iter::once(number(*by)).chain(list(commands.iter().map(of))))
            }
            Request::CountEnded(first) => fields(1, [number(*first)]),
            Request::End(first) => fields(2, [number(*first)]),
            Request::OpenPort(by) => fields(3, [number(*by)]),
            Request::ClosePort(by, port) => fields(4, [number(*by), text(port)]),
            Request::FindPort(port) => fields(5, [text(port)]),
            Request::Publish(by, [service, port]) => fields(6, [number(*by), text(service), text(port)]),
            Request::Unpublish([service, port]) => fields(7, [text(service), text(port)]),
            Request::Lookup(service) => fields(8, [text(service)]),
            Request::Report(by, Waiting { lines, state }) => {
                let lines = list(lines.iter().map(|line| vec![text(line)]));
                fields(9, [number(*by), state.clone()].into_iter().chain(lines))
            }
        }
    }

    pub(super) fn of_fields(all: &[Vec<u8>]) -> Option<Self> {
        let mut reader = Reader(all.iter());
        Some(match reader.number()? {
            0 => Request::Spawn {
                by: reader.number()?,
                commands: reader.list(|reader| {
                    Some(Command {
                        program: reader.bytes()?,
                        name: reader.bytes()?,
                        folder: reader.bytes()?,
                        arguments: reader.list(Reader::bytes)?,
                        environment: reader.list(Reader::bytes)?,
                        counts: reader.list(Reader::number)?,
                    })
                })?,
            },
            1 => Request::CountEnded(reader.number()?),
            2 => Request::End(reader.number()?),
            3 => Request::OpenPort(reader.number()?),
            4 => Request::ClosePort(reader.number()?, reader.text()?),
            5 => Request::FindPort(reader.text()?),
            6 => Request::Publish(reader.number()?, [reader.text()?, reader.text()?]),
            7 => Request::Unpublish([reader.text()?, reader.text()?]),
            8 => Request::Lookup(reader.text()?),
            9 => {
                let (by, state) = (reader.number()?, reader.bytes()?);
                Request::Report(by, Waiting { lines: reader.list(Reader::text)?, state })
            }
            _ => return None,
        })
    }
}

impl Answer {
    pub(super) fn to_fields(&self) -> Fields {
        match self {
            Answer::Done => fields(0, []),
            Answer::Refused(why) => fields(1, [why.as_bytes().to_vec()]),
            Answer::Number(n) => fields(2, [number(*n)]),
            Answer::Name(name) => fields(3, [name.as_bytes().to_vec()]),
            Answer::Spawned(first, counts) => {
                let counts = list(counts.iter().map(|&count| vec![number(count)]));
                fields(4, std::iter::once(number(*first)).chain(counts))
            }
        }
    }

    pub(super) fn of_fields(all: &[Vec<u8>]) -> Option<Self> {
        let mut reader = Reader(all.iter());
        Some(match reader.number()? {
            0 => Answer::Done,
            1 => Answer::Refused(reader.text()?),
            2 => Answer::Number(reader.number()?),
            3 => Answer::Name(reader.text()?),
            4 => Answer::Spawned(reader.number()?, reader.list(Reader::number)?),
            _ => return None,
        })
    }
}

/// Writes a list: its length in bytes, then each string after its own length.
pub(super) fn write_fields(to: &mut impl Write, all: &[Vec<u8>]) -> io::Result<()> {
    let mut body = vec![];
    for field in all {
        body.extend_from_slice(&(field.len() as u32).to_le_bytes());
        body.extend_from_slice(field);
    }
    if body.len() > BYTES_MAX {
        return Err(io::Error::other(format!("a request of {} B is too long", body.len())));
    }
    let mut whole = (body.len() as u32).to_le_bytes().to_vec();
    whole.append(&mut body);
    to.write_all(&whole)
}

/// What has come of a list so far.
#[derive(Debug, Default)]
pub(super) struct Incoming(Vec<u8>);

impl Incoming {
    /// Reads what is there: the list once it is whole; `None` if more is to come.
    ///
    /// # Errors
    /// If the other side has ended, or sends something else.
    pub(super) fn read(&mut self, from: &mut impl Read) -> io::Result<Option<Fields>> {
        let mut buffer = [0; 1 << 16];
        loop {
            if let Some(fields) = self.take()? {
                return Ok(Some(fields));
            }
            match from.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.0.extend_from_slice(&buffer[..count]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn take(&self) -> io::Result<Option<Fields>> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let split = |bytes: &'_ [u8]| -> Option<usize> {
            Some(u32::from_le_bytes(bytes.first_chunk::<4>().copied()?) as usize)
        };
        let Some(length) = split(&self.0) else { return Ok(None) };
        if length > BYTES_MAX {
            return Err(invalid());
        }
        let Some(mut body) = self.0.get(4..4 + length) else { return Ok(None) };
        let mut fields = vec![];
        while !body.is_empty() {
            let length = split(body).ok_or_else(invalid)?;
            fields.push(body.get(4..4 + length).ok_or_else(invalid)?.to_vec());
            body = &body[4 + length..];
        }
        Ok(Some(fields))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_read_as_they_were_written_whatever_parts_arrive() {
        let command = Command {
            program: b"/bin/\xff".to_vec(),
            name: b"x".to_vec(),
            arguments: vec![b"".to_vec(), b"-a b".to_vec()],
            folder: b"/".to_vec(),
            environment: vec![b"A=b=c".to_vec(), b"D=".to_vec()],
            counts: vec![4, 2],
        };
        let text = |text: &str| text.to_string();
        let requests = [
            Request::Spawn { by: 7, commands: vec![command, Command::default()] },
            Request::CountEnded(3),
            Request::End(4),
            Request::OpenPort(5),
            Request::ClosePort(6, text("p")),
            Request::FindPort(text("q")),
            Request::Publish(8, [text("s"), text("p")]),
            Request::Unpublish([text("s"), text("t")]),
            Request::Lookup(text("u")),
            Request::Report(9, Waiting { lines: vec![text("v"), text("")], state: vec![0, 255] }),
        ];
        for request in requests {
            let mut bytes = vec![];
            write_fields(&mut bytes, &request.to_fields()).unwrap();
            let mut incoming = Incoming::default();
            for (at, byte) in bytes.iter().enumerate() {
                let mut part: &[u8] = std::slice::from_ref(byte);
                let read = incoming.read(&mut part);
                match at + 1 == bytes.len() {
                    true => assert_eq!(Request::of_fields(&read.unwrap().unwrap()), Some(request.clone())),
                    false => assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof),
                }
            }
        }
        let answers = [
            Answer::Done,
            Answer::Refused(text("no")),
            Answer::Number(9),
            Answer::Name(text("n")),
            Answer::Spawned(5, vec![1, 0, 2]),
        ];
        for answer in answers {
            assert_eq!(Answer::of_fields(&answer.to_fields()), Some(answer));
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in [&[255u8; 8][..], &[4, 0, 0, 0, 9, 0, 0, 0], &[3, 0, 0, 0, 1, 0, 0]] {
            assert!(Incoming::default().read(&mut &*bytes).is_err());
        }
        for fields in
            [vec![], vec![vec![99, 0, 0, 0]], vec![vec![3, 0, 0, 0]], vec![vec![3, 0, 0, 0], vec![1]]]
        {
            assert_eq!(Request::of_fields(&fields), None);
        }
        let endless = vec![number(0), number(1), number(u32::MAX)];
        assert_eq!(Request::of_fields(&endless), None);
    }
}
