//! Services over a cache beside each other: how many answers a second they give.
//!
//! From: [`Served`] programs that follow one server and print their address, and a [`Question`] for each to answer.
//! To:   an [`Answered`]: how many answers, in what time, at what cost.
//!
//! - Y1: both are asked the same, by the same number of connections, each of which waits for an answer before it asks
//!   again; whoever is not asked rests.
//! - Y2: an answer counts if it has the status 200 and as many objects as were asked for: the first of each
//!   connection is read, the others must be as long.

mod load;
mod served;

pub use load::{Answered, Question};
pub use served::Served;
