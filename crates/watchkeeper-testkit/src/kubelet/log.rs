//! Logs of containers.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::watch;

use watchkeeper_apiserver::http::Query;

/// Logs by `namespace/pod/container`, kept until the kubelet is dropped.
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

    /// Streams the requested part of a log.
    pub(super) fn read(
        &self,
        name: &str,
        query: &Query,
    ) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + use<> {
        let follow = query.switch("follow") == Some(true);
        let number = |name: &str| query.number(name).ok().flatten().and_then(|it| usize::try_from(it).ok());
        let tail = number("tailLines");
        let log = self.sender(name).subscribe();
        let from = tail.map_or(0, |lines| tail_offset(&log.borrow().text, lines));
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
    /// Remaining bytes of the limit.
    left: usize,
}

impl Reader {
    /// Returns the unread text; waits for more if `follow` is set.
    async fn next(&mut self, follow: bool) -> Option<Bytes> {
        let has_more = |log: &Log| log.text.len() > self.from || log.ended;
        let log =
            if follow { self.log.wait_for(has_more).await.ok()?.clone() } else { self.log.borrow().clone() };
        let end = log.text.len().min(self.from.saturating_add(self.left));
        let piece = Bytes::copy_from_slice(&log.text[self.from.min(end)..end]);
        (self.from, self.left) = (end, self.left - piece.len());
        Some(piece).filter(|piece| !piece.is_empty())
    }
}

/// Returns the offset of the last lines.
fn tail_offset(text: &[u8], lines: usize) -> usize {
    let ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    // The final newline does not begin a line.
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
    fn tail_offset_counts_lines_from_the_end() {
        let tail = |text: &'static str, lines| &text[tail_offset(text.as_bytes(), lines)..];
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(tail("a\nb\nc", 1), "c");
        assert_eq!(tail("a\nb\n", 9), "a\nb\n");
        assert_eq!(tail("a\n", 0), "");
        assert_eq!(tail("", 1), "");
    }
}
