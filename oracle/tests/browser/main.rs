//! The web page in Chromium, on the embedded cluster, while kubectl changes objects.
//!
//! Needs `chromium` and `chromedriver` on the PATH. If `WATCHKEEPER_PICTURES` names a directory, the tests write
//! screenshots there; `WATCHKEEPER_PAGE_PODS` sets the number of pods for the measurements in `performance`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod driver;
mod environment;
mod layout;
mod modules;
mod navigation;
mod object;
mod outages;
mod page;
mod performance;
mod screenshots;
mod sign_in;
mod table;
mod tabs;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
