//! Auth: name, password and the token obtained with them.
//!
//! Tokens expire by themselves, and with the member that issued them: a rejected token is forgotten, and the next
//! request obtains another.

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
    /// Locked while a token is obtained, so that concurrent requests wait for it.
    token: Mutex<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Unknown,
    /// etcd has authentication disabled.
    NotNeeded,
    Known(HeaderValue),
}

impl Auth {
    pub(crate) fn new(user: Option<(String, String)>) -> Self {
        Self { user, token: Mutex::new(Token::Unknown) }
    }

    pub(crate) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// Returns the token to send, if any, and obtains it if needed.
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
            Token::Known(token) => Some(token.clone()),
            Token::Unknown | Token::NotNeeded => None,
        })
    }

    /// Forgets a token that was rejected, unless it has been replaced meanwhile.
    pub(crate) async fn forget(&self, used: Option<&HeaderValue>) {
        let mut token = self.token.lock().await;
        let is_current = match &*token {
            Token::Known(token) => used == Some(token),
            Token::NotNeeded => used.is_none(),
            Token::Unknown => false,
        };
        if is_current {
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
    let response = async { call.send(connection, Outgoing::One(Some(request))).await?.only().await };
    match response.await {
        Ok(message) => {
            let token = AuthenticateResponse::decode(message)?.token;
            let mut token = HeaderValue::from_str(&token)
                .map_err(|_| Error::NotEtcd("authentication token is not a valid header value".to_owned()))?;
            token.set_sensitive(true);
            Ok(Token::Known(token))
        }
        Err(Error::Rpc { message, .. }) if message.contains(AUTH_NOT_ENABLED) => Ok(Token::NotNeeded),
        Err(Error::Rpc { code: 3, message }) => Err(Error::Unauthenticated { message }),
        Err(error) => Err(error),
    }
}

/// Omits the password.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth")
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .finish_non_exhaustive()
    }
}
