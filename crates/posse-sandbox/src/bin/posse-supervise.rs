//! The supervisor helper as a program of its own, for tests and for library users without the `posse` binary.

fn main() {
    posse_sandbox::supervisor::supervise_main(std::env::args_os().skip(1))
}
