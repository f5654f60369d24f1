mod bypasses;
mod context;
mod journal_properties;
mod judging;
mod play;
mod run_decisions;
mod token_counts;
