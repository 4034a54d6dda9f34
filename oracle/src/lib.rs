//! Oracle: the real things that Watchkeeper is checked against.
//!
//! - [`Cluster`] is a real kube-apiserver on a real etcd, gone with the test that started it.
//! - [`EtcdServer`] is a real etcd alone, which can be killed and started again.
//! - [`Kubectl`] is the real kubectl at a server of either sort.
//! - [`Binaries`] are those two, kubectl, kube-controller-manager and the Go programs under `cmd/`, at the
//!   versions that `go.mod` pins; they are built when they are first needed and cached outside the checkout.
//! - [`testdata()`] and [`random_objects`] are objects in the forms that Go gives them, for the codecs.
//! - [`seed()`] is what random objects are made of: the same each time, unless one asks for another.
//! - [`words()`] are texts and what Go reads in them, for everything that is read from text.
//!
//! Nothing here is a part of the product, and nothing here imitates a server: what these say is what is true.

mod binaries;
mod certificates;
mod client;
mod cluster;
mod etcd;
mod kubeconfig;
mod kubectl;
mod objects;
mod process;
mod readiness;
mod records;
mod seed;
mod server;
mod testdata;
mod words;

pub use binaries::{Binaries, BuildError};
pub use client::{Client, RequestError};
pub use cluster::{Builder, Cluster};
pub use etcd::{EtcdBuilder, EtcdServer};
pub use kubectl::{Kubectl, Said};
pub use objects::{OfJson, RandomObject, RandomObjects, random_objects};
pub use readiness::StartError;
pub use records::RecordError;
pub use seed::seed;
pub use testdata::{Sample, Testdata, TestdataError, testdata};
pub use words::{Word, Words, words};
