//! The calls in C that Fortran makes: each converts its arguments and calls the function of the standard ABI.

use crate::f08::{has_choice, has_own_name, specific};
use crate::interfaces::has_twin;
use crate::roles::{Handle, Passed, Role, is_deprecated, is_special, parameters, role};
use crate::sections;
use crate::table::Function;
use std::fmt::Write as _;

/// How buffers come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffers {
    /// As addresses.
    Addresses,
    /// As descriptors.
    Descriptors,
}

/// A call, while it is put together.
struct Call<'a> {
    function: &'a Function,
    is_long: bool,
    buffers: Buffers,
    parameters: Vec<String>,
    /// Lengths of strings, which follow all other arguments.
    lengths: Vec<String>,
    before: Vec<String>,
    /// Sections are opened when all handles are there.
    opened: Vec<String>,
    arguments: Vec<String>,
    /// What is done after a call that succeeds.
    on_success: Vec<String>,
    after: Vec<String>,
}

/// Space for a string that a function returns, with its NUL.
fn room(function: &Function, name: &str) -> &'static str {
    match (&*function.name, name) {
        (_, "comm_name" | "type_name" | "win_name") => "MPI_MAX_OBJECT_NAME",
        ("Error_string", _) => "MPI_MAX_ERROR_STRING",
        ("Get_library_version", _) => "MPI_MAX_LIBRARY_VERSION_STRING",
        ("Get_processor_name", _) => "MPI_MAX_PROCESSOR_NAME",
        (_, "port_name") => "MPI_MAX_PORT_NAME",
        (_, "datarep") => "MPI_MAX_DATAREP_STRING",
        ("Info_get_nthkey", _) => "MPI_MAX_INFO_KEY",
        (function, name) => panic!("no space is known for {name} of {function}"),
    }
}

