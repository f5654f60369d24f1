mod dialog;
mod keys;
mod markdown;
mod painter;
mod prompt;
mod rows;
