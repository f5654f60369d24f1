mod markdown;
mod painter;
mod rows;
