//! Lists the pods of kube-system through the ClientSet.
//!
//! ```sh
//! cargo run -p watchkeeper-kinds --example pods_clientset
//! ```

use std::error::Error;
use std::process::ExitCode;

use watchkeeper_client::resource::ListOptions;
use watchkeeper_core::ErrorChain;
use watchkeeper_kinds::ClientSet;

#[tokio::main]
async fn main() -> ExitCode {
    match print_pods().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn print_pods() -> Result<(), Box<dyn Error>> {
    let client = ClientSet::infer()?;
    for pod in client.core_v1().pods("kube-system").list(&ListOptions::default()).await?.items {
        let node = &pod.spec.node_name;
        println!("{}\t{}", pod.metadata.name, if node.is_empty() { "<none>" } else { node });
    }
    Ok(())
}
