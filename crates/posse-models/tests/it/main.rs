//! The providers against a scripted server: what they make of an answer, and what they sent.

mod growing_body;
mod provider_faults;
mod round_trip;
mod support;
