//! An informer over an etcd prefix: prints changes until Ctrl-C.
//!
//! ```sh
//! cargo run -p watchkeeper-etcd --example informer -- http://127.0.0.1:2379 /services/
//! etcdctl put /services/shop/web '{"port":8080}'
//! ```

use std::error::Error;

use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Handler, SubscriptionOptions};
use watchkeeper_cache::{Informer, Keep};
use watchkeeper_core::LabelSelector;
use watchkeeper_etcd::{Etcd, EtcdSource};
use watchkeeper_wire::Kind;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, prefix] = arguments.try_into().map_err(|_| "usage: informer ENDPOINT PREFIX")?;

    let etcd = Etcd::builder([endpoint]).build()?;
    let source = EtcdSource::new(etcd, prefix).on_skipped(|skipped| {
        eprintln!("SKIPPED : {} at revision {}: {}", skipped.key, skipped.kv.mod_revision, skipped.error);
    });
    let values = Informer::new(Kind::new("", "", "Value"), source);
    Handler::start(values.subscribe(SubscriptionOptions::default()), |change| {
        let label = match change {
            Delta::Added { initial: true, .. } => "INITIAL",
            Delta::Added { .. } => "ADDED",
            Delta::Updated { .. } => "MODIFIED",
            Delta::Deleted { .. } => "DELETED",
            Delta::Resync(_) => "RESYNC",
        };
        println!("{label} : {}", change.newest().metadata.key());
    });
    values.start();
    tokio::signal::ctrl_c().await?;

    let left = values.reader::<serde_json::Value>(Keep::Encoded).list(&LabelSelector::default());
    let revision = left.version().clone();
    println!("{} values at revision {revision}", left.items()?.len());
    values.stop().await;
    Ok(())
}
