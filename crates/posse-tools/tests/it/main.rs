//! Real processes under the real supervisor. Waiting is done by looking, with a deadline, never by sleeping a while.

mod bash;
mod driver;
mod own;
mod survivors;
mod world;
