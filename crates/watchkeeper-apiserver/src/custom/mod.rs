//! Custom resources: kinds that come with a definition, and not with the server.

pub mod schema;
