//! The supervisor helper that the tests of processes start.

fn main() {
    posse_sandbox::supervisor::supervise_main(std::env::args_os().skip(1))
}
