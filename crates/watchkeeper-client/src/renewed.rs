//! Renewed: what is made of certificates that somebody else renews in place.
//!
//! From: what is found each time that it is needed, for a connection that begins.
//! To:   the [transport](crate::transport), and whoever serves by certificates in files.
//!
//! - N1: what cannot be read or used never takes the place of what could. That is said once, until something else is found.
//! - N2: as long as the same is found, everybody gets the same.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;

/// What was made of what was found last.
pub struct Renewed<M, T> {
    state: Mutex<State<M, T>>,
}

struct State<M, T> {
    made: Option<(Arc<M>, Arc<T>)>,
    /// Why what was found since cannot be used.
    complaint: Option<String>,
}

impl<M, T> Default for Renewed<M, T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { made: None, complaint: None }) }
    }
}

/// Tells nothing of what was found.
impl<M, T> fmt::Debug for Renewed<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewed").field("complaint", &self.state.lock().complaint).finish_non_exhaustive()
    }
}

impl<M: PartialEq, T> Renewed<M, T> {
    /// What holds, and what it was made of; `None` before the first time.
    pub fn known(&self) -> Option<(Arc<M>, Arc<T>)> {
        self.state.lock().made.clone()
    }

    /// What holds now that this was found: what was made of it before, or what `make` makes of it, or what held before
    /// (N1). If dropped half-way, what held goes on to hold.
    ///
    /// # Errors
    /// Where nothing held before, and this cannot be used.
    pub async fn current<E, F>(
        &self,
        found: Result<M, E>,
        make: impl FnOnce(Arc<M>) -> F,
    ) -> Result<Arc<T>, E>
    where
        E: Error,
        F: Future<Output = Result<T, E>>,
    {
        let known = self.known();
        let made = match found {
            Ok(found) => match &known {
                Some((of, known)) if **of == found => {
                    self.state.lock().complaint = None;
                    return Ok(known.clone()); // N2
                }
                _ => {
                    let found = Arc::new(found);
                    make(found.clone()).await.map(|made| (found, Arc::new(made)))
                }
            },
            Err(error) => Err(error),
        };
        match (made, known) {
            (Ok(made), known) => {
                if known.is_some() {
                    tracing::info!("certificates have been renewed");
                }
                Ok(self.state.lock().take(made))
            }
            (Err(error), Some((_, known))) => {
                let complaint = told(&error);
                if self.state.lock().complain(&complaint) {
                    tracing::warn!(
                        error = complaint,
                        "certificates have changed and cannot be used: the old ones go on to hold"
                    );
                }
                Ok(known)
            }
            (Err(error), None) => Err(error),
        }
    }
}

impl<M: PartialEq, T> State<M, T> {
    fn take(&mut self, made: (Arc<M>, Arc<T>)) -> Arc<T> {
        self.complaint = None;
        match &self.made {
            // Somebody else has made the same meanwhile (N2).
            Some((of, other)) if *of == made.0 => other.clone(),
            _ => self.made.insert(made).1.clone(),
        }
    }

    /// Whether this is something new to say.
    fn complain(&mut self, complaint: &str) -> bool {
        let is_new = self.complaint.as_deref() != Some(complaint);
        self.complaint = Some(complaint.to_owned());
        is_new
    }
}

/// An error with its causes.
fn told(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Makes a text of a number that is even.
    async fn find(renewed: &Renewed<u32, String>, found: Result<u32, &str>) -> Result<Arc<String>, String> {
        let found = found.map_err(io::Error::other);
        let make = |number: Arc<u32>| async move {
            let odd = || io::Error::other(format!("{number} is odd"));
            number.is_multiple_of(2).then(|| number.to_string()).ok_or_else(odd)
        };
        renewed.current(found, make).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn what_cannot_be_used_never_takes_the_place_of_what_could() {
        let renewed = Renewed::default();
        assert_eq!(find(&renewed, Err("no file")).await, Err("no file".to_owned()));
        assert_eq!(find(&renewed, Ok(1)).await, Err("1 is odd".to_owned()));
        let first = find(&renewed, Ok(2)).await.unwrap();
        for broken in [Ok(3), Err("no file"), Ok(3)] {
            assert!(Arc::ptr_eq(&find(&renewed, broken).await.unwrap(), &first), "N1");
        }
        assert!(Arc::ptr_eq(&find(&renewed, Ok(2)).await.unwrap(), &first), "N2");
        assert_eq!(*find(&renewed, Ok(4)).await.unwrap(), "4");
        assert_eq!(*find(&renewed, Err("no file")).await.unwrap(), "4");
    }

    #[tokio::test]
    async fn a_complaint_is_said_once_until_something_else_is_found() {
        let renewed = Renewed::default();
        find(&renewed, Ok(2)).await.unwrap();
        let mut said = Vec::new();
        for found in [Ok(3), Ok(3), Err("no file"), Err("no file"), Ok(2), Ok(3)] {
            let before = renewed.state.lock().complaint.clone();
            find(&renewed, found).await.unwrap();
            let after = renewed.state.lock().complaint.clone();
            said.extend(after.filter(|after| before.as_ref() != Some(after)));
        }
        assert_eq!(said, ["3 is odd", "no file", "3 is odd"]);
        let mut state = renewed.state.lock();
        let news = ["no file", "no file", "no right", "no file"].map(|complaint| state.complain(complaint));
        assert_eq!(news, [true, false, true, true]);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("a.pem cannot be read")]
    struct Unread(#[source] io::Error);

    #[test]
    fn a_complaint_says_why() {
        let unread = Unread(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(told(&unread), "a.pem cannot be read: permission denied");
    }

    #[tokio::test]
    async fn two_who_find_the_same_at_once_get_the_same() {
        let (renewed, go) = (Renewed::<u32, ()>::default(), tokio::sync::Notify::new());
        let slow = async |_| {
            go.notified().await;
            Ok::<_, io::Error>(())
        };
        let first = renewed.current(Ok(1), slow);
        let second = async {
            let made = renewed.current(Ok(1), async |_| Ok::<_, io::Error>(())).await;
            go.notify_one();
            made
        };
        let (first, second) = tokio::join!(first, second);
        assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()), "N2");
    }
}
