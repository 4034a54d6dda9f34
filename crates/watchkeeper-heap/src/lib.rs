//! Returns freed memory to the system after a load.
//!
//! glibc keeps freed memory unless it is at the end of an arena. A server that was under load would hold the memory of
//! closed connections for as long as it runs. With another C library or on another system, nothing is done here.
//!
//! See `docs/decisions/0012-the-allocator-of-the-command.md`.

use std::io;

/// Starts a thread that returns freed memory for as long as the process runs.
///
/// The thread looks every 5 seconds while it finds memory to return, and every 40 seconds otherwise.
///
/// # Errors
/// If the thread cannot be started.
pub fn start_trimming() -> io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    std::thread::Builder::new().name("heap-trim".to_owned()).spawn(glibc::trim_forever)?;
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;
    use std::time::Duration;
    use std::{fs, thread};

    /// Time from one trim to the next, while trimming returns memory.
    const SHORTEST: Duration = Duration::from_secs(5);

    /// The longest such time; each trim that returns nothing doubles the time up to this.
    const LONGEST: Duration = Duration::from_secs(40);

    /// A trim that returns fewer pages than this has returned nothing.
    const WORTHWHILE_PAGES: u64 = 256;

    // SAFETY: malloc_trim takes a number, locks the arenas while it trims them, and may be called by any thread at any
    // time.
    #[expect(unsafe_code, reason = "no safe wrapper exists")]
    unsafe extern "C" {
        /// Returns all free pages to the system, and leaves `pad` free bytes at the end of the main arena.
        safe fn malloc_trim(pad: usize) -> c_int;
    }

    pub(super) fn trim_forever() {
        let mut pause = SHORTEST;
        loop {
            thread::sleep(pause);
            let before = resident_pages();
            malloc_trim(0);
            let returned = before.saturating_sub(resident_pages());
            pause = if returned >= WORTHWHILE_PAGES { SHORTEST } else { LONGEST.min(2 * pause) };
        }
    }

    /// Returns the number of resident pages of this process; 0 without `/proc`.
    fn resident_pages() -> u64 {
        let resident = || fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok();
        resident().unwrap_or(0)
    }
}
