//! Logging to standard error.

use tracing::Level;

/// Installs the subscriber: warnings by default, info with `-v`, debug with `-vv`.
pub(crate) fn start(verbosity: u8) {
    let level = match verbosity {
        0 => Level::WARN,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
}
