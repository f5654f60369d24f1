//! Servers that agents use: started when needed, shared by a session, their tools under names of their own.
