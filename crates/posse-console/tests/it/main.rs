mod console;
mod pty;
