//! Logs: what containers have written, for those who read and those who follow.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::watch;

use watchkeeper_apiserver::http::Query;

/// Logs by `namespace/pod/container`. They grow until the kubelet goes.
#[derive(Default)]
pub(super) struct Logs {
    all: parking_lot::Mutex<HashMap<String, watch::Sender<Log>>>,
}

#[derive(Clone, Default)]
struct Log {
    text: Arc<Vec<u8>>,
    ended: bool,
}

impl Logs {
    pub(super) fn write(&self, name: &str, text: &[u8]) {
        self.sender(name).send_modify(|log| Arc::make_mut(&mut log.text).extend_from_slice(text));
    }

    pub(super) fn end(&self, name: &str) {
        self.sender(name).send_modify(|log| log.ended = true);
    }

    /// What is asked for of a log, as it comes.
    pub(super) fn read(
        &self,
        name: &str,
        query: &Query,
    ) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + use<> {
        let follow = query.switch("follow") == Some(true);
        let number = |name: &str| query.number(name).ok().flatten().and_then(|it| usize::try_from(it).ok());
        let tail = number("tailLines");
        let log = self.sender(name).subscribe();
        let from = tail.map_or(0, |lines| beginning(&log.borrow().text, lines));
        let left = number("limitBytes").unwrap_or(usize::MAX);
        futures_util::stream::unfold(Reader { log, from, left }, move |mut reader| async move {
            let piece = reader.next(follow).await?;
            Some((Ok(piece), reader))
        })
    }

    fn sender(&self, name: &str) -> watch::Sender<Log> {
        self.all.lock().entry(name.to_owned()).or_insert_with(|| watch::Sender::new(Log::default())).clone()
    }
}

struct Reader {
    log: watch::Receiver<Log>,
    from: usize,
    /// Bytes that may be read still.
    left: usize,
}

impl Reader {
    /// What is there and was not read; if nothing is, and somebody follows, what comes next.
    async fn next(&mut self, follow: bool) -> Option<Bytes> {
        let is_news = |log: &Log| log.text.len() > self.from || log.ended;
        let log = match follow {
            true => self.log.wait_for(is_news).await.ok()?.clone(),
            false => self.log.borrow().clone(),
        };
        let end = log.text.len().min(self.from.saturating_add(self.left));
        let piece = Bytes::copy_from_slice(&log.text[self.from.min(end)..end]);
        (self.from, self.left) = (end, self.left - piece.len());
        Some(piece).filter(|piece| !piece.is_empty())
    }
}

/// Where the last lines begin.
fn beginning(text: &[u8], lines: usize) -> usize {
    let ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    // The end of the last line is not between two.
    let mut between = ends.map(|(at, _)| at + 1).filter(|at| *at < text.len());
    match lines {
        0 => text.len(),
        lines => between.nth(lines - 1).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_begin_where_they_begin() {
        let tail = |text: &'static str, lines| &text[beginning(text.as_bytes(), lines)..];
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(tail("a\nb\nc", 1), "c");
        assert_eq!(tail("a\nb\n", 9), "a\nb\n");
        assert_eq!(tail("a\n", 0), "");
        assert_eq!(tail("", 1), "");
    }
}
