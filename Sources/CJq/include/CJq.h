#pragma once

/// The exit codes by which the child says why it ends; others are those of a crash.
enum {
    jq_child_ended_by_memory = 94,
    jq_child_ended_by_time = 95,
    jq_child_ended_by_arguments = 96,
};

/// Runs a jq program on records until the other end of standard input closes; it does not return.
///
/// A frame is a length of four bytes, the lowest first, and so many bytes. The first frame is the program. It is answered
/// by `r`, or by `c` and the errors of the compiler. Each further frame is the JSON text of the program's input. It is
/// answered by one of these marks and a text:
///
/// - `o`: the outputs as a JSON array
/// - `e`: the message of an error of the program, where it is a text
/// - `l`: the outputs have more bytes than the limit
/// - `p`: the input is nested deeper than jq reads
///
/// `arguments` are decimal numbers: the bytes of memory, the milliseconds of processor time for a record, and the bytes
/// of a record's outputs.
_Noreturn void jq_child_run(int count, const char *const *arguments);
