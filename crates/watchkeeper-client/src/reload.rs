//! Reloads certificates that another process rotates in place.
//!
//! Input: the certificates as read for each new connection.
//! Output: the [transport](crate::transport), and servers with certificates in files.
//!
//! Invariants:
//! - `reload.N1`: unreadable or invalid certificates never replace valid ones. Each error is logged once, until the input
//!   changes.
//! - `reload.N2`: while the input is unchanged, every caller gets the same value.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_core::ErrorChain;

/// A value built from the last valid input `M`, usually certificates, and rebuilt when the input changes.
pub struct CertReloader<M, T> {
    state: Mutex<State<M, T>>,
}

struct State<M, T> {
    current: Option<(Arc<M>, Arc<T>)>,
    /// Why the newest input cannot be used.
    error: Option<String>,
}

impl<M, T> Default for CertReloader<M, T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { current: None, error: None }) }
    }
}

/// Omits the input and the value.
impl<M, T> fmt::Debug for CertReloader<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertReloader").field("error", &self.state.lock().error).finish_non_exhaustive()
    }
}

impl<M: PartialEq, T> CertReloader<M, T> {
    /// Returns the last valid input and its value; `None` before the first one.
    pub fn last(&self) -> Option<(Arc<M>, Arc<T>)> {
        self.state.lock().current.clone()
    }

    /// Returns the value for `input`: the current one if the input is unchanged, or else the result of `build`. If the
    /// input cannot be used, returns the last valid value (`reload.N1`). Cancel safe.
    ///
    /// # Errors
    /// If the input cannot be used and there is no earlier value.
    pub async fn current<E, F>(
        &self,
        input: Result<M, E>,
        build: impl FnOnce(Arc<M>) -> F,
    ) -> Result<Arc<T>, E>
    where
        E: Error + 'static,
        F: Future<Output = Result<T, E>>,
    {
        let last = self.last();
        let built = match input {
            Ok(input) => match &last {
                Some((last_input, last)) if **last_input == input => {
                    self.state.lock().error = None;
                    return Ok(last.clone()); // reload.N2
                }
                _ => {
                    let input = Arc::new(input);
                    build(input.clone()).await.map(|built| (input, Arc::new(built)))
                }
            },
            Err(error) => Err(error),
        };
        match (built, last) {
            (Ok(built), last) => {
                if last.is_some() {
                    tracing::info!("reloaded certificates");
                }
                Ok(self.state.lock().replace(built))
            }
            (Err(error), Some((_, last))) => {
                let error = ErrorChain(&error).to_string();
                if self.state.lock().record_error(&error) {
                    tracing::warn!(error, "failed to reload certificates; keeping the previous ones");
                }
                Ok(last)
            }
            (Err(error), None) => Err(error),
        }
    }
}

impl<M: PartialEq, T> State<M, T> {
    fn replace(&mut self, built: (Arc<M>, Arc<T>)) -> Arc<T> {
        self.error = None;
        match &self.current {
            // A concurrent caller has built the same value (reload.N2).
            Some((input, value)) if *input == built.0 => value.clone(),
            _ => self.current.insert(built).1.clone(),
        }
    }

    /// Records an error; returns whether it differs from the last one.
    fn record_error(&mut self, error: &str) -> bool {
        let is_new = self.error.as_deref() != Some(error);
        self.error = Some(error.to_owned());
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Builds a string from a number; only even numbers are valid.
    async fn reload(
        reloader: &CertReloader<u32, String>,
        input: Result<u32, &str>,
    ) -> Result<Arc<String>, String> {
        let input = input.map_err(io::Error::other);
        let build = |number: Arc<u32>| async move {
            let odd = || io::Error::other(format!("{number} is odd"));
            number.is_multiple_of(2).then(|| number.to_string()).ok_or_else(odd)
        };
        reloader.current(input, build).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn invalid_input_never_replaces_a_valid_value() {
        let reloader = CertReloader::default();
        assert_eq!(reload(&reloader, Err("no file")).await, Err("no file".to_owned()));
        assert_eq!(reload(&reloader, Ok(1)).await, Err("1 is odd".to_owned()));
        let first = reload(&reloader, Ok(2)).await.unwrap();
        for broken in [Ok(3), Err("no file"), Ok(3)] {
            assert!(Arc::ptr_eq(&reload(&reloader, broken).await.unwrap(), &first), "reload.N1");
        }
        assert!(Arc::ptr_eq(&reload(&reloader, Ok(2)).await.unwrap(), &first), "reload.N2");
        assert_eq!(*reload(&reloader, Ok(4)).await.unwrap(), "4");
        assert_eq!(*reload(&reloader, Err("no file")).await.unwrap(), "4");
    }

    #[tokio::test]
    async fn an_error_is_reported_once_until_the_input_changes() {
        let reloader = CertReloader::default();
        reload(&reloader, Ok(2)).await.unwrap();
        let mut reported = Vec::new();
        for input in [Ok(3), Ok(3), Err("no file"), Err("no file"), Ok(2), Ok(3)] {
            let before = reloader.state.lock().error.clone();
            reload(&reloader, input).await.unwrap();
            let after = reloader.state.lock().error.clone();
            reported.extend(after.filter(|after| before.as_ref() != Some(after)));
        }
        assert_eq!(reported, ["3 is odd", "no file", "3 is odd"]);
        let mut state = reloader.state.lock();
        let new = ["no file", "no file", "no right", "no file"].map(|error| state.record_error(error));
        assert_eq!(new, [true, false, true, true]);
    }

    #[tokio::test]
    async fn concurrent_callers_with_the_same_input_get_the_same_value() {
        let (reloader, go) = (CertReloader::<u32, ()>::default(), tokio::sync::Notify::new());
        let slow = async |_| {
            go.notified().await;
            Ok::<_, io::Error>(())
        };
        let first = reloader.current(Ok(1), slow);
        let second = async {
            let value = reloader.current(Ok(1), async |_| Ok::<_, io::Error>(())).await;
            go.notify_one();
            value
        };
        let (first, second) = tokio::join!(first, second);
        assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()), "reload.N2");
    }
}
