//! The providers against a scripted server (what they make of an answer, and what they sent), and what wraps them.

mod growing_body;
mod provider_faults;
mod round_trip;
mod support;
mod wrappers;
