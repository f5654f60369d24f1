mod corpus;
mod reading;
