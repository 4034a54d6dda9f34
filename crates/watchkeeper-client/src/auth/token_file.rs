//! Token file: a bearer token that somebody else renews.
//!
//! It is read again at most every [`READ_AGAIN_AFTER`], and at once after the server has refused it. Where
//! that fails, the token that was read before goes on to be used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::kept::Kept;
use super::{AuthError, Awaited, Credentials, Given, bearer};

/// How long a token is used before the file is read again: a minute, less ten seconds so that a token which
/// is renewed every minute never runs out.
pub const READ_AGAIN_AFTER: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(super) struct TokenFile {
    file: Arc<Path>,
    kept: Kept<Token>,
}

#[derive(Clone)]
struct Token {
    header: HeaderValue,
    read: Instant,
}

impl TokenFile {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file: file.into(), kept: Kept::default() }
    }
}

impl Credentials for TokenFile {
    fn authorization(&self) -> Awaited<'_, Given> {
        Box::pin(async move {
            let is_new = |token: &Token| token.read.elapsed() < READ_AGAIN_AFTER;
            let file = self.file.clone();
            let fetch = |old| async move { read_again(&file, old).await };
            let (token, generation) = self.kept.get(is_new, fetch).await?;
            Ok(Given { header: Some(token.header), generation })
        })
    }

    fn refused(&self, generation: u64) {
        self.kept.refuse(generation);
    }
}

async fn read_again(file: &Path, old: Option<Token>) -> Result<Token, AuthError> {
    let now = Instant::now();
    match (read(file).await, old) {
        (Ok(header), _) => Ok(Token { header, read: now }),
        (Err(error), Some(old)) => {
            tracing::warn!(%error, "a token cannot be read again: the old one goes on to be used");
            Ok(Token { read: now, ..old })
        }
        (Err(error), None) => Err(error),
    }
}

async fn read(file: &Path) -> Result<HeaderValue, AuthError> {
    let name = || format!("token file {}", file.display());
    let text = tokio::fs::read_to_string(file).await.map_err(|error| AuthError::because(name(), error))?;
    match text.trim() {
        "" => Err(AuthError::new(format!("{} is empty", name()))),
        token => bearer(&token.into()).map_err(|error| AuthError::because(name(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    async fn given(tokens: &TokenFile) -> String {
        let header = tokens.authorization().await.unwrap().header.unwrap();
        header.to_str().unwrap().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_read_again_now_and_then() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        fs::write(&file, "\n one \n").unwrap();
        let tokens = TokenFile::new(file.clone());
        assert_eq!(given(&tokens).await, "Bearer one");
        fs::write(&file, "two").unwrap();
        tokio::time::advance(READ_AGAIN_AFTER - Duration::from_millis(1)).await;
        assert_eq!(given(&tokens).await, "Bearer one");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(given(&tokens).await, "Bearer two");
        fs::write(&file, " ").unwrap();
        tokio::time::advance(READ_AGAIN_AFTER).await;
        assert_eq!(given(&tokens).await, "Bearer two", "what is empty is no token");
        fs::remove_file(&file).unwrap();
        tokio::time::advance(READ_AGAIN_AFTER).await;
        assert_eq!(given(&tokens).await, "Bearer two");
        fs::write(&file, "three").unwrap();
        assert_eq!(given(&tokens).await, "Bearer two", "a failure counts as a reading");
        tokio::time::advance(READ_AGAIN_AFTER).await;
        assert_eq!(given(&tokens).await, "Bearer three");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_was_refused_is_read_again_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        fs::write(&file, "one").unwrap();
        let tokens = TokenFile::new(file.clone());
        let first = tokens.authorization().await.unwrap();
        fs::write(&file, "two").unwrap();
        tokens.refused(first.generation);
        assert_eq!(given(&tokens).await, "Bearer two");
        fs::write(&file, "three").unwrap();
        tokens.refused(first.generation);
        assert_eq!(given(&tokens).await, "Bearer two", "a late refusal is of the first one");
    }

    #[tokio::test]
    async fn there_must_be_a_token_to_begin_with() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let tokens = TokenFile::new(file.clone());
        let error = tokens.authorization().await.unwrap_err();
        assert_eq!(error.to_string(), format!("no credentials: token file {}", file.display()));
        assert!(std::error::Error::source(&error).is_some());
        fs::write(&file, "\n").unwrap();
        let error = tokens.authorization().await.unwrap_err();
        assert_eq!(error.to_string(), format!("no credentials: token file {} is empty", file.display()));
    }
}
