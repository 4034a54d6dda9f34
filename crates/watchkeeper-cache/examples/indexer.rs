//! An indexer of caller-owned objects, without a server: three pods, looked up by namespace and by node.
//!
//! ```sh
//! cargo run -p watchkeeper-cache --example indexer
//! ```

use std::error::Error;

use watchkeeper_cache::Indexer;
use watchkeeper_core::ObjectKey;

struct Pod {
    namespace: &'static str,
    name: &'static str,
    node: &'static str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let pods = Indexer::new(|pod: &Pod| ObjectKey::namespaced(pod.namespace, pod.name));
    pods.add_index("namespace", |pod: &Pod| vec![pod.namespace.to_owned()])?;
    pods.add_index("node", |pod: &Pod| vec![pod.node.to_owned()])?;

    pods.put(Pod { namespace: "shop", name: "web-0", node: "n1" });
    pods.put(Pod { namespace: "shop", name: "web-1", node: "n2" });
    pods.put(Pod { namespace: "bank", name: "db-0", node: "n1" });

    for (index, value) in [("namespace", "shop"), ("node", "n1")] {
        let found = pods.by_index(index, value)?;
        let names: Vec<_> = found.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
        println!("{index} {value}: {}", names.join(", "));
    }
    println!("nodes with pods: {}", pods.index_values("node")?.join(", "));
    Ok(())
}
