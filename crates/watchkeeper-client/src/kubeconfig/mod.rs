//! Kubeconfig: which clusters there are, and who one is there.
//!
//! From: the files of `$KUBECONFIG`, or `~/.kube/config`, or one that was named ([`Sources`]).
//! To:   a [`Selection`]: one cluster, one user and one namespace, from which a client is made.
//!
//! - K1: of several files, the entry of the first one that has its name counts, as a whole.
//! - K2: relative paths are relative to the file that has them.
//! - K3: an error names the file, and the entry in it.
//! - K4: secrets do not show in debug output.

mod check;
mod format;
mod load;
mod merge;
mod select;

pub use check::{CheckError, Problem};
pub use format::{
    AuthProvider, Cluster, Context, ExecCommand, ExecVariable, InteractiveMode, Kubeconfig, User,
};
pub use load::{FileError, LoadError, Loaded, Sources};
pub use select::{Overrides, SelectError, Selection};
