//! A page of the guide as parts: text, files that it shows, commands that it quotes.

/// A page.
pub struct Page {
    /// Its path in the repository.
    pub name: String,
    /// Its parts, in order. The text of all, commands with their output included, is the page.
    pub parts: Vec<Part>,
    /// Blocks with commands that are neither run nor marked as not run.
    pub unmarked: Vec<String>,
}

/// A part of a page.
pub enum Part {
    /// Lines that are kept as they are.
    Text(String),
    /// A file that the reader is to write; its lines are also text.
    File {
        /// Its name.
        name: String,
        /// What it holds.
        content: String,
        /// Whether the content goes to the end of a file that is there.
        adds: bool,
    },
    /// A command, whose own line is also text.
    Command {
        /// Its line, counted from 1.
        line: usize,
        /// The command, for a shell.
        command: String,
        /// The lines of output below it.
        quoted: String,
        /// The exit status that it must have.
        status: i32,
    },
}

/// The marks in the comments before a block.
#[derive(Default)]
struct Marks {
    file: Option<(String, bool)>,
    is_not_run: bool,
    /// Commands that the page does not show.
    commands: Vec<String>,
    status: i32,
}

impl Marks {
    fn read(&mut self, comment: &str) {
        let Some((key, value)) = comment.split_once(':') else { return };
        match (key.trim(), value.trim()) {
            ("file", name) => self.file = Some((name.into(), false)),
            ("add to", name) => self.file = Some((name.into(), true)),
            ("not run", reason) if !reason.is_empty() => self.is_not_run = true,
            ("run", command) => self.commands.push(command.into()),
            ("exit status", status) => self.status = status.parse().expect("a number"),
            _ => {}
        }
    }
}

/// Whether a line of a block is a command of this program, or one that builds it.
fn is_command(line: &str) -> bool {
    line.starts_with("$ ")
        || ["netloom ", "cargo ", "srun netloom ", "pip "].iter().any(|c| line.trim_start().starts_with(c))
}

impl Page {
    /// Reads a page.
    pub fn read(name: &str, text: &str) -> Page {
        let mut page = Page { name: name.into(), parts: vec![], unmarked: vec![] };
        let mut lines = text.split_inclusive('\n').enumerate().peekable();
        let mut marks = Marks::default();
        while let Some((at, line)) = lines.next() {
            page.text(line);
            if let Some(comment) = line.trim_start().strip_prefix("<!--") {
                if let Some((comment, _)) = comment.split_once("-->") {
                    marks.read(comment);
                } else {
                    let mut content = String::new();
                    for (_, line) in lines.by_ref().take_while(|(_, line)| line.trim() != "-->") {
                        content += line;
                    }
                    page.text(&format!("{content}-->\n"));
                    let (_, name) =
                        comment.split_once("file:").expect("a comment of several lines is a file");
                    page.parts.push(Part::File { name: name.trim().into(), content, adds: false });
                }
            } else if line.starts_with("```") {
                let block: Vec<&str> = lines
                    .by_ref()
                    .map(|(_, line)| line)
                    .take_while(|line| !line.starts_with("```"))
                    .collect();
                page.block(at + 2, &block, &std::mem::take(&mut marks));
                page.text("```\n");
            } else if !line.trim().is_empty() {
                marks = Marks::default();
            }
        }
        page
    }

    fn text(&mut self, line: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push_str(line),
            _ => self.parts.push(Part::Text(line.into())),
        }
    }

    /// A block whose first line has this number.
    fn block(&mut self, number: usize, lines: &[&str], marks: &Marks) {
        if let Some((name, adds)) = &marks.file {
            self.text(&lines.concat());
            self.parts.push(Part::File { name: name.clone(), content: lines.concat(), adds: *adds });
            return;
        }
        for command in &marks.commands {
            let (command, quoted) = (command.clone(), String::new());
            self.parts.push(Part::Command { line: number, command, quoted, status: 0 });
        }
        let has_commands = lines.iter().any(|line| is_command(line));
        let runs = has_commands && !marks.is_not_run;
        if runs && lines.first().is_some_and(|line| !line.starts_with("$ ")) {
            self.unmarked.push(format!(
                "{}:{number}: commands in this block are run if each begins with `$ `, and else need a comment \
                 before it: <!-- not run: REASON -->",
                self.name
            ));
        }
        if !runs {
            return self.text(&lines.concat());
        }
        let mut lines = lines.iter().copied().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            self.text(line);
            let Some(first) = line.strip_prefix("$ ") else { continue };
            let mut command = first.trim_end().to_owned();
            while command.ends_with('\\')
                && let Some((_, line)) = lines.next()
            {
                self.text(line);
                command.pop();
                command += line.trim();
            }
            let mut quoted = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with("$ ")) {
                quoted += line;
            }
            self.parts.push(Part::Command { line: number + at, command, quoted, status: marks.status });
        }
    }
}