impl Call<'_> {
    /// How many elements an array of handles or of logical values has.
    fn length(&mut self, name: &str) -> String {
        let has = |name: &str| self.function.parameters.iter().any(|of| of.name == name);
        match name {
            "array_of_requests" if has("incount") => "*incount".into(),
            "array_of_requests" | "array_of_types" => "*count".into(),
            "array_of_datatypes" => "*max_datatypes".into(),
            "periods" if has("maxdims") => "*maxdims".into(),
            "periods" => "*ndims".into(),
            "remain_dims" => {
                self.before.push("const int rank = dimensions(MPI_Comm_fromint(*comm));".into());
                "rank".into()
            }
            "sendtypes" => {
                let is_neighborhood = u8::from(self.function.name.to_lowercase().contains("neighbor"));
                self.before.push("int senders, receivers;".into());
                self.before.push(format!(
                    "peers(MPI_Comm_fromint(*comm), {is_neighborhood}, &receivers, &senders);"
                ));
                "senders".into()
            }
            // Where data is in place, it is not read.
            "recvtypes" => "receivers".into(),
            _ => panic!("no length is known for {name} of {}", self.function.name),
        }
    }

    fn handles(&mut self, name: &str, of: &Handle, passed: Passed) {
        let Handle { name: kind, conversion, .. } = of;
        self.parameters.push(format!("int * {name}"));
        let c = format!("{name}_c");
        if !passed.is_array() {
            match passed {
                Passed::In => {
                    self.arguments.push(format!("MPI_{conversion}_fromint(*{name})"));
                    if self.function.name == "Request_get_status" {
                        self.after.push(format!("finish_if_done(1, {name});"));
                    }
                    return;
                }
                Passed::Out => self.before.push(format!("{kind} {c} = ({kind}) 0;")),
                _ => self.before.push(format!("{kind} {c} = MPI_{conversion}_fromint(*{name});")),
            }
            self.arguments.push(format!("&{c}"));
            let now = format!("MPI_{conversion}_toint({c})");
            let store = match (*kind, passed) {
                ("MPI_Request", Passed::InOut) if self.function.name == "Request_free" => {
                    format!("if (code == MPI_SUCCESS) forget_left(*{name});\n  *{name} = {now};")
                }
                ("MPI_Request", Passed::InOut) => {
                    format!("finish_request(*{name}, {now});\n  *{name} = {now};")
                }
                _ => format!("*{name} = {now};"),
            };
            // What a call takes and returns has its new value after an error, too.
            if passed == Passed::Out {
                self.on_success.push(store)
            } else {
                self.after.push(store)
            }
            return;
        }
        let length = self.length(name);
        let is_unread = name == "sendtypes";
        self.before.push(format!("{kind} {name}_s[HANDLE_ROOM];"));
        self.before.push(format!("const long {name}_n = at_least_none({length});"));
        self.before.push(format!("{kind} * {c} = take({name}_s, HANDLE_ROOM, {name}_n, sizeof *{c});"));
        if passed.is_read() {
            let read =
                format!("for (long i = 0; i < {name}_n; i++) {c}[i] = MPI_{conversion}_fromint({name}[i]);");
            let in_place =
                if self.buffers == Buffers::Descriptors { "sendbuf->base_addr" } else { "sendbuf" };
            self.before.push(match is_unread {
                true => format!("if (c_address({in_place}) != MPI_IN_PLACE) {read}"),
                false => read,
            });
        }
        self.arguments.push(c.clone());
        if passed.is_written() {
            let each = format!("for (long i = 0; i < {name}_n; i++)");
            if passed == Passed::OutArray {
                // As many as there are: the rest stays.
                self.before.push(format!("{each} {c}[i] = ({kind}) 0;"));
                self.on_success
                    .push(format!("{each} if ({c}[i]) {name}[i] = MPI_{conversion}_toint({c}[i]);"));
            } else {
                // These are requests.
                self.after.push(format!("{each} finish_request({name}[i], MPI_{conversion}_toint({c}[i]));"));
                self.after.push(format!("{each} {name}[i] = MPI_{conversion}_toint({c}[i]);"));
            }
        }
        if self.function.name.starts_with("Request_get_status") {
            self.after.push(format!("finish_if_done({name}_n, {name});"));
        }
        self.after.push(format!("give({name}_s, {c});"));
    }

    fn logical(&mut self, name: &str, passed: Passed) {
        self.parameters.push(format!("int * {name}"));
        let c = format!("{name}_c");
        match passed {
            Passed::In => self.arguments.push(format!("to_c_logical(*{name})")),
            Passed::Out | Passed::InOut => {
                self.before.push(format!("int {c} = 0;"));
                self.arguments.push(format!("&{c}"));
                self.on_success.push(format!("*{name} = to_logical({c});"));
            }
            _ => {
                let length = self.length(name);
                self.before.push(format!("int {name}_s[HANDLE_ROOM];"));
                self.before.push(format!("const long {name}_n = at_least_none({length});"));
                self.before.push(format!("int * {c} = take({name}_s, HANDLE_ROOM, {name}_n, sizeof *{c});"));
                let each = format!("for (long i = 0; i < {name}_n; i++)");
                if passed.is_read() {
                    self.before.push(format!("{each} {c}[i] = to_c_logical({name}[i]);"));
                } else {
                    // Of a grid with fewer dimensions than the array has elements the rest stays.
                    self.before.push(format!("{each} {c}[i] = to_c_logical({name}[i]);"));
                    self.on_success.push(format!("{each} {name}[i] = to_logical({c}[i]);"));
                }
                self.arguments.push(c.clone());
                self.after.push(format!("give({name}_s, {c});"));
            }
        }
    }

    fn text(&mut self, name: &str, passed: Passed) {
        self.parameters.push(format!("char * {name}"));
        self.lengths.push(format!("size_t {name}_length"));
        let c = format!("{name}_c");
        if passed == Passed::In {
            let is_stripped = u8::from(self.function.name.starts_with("Info_"));
            self.before.push(format!("char {name}_s[TEXT_ROOM];"));
            self.before
                .push(format!("char * {c} = to_c_text({name}_s, {name}, {name}_length, {is_stripped});"));
            self.after.push(format!("give({name}_s, {c});"));
        } else {
            self.before.push(format!("char {c}[{}] = \"\";", room(self.function, name)));
            self.on_success.push(format!("to_text({name}, {name}_length, {c});"));
        }
        self.arguments.push(c);
    }

    fn choice(&mut self, name: &str, is_read_only: bool, strategy: &str, of: Option<(&str, &str)>) {
        if self.buffers == Buffers::Addresses {
            self.parameters.push(format!("void * {name}"));
            self.arguments.push(format!("c_address({name})"));
            return;
        }
        self.parameters.push(format!("CFI_cdesc_t * {name}"));
        if sections::is_address_alone(self.function) {
            self.arguments.push(format!("c_address({name}->base_addr)"));
            return;
        }
        let (count, of) = of.unwrap_or(("-1", "MPI_DATATYPE_NULL"));
        let read_only = u8::from(is_read_only);
        self.before.push(format!("struct section {name}_c = {{ 0 }};"));
        self.opened.push(format!(
            "if (code == MPI_SUCCESS) code = open_section(&{name}_c, {name}, {count}, {of}, {strategy}, {read_only});"
        ));
        self.arguments.push(format!("{name}_c.at"));
        self.after.push(match sections::is_later(self.function) {
            true => format!("leave_section(&{name}_c, code, request_c);"),
            false => format!("close_section(&{name}_c);"),
        });
    }

    /// Where an error of a section is raised.
    fn raise(&self) -> String {
        let of = |kind: &str| self.function.parameters.iter().find(|of| of.kind == kind).map(|of| &*of.name);
        let place = [("comm", "Comm"), ("win", "Win"), ("file", "File"), ("session", "Session")];
        let found = place.into_iter().find_map(|(kind, handle)| Some((handle, of(kind)?)));
        match found {
            Some((handle, name)) => {
                format!("CALL({handle}_call_errhandler)(MPI_{handle}_fromint(*{name}), code);")
            }
            None => "CALL(Comm_call_errhandler)(MPI_COMM_SELF, code);".into(),
        }
    }

    fn add(&mut self, at: usize) {
        let function = self.function;
        let all: Vec<_> = parameters(function).collect();
        let parameter = all[at];
        let name = &*parameter.name;
        match role(function, parameter, self.is_long) {
            Role::Number(number, Passed::In) => {
                self.parameters.push(format!("{} * {name}", number.in_c()));
                // Of a section it may be another one.
                let buffer = (self.buffers == Buffers::Descriptors && parameter.kind == "count")
                    .then(|| at.checked_sub(1).map(|before| all[before]))
                    .flatten()
                    .filter(|of| matches!(&*of.kind, "data" | "space"))
                    .filter(|_| all.get(at + 1).is_some_and(|of| of.kind == "type"))
                    .map(|of| of.name.clone());
                self.arguments.push(
                    buffer.map_or(format!("*{name}"), |of| format!("({}) {of}_c.count", number.in_c())),
                );
            }
            Role::Number(number, _) => {
                self.parameters.push(format!("{} * {name}", number.in_c()));
                self.arguments.push(name.into());
            }
            Role::Weights(_) => {
                self.parameters.push(format!("int * {name}"));
                self.arguments.push(format!("c_weights({name})"));
            }
            Role::Ranges => {
                self.parameters.push(format!("int (* {name})[3]"));
                self.arguments.push(name.into());
            }
            Role::Logical(passed) => self.logical(name, passed),
            Role::Index(Passed::Out) => {
                self.parameters.push(format!("int * {name}"));
                self.before.push(format!("int {name}_c = MPI_UNDEFINED;"));
                self.arguments.push(format!("&{name}_c"));
                self.after.push(format!("*{name} = to_index({name}_c);"));
            }
            Role::Index(_) => {
                self.parameters.push(format!("int * {name}"));
                self.before.push("*outcount = MPI_UNDEFINED;".into());
                self.arguments.push(name.into());
                self.after
                    .push(format!("for (int i = 0; i < *outcount; i++) {name}[i] = to_index({name}[i]);"));
            }
            Role::Handle(of, passed) => {
                self.handles(name, of, passed);
                // Of a section it may be another one.
                let is_counted = |back: usize| {
                    at.checked_sub(back).map(|before| all[before]).filter(|of| {
                        matches!(&*of.kind, "data" | "space") && (back == 2 && all[at - 1].kind == "count")
                    })
                };
                if let Some(buffer) = is_counted(2).filter(|_| self.buffers == Buffers::Descriptors)
                    && passed == Passed::In
                    && of.kind == "type"
                {
                    *self.arguments.last_mut().expect("one was added") = format!("{}_c.type", buffer.name);
                }
            }
            Role::Status(Passed::In) => {
                self.parameters.push(format!("MPI_Status * {name}"));
                self.arguments.push(name.into());
            }
            Role::Status(_) => {
                self.parameters.push(format!("MPI_Status * {name}"));
                self.arguments.push(format!("c_status({name})"));
            }
            Role::Text(passed) => self.text(name, passed),
            Role::Choice { is_read_only } => {
                let counted = match (all.get(at + 1), all.get(at + 2)) {
                    (Some(count), Some(of)) if count.kind == "count" && of.kind == "type" => {
                        Some((format!("*{}", count.name), format!("MPI_Type_fromint(*{})", of.name)))
                    }
                    _ => None,
                };
                let strategy = match counted {
                    Some(_) => sections::counted(function, name),
                    None => sections::uncounted(function),
                };
                let of = counted.as_ref().map(|(count, of)| (&**count, &**of));
                self.choice(name, is_read_only, strategy, of);
            }
            Role::BasePointer => {
                self.parameters.push(format!("void * {name}"));
                self.arguments.push(name.into());
            }
            Role::BufferAddress if self.buffers == Buffers::Addresses => {
                // Programs of these interfaces know it.
                self.parameters.push(format!("void * {name}"));
                self.before.push(format!("void * {name}_c = NULL;"));
                self.arguments.push(format!("&{name}_c"));
            }
            Role::BufferAddress => {
                self.parameters.push(format!("void * {name}"));
                self.arguments.push(name.into());
            }
            other => panic!("{other:?}, {name} of {}, needs a call of its own", function.name),
        }
    }

    fn write(mut self, name: &str) -> String {
        let count = parameters(self.function).count();
        for at in 0..count {
            self.add(at);
        }
        self.parameters.push("int * ierror".into());
        let raised = (!self.opened.is_empty()).then(|| self.raise());
        let long = if self.is_long { "_c" } else { "" };
        let declared: Vec<_> = self.parameters.into_iter().chain(self.lengths).collect();
        let mut text = format!("EXPORT void NAME({name})({})\n{{\n", declared.join(", "));
        let mut line = |words: &str| {
            let _ = writeln!(text, "  {words}");
        };
        line("int code = MPI_SUCCESS;");
        self.before.iter().chain(&self.opened).for_each(|words| line(words));
        let call = format!("CALL({}{long})({})", self.function.name, self.arguments.join(", "));
        match raised {
            Some(raise) => {
                line(&format!("if (code != MPI_SUCCESS) {raise}"));
                line(&format!("else code = {call};"));
            }
            None => line(&format!("code = {call};")),
        }
        if !self.on_success.is_empty() {
            line("if (code == MPI_SUCCESS)\n  {");
            self.on_success.iter().for_each(|words| line(&format!("  {words}")));
            line("}");
        }
        self.after.iter().for_each(|words| line(words));
        line("if (ierror) *ierror = code;");
        text.push_str("}\n\n");
        text
    }
}

