//! Log: what goes wrong meanwhile, on standard error.

use tracing::Level;

/// Warnings, with `-v` what is done, with `-vv` how.
pub(crate) fn start(verbosity: u8) {
    let level = match verbosity {
        0 => Level::WARN,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
}
