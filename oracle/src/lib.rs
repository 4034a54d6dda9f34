//! Oracle: the reference implementations that tests compare Watchkeeper with.
//!
//! - [`Cluster`] runs a real kube-apiserver with a real etcd for the duration of a test.
//! - [`EtcdServer`] runs a real etcd alone, which can be killed and restarted.
//! - [`Kubectl`] runs the real kubectl against the real server or ours.
//! - [`Binaries`] are kube-apiserver, kube-controller-manager, kubectl, etcd and the Go programs under `cmd/`, at the
//!   versions that `go.mod` pins. They are built when they are first needed and cached outside the checkout.
//! - [`testdata()`] and [`random_objects`] return objects as Go encodes them, for the codec tests.
//! - [`seed()`] returns the seed of random test data, which is fixed unless the environment sets another.
//! - [`words()`] returns short texts and the results of parsing them in Go, for the parser tests.
//!
//! Nothing here is part of the product or imitates a server: these are the programs and libraries that define the
//! correct behaviour.

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
pub use kubectl::{CommandOutput, Kubectl};
pub use objects::{OfJson, RandomObject, RandomObjects, random_objects};
pub use readiness::StartError;
pub use records::RecordError;
pub use seed::seed;
pub use testdata::{Sample, Testdata, TestdataError, testdata};
pub use words::{Word, Words, words};
