mod corpus;
mod documented;
mod exporting;
mod reading;
mod shipped;
mod specification;
