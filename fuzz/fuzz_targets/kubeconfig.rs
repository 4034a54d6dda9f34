//! Kubeconfigs: a parsed file can be merged and selected from without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_client::Config;
use watchkeeper_client::kubeconfig::{Kubeconfig, Overrides};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Ok(config) = Kubeconfig::parse(&text) else { return };
    let mut merged = config.clone();
    merged.merge(config.clone());
    assert_eq!(merged, config, "merging a file with itself changes nothing");
    for context in config.contexts.keys() {
        let overrides = Overrides { context: Some(context.clone()), ..Overrides::default() };
        let Ok(selection) = config.select(&overrides) else { continue };
        // Selections that refer to files are skipped, because the target must not read any.
        let names_files = |path: &std::path::Path| !path.as_os_str().is_empty();
        let (cluster, user) = (&selection.cluster, &selection.user);
        if names_files(&cluster.certificate_authority)
            || names_files(&user.client_certificate)
            || names_files(&user.client_key)
        {
            continue;
        }
        let _ = Config::from_selection(&selection);
    }
});
