mod context;
mod journal_properties;
mod play;
mod run_decisions;
