//! Auth: a name and a password, and the token that they were good for.
//!
//! Tokens end by themselves, and with the member that gave them: one that is refused is forgotten, and the next
//! request asks for another.

use std::fmt;

use http::HeaderValue;
use tokio::sync::Mutex;

use crate::codec::{Decode as _, encode};
use crate::connection::Connection;
use crate::error::{AUTH_NOT_ENABLED, Error};
use crate::grpc::{Call, Outgoing, frame};
use crate::message::{AuthenticateRequest, AuthenticateResponse};

pub(crate) struct Auth {
    user: Option<(String, String)>,
    /// Held while a token is asked for: who comes meanwhile waits for it.
    token: Mutex<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Unknown,
    /// etcd asks nobody for a name.
    NotNeeded,
    Is(HeaderValue),
}

impl Auth {
    pub(crate) fn new(user: Option<(String, String)>) -> Self {
        Self { user, token: Mutex::new(Token::Unknown) }
    }

    pub(crate) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// The token to send, if any. Dropped half-way, there is none yet.
    pub(crate) async fn token(
        &self,
        connection: &mut Connection,
        limit: usize,
    ) -> Result<Option<HeaderValue>, Error> {
        let Some((name, password)) = &self.user else { return Ok(None) };
        let mut token = self.token.lock().await;
        if *token == Token::Unknown {
            *token = authenticate(connection, name, password, limit).await?;
        }
        Ok(match &*token {
            Token::Is(token) => Some(token.clone()),
            Token::Unknown | Token::NotNeeded => None,
        })
    }

    /// What was sent was refused.
    pub(crate) async fn forget(&self, used: Option<&HeaderValue>) {
        let mut token = self.token.lock().await;
        let is_it = match &*token {
            Token::Is(token) => used == Some(token),
            Token::NotNeeded => used.is_none(),
            Token::Unknown => false,
        };
        if is_it {
            *token = Token::Unknown;
        }
    }
}

async fn authenticate(
    connection: &mut Connection,
    name: &str,
    password: &str,
    limit: usize,
) -> Result<Token, Error> {
    let method = "/etcdserverpb.Auth/Authenticate";
    let call = Call { method, token: None, needs_leader: false, limit };
    let request = frame(&encode(&AuthenticateRequest { name, password }))?;
    let answer = async { call.send(connection, Outgoing::One(Some(request))).await?.only().await };
    match answer.await {
        Ok(message) => {
            let token = AuthenticateResponse::decode(message)?.token;
            let mut token = HeaderValue::from_str(&token)
                .map_err(|_| Error::NotEtcd("its token is no header".to_owned()))?;
            token.set_sensitive(true);
            Ok(Token::Is(token))
        }
        Err(Error::Refused { message, .. }) if message.contains(AUTH_NOT_ENABLED) => Ok(Token::NotNeeded),
        Err(Error::Refused { code: 3, message }) => Err(Error::Unauthenticated { message }),
        Err(error) => Err(error),
    }
}

/// Shows no password.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth")
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .finish_non_exhaustive()
    }
}
