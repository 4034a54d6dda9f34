//! Kubeconfig: clusters, users and contexts.
//!
//! Input: the files of `$KUBECONFIG`, or `~/.kube/config`, or an explicit file ([`Sources`]).
//! Output: a [`Selection`]: one cluster, one user and one namespace, from which a client is configured.
//!
//! Invariants:
//! - `kubeconfig.K1`: of entries with the same name in several files, the first wins as a whole.
//! - `kubeconfig.K2`: relative paths are relative to the file that contains them.
//! - `kubeconfig.K3`: an error names the file and the entry in it.
//! - `kubeconfig.K4`: secrets do not appear in debug output.

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