fn call(function: &Function, is_long: bool, buffers: Buffers, name: &str) -> String {
    let call = Call {
        function,
        is_long,
        buffers,
        parameters: vec![],
        lengths: vec![],
        before: vec![],
        opened: vec![],
        arguments: vec![],
        on_success: vec![],
        after: vec![],
    };
    call.write(name)
}

/// All calls that are written from the table.
pub fn calls(functions: &[Function]) -> String {
    let mut text = String::from("/* Written from the table of functions. */\n#include \"support.h\"\n\n");
    for function in functions.iter().filter(|of| !is_special(of)) {
        let lower = function.name.to_lowercase();
        let is_of_types = function.name.ends_with("_c");
        if !is_of_types {
            text.push_str(&call(function, false, Buffers::Addresses, &format!("{lower}_")));
        }
        if is_deprecated(function) {
            continue;
        }
        let typed = format!("{}_", specific(function, false).to_lowercase());
        let returns_buffer = parameters(function).any(|of| role(function, of, false) == Role::BufferAddress);
        if has_choice(function) || is_of_types || returns_buffer {
            text.push_str(&call(function, false, Buffers::Descriptors, &typed));
        } else {
            let _ = write!(text, "SAME({typed}, {lower}_, ());\n\n");
        }
        if has_twin(function) || has_own_name(function) {
            let typed = format!("{}_", specific(function, true).to_lowercase());
            text.push_str(&call(function, true, Buffers::Descriptors, &typed));
        }
        if parameters(function).any(|of| role(function, of, false) == Role::BasePointer) {
            let _ = write!(text, "SAME({lower}_cptr_, {lower}_, ());\n\n");
        }
    }
    text
}
