mod markdown;
mod rows;
