mod keys;
mod markdown;
mod painter;
mod rows;
