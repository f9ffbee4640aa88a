//! How calls pass sections of arrays that have gaps.

use crate::table::Function;

/// Whether a call returns while its buffers are still used.
pub fn is_nonblocking(function: &Function) -> bool {
    let name = &*function.name;
    let is_immediate = name.starts_with('I') || name.starts_with("File_i");
    is_immediate
        || name.contains("_init")
        || name.ends_with("_begin")
        || function.chapter.starts_with("12 ")
        || name.ends_with("uffer_attach")
        || name.ends_with("attach_buffer")
}

/// Whether the elements of a buffer of a collective are those of one rank alone, and no reduction's, so that
/// a datatype may describe them.
fn is_own(function: &Function, buffer: &str) -> bool {
    let name = function.name.trim_start_matches('I').to_lowercase();
    let name = name.trim_end_matches("_init").trim_start_matches("neighbor_");
    match buffer {
        "buffer" => true,
        "sendbuf" => name.starts_with("gather") || name.starts_with("allgather"),
        "recvbuf" => name.starts_with("scatter"),
        _ => false,
    }
}

/// Whether a request is done when a call's buffers are no longer used.
fn has_request(function: &Function) -> bool {
    let is_persistent = function.name.contains("_init");
    !is_persistent && function.parameters.iter().any(|of| of.kind == "*request")
}

/// Whether copies of a call's sections may stay until a request is done.
pub fn is_later(function: &Function) -> bool {
    is_nonblocking(function) && has_request(function)
}

/// The strategy for a buffer with a count and a datatype, by its name in C.
pub fn counted(function: &Function, buffer: &str) -> &'static str {
    let is_collective = function.chapter.starts_with("6 ") || function.chapter.starts_with("8 ");
    let may_be_typed = !is_collective || is_own(function, buffer);
    match (may_be_typed, is_nonblocking(function), has_request(function)) {
        (true, true, true) => "TYPES_OR_LATER",
        (true, true, false) => "TYPES",
        (true, false, _) => "TYPES_OR_COPY",
        (false, ..) => uncounted(function),
    }
}

/// The strategy for a buffer with arrays of counts, or without a datatype.
pub fn uncounted(function: &Function) -> &'static str {
    match (is_nonblocking(function), has_request(function)) {
        (true, true) => "LATER",
        (true, false) => "NEITHER",
        (false, _) => "COPY",
    }
}

/// Functions that take the address of their buffer alone, or one element.
pub fn is_address_alone(function: &Function) -> bool {
    matches!(&*function.name, "Get_address" | "Free_mem" | "Win_detach" | "Compare_and_swap" | "Fetch_and_op")
        || (function.name.starts_with("File_") && function.name.ends_with("_end"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn datatypes_describe_what_belongs_to_one_rank() {
        let functions = crate::functions();
        let of = |name: &str, buffer| {
            super::counted(functions.iter().find(|of| of.name == name).expect("a function"), buffer)
        };
        assert_eq!(of("Send", "buf"), "TYPES_OR_COPY");
        assert_eq!(of("Irecv", "buf"), "TYPES_OR_LATER");
        assert_eq!((of("Recv_init", "buf"), of("Rget", "origin_addr")), ("TYPES", "TYPES_OR_LATER"));
        assert_eq!(of("Put", "origin_addr"), "TYPES");
        assert_eq!((of("Gather", "sendbuf"), of("Gather", "recvbuf")), ("TYPES_OR_COPY", "COPY"));
        assert_eq!((of("Iscatter", "sendbuf"), of("Iscatter", "recvbuf")), ("LATER", "TYPES_OR_LATER"));
        assert_eq!(of("Neighbor_allgather_init", "sendbuf"), "TYPES");
        assert_eq!((of("Allreduce", "sendbuf"), of("Ireduce", "sendbuf")), ("COPY", "LATER"));
        assert_eq!(of("Allreduce_init", "recvbuf"), "NEITHER");
        assert_eq!(of("Bcast_init", "buffer"), "TYPES");
    }
}
