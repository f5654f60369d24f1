//! Interactive screens: the live run, chat and `top`. They read tasks through the ports of the runtime and paint with
//! `posse-terminal`. Nothing here knows a database, a provider or the environment.

#![forbid(unsafe_code)]
