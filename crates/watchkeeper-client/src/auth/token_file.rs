//! Token file: a bearer token that another process rotates.
//!
//! The file is reread at most every [`TOKEN_RELOAD_INTERVAL`], and immediately after the server has rejected the token.
//! If it cannot be read, the last token stays in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::cached::CachedCredential;
use super::{AuthError, AuthFuture, Credential, Credentials, bearer};

/// Age at which a token is reread: a minute, less ten seconds so that a token that is rotated every minute
/// never expires in use.
pub const TOKEN_RELOAD_INTERVAL: Duration = Duration::from_secs(50);

#[derive(Debug)]
pub(super) struct TokenFile {
    file: Arc<Path>,
    cached: CachedCredential<Token>,
}

#[derive(Clone)]
struct Token {
    header: HeaderValue,
    read: Instant,
}

impl TokenFile {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file: file.into(), cached: CachedCredential::default() }
    }
}

impl Credentials for TokenFile {
    fn authorization(&self) -> AuthFuture<'_, Credential> {
        Box::pin(async move {
            let is_fresh = |token: &Token| token.read.elapsed() < TOKEN_RELOAD_INTERVAL;
            let file = self.file.clone();
            let reload = |old| async move { reload_token(&file, old).await };
            let (token, generation) = self.cached.get(is_fresh, reload).await?;
            Ok(Credential { header: Some(token.header), generation })
        })
    }

    fn invalidate(&self, generation: u64) {
        self.cached.invalidate(generation);
    }
}

async fn reload_token(file: &Path, old: Option<Token>) -> Result<Token, AuthError> {
    let now = Instant::now();
    match (read(file).await, old) {
        (Ok(header), _) => Ok(Token { header, read: now }),
        (Err(error), Some(old)) => {
            tracing::warn!(%error, "failed to reread token file; keeping the previous token");
            Ok(Token { read: now, ..old })
        }
        (Err(error), None) => Err(error),
    }
}

async fn read(file: &Path) -> Result<HeaderValue, AuthError> {
    let context = || format!("token file {}", file.display());
    let text =
        tokio::fs::read_to_string(file).await.map_err(|error| AuthError::with_source(context(), error))?;
    match text.trim() {
        "" => Err(AuthError::new(format!("{} is empty", context()))),
        token => bearer(&token.into()).map_err(|error| AuthError::with_source(context(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    async fn header(tokens: &TokenFile) -> String {
        let header = tokens.authorization().await.unwrap().header.unwrap();
        header.to_str().unwrap().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn the_file_is_reread_at_intervals() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        fs::write(&file, "\n one \n").unwrap();
        let tokens = TokenFile::new(file.clone());
        assert_eq!(header(&tokens).await, "Bearer one");
        fs::write(&file, "two").unwrap();
        tokio::time::advance(TOKEN_RELOAD_INTERVAL - Duration::from_millis(1)).await;
        assert_eq!(header(&tokens).await, "Bearer one");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(header(&tokens).await, "Bearer two");
        fs::write(&file, " ").unwrap();
        tokio::time::advance(TOKEN_RELOAD_INTERVAL).await;
        assert_eq!(header(&tokens).await, "Bearer two", "an empty file is ignored");
        fs::remove_file(&file).unwrap();
        tokio::time::advance(TOKEN_RELOAD_INTERVAL).await;
        assert_eq!(header(&tokens).await, "Bearer two");
        fs::write(&file, "three").unwrap();
        assert_eq!(header(&tokens).await, "Bearer two", "a failed read restarts the interval");
        tokio::time::advance(TOKEN_RELOAD_INTERVAL).await;
        assert_eq!(header(&tokens).await, "Bearer three");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_token_is_reread_immediately() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        fs::write(&file, "one").unwrap();
        let tokens = TokenFile::new(file.clone());
        let first = tokens.authorization().await.unwrap();
        fs::write(&file, "two").unwrap();
        tokens.invalidate(first.generation);
        assert_eq!(header(&tokens).await, "Bearer two");
        fs::write(&file, "three").unwrap();
        tokens.invalidate(first.generation);
        assert_eq!(header(&tokens).await, "Bearer two", "a late rejection concerns the first token");
    }

    #[tokio::test]
    async fn the_first_read_must_succeed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let tokens = TokenFile::new(file.clone());
        let error = tokens.authorization().await.unwrap_err();
        assert_eq!(error.to_string(), format!("failed to get credentials: token file {}", file.display()));
        assert!(std::error::Error::source(&error).is_some());
        fs::write(&file, "\n").unwrap();
        let error = tokens.authorization().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("failed to get credentials: token file {} is empty", file.display())
        );
    }
}
