//! Service account tokens.
//!
//! Input: `serviceaccounts/NAME/token`, which requests one.
//! Output: the [`Authenticator`](crate::http::Authenticator), which accepts it until it expires or its account is
//! deleted.
//!
//! Invariants:
//! - `account_token.K1`: a token carries its account, audiences and expiry, and is signed by this issuer. The server
//!   keeps no record of it.
//! - `account_token.K2`: a token is valid only while its account exists, identified by UID and not by name alone.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};

use watchkeeper_core::Quoted;

use super::authenticate::{AUTHENTICATED, User};
use super::random::{NoRandomness, random_token, random_uid};

/// The issuer of the tokens, and their default audience.
pub const ISSUER: &str = "https://kubernetes.default.svc";

/// A service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The UID, which distinguishes it from earlier accounts of the same name.
    pub uid: String,
}

/// A source of service accounts.
pub trait Accounts: Send + Sync {
    /// Returns the current account of that name, or `None` if it does not exist or cannot be read.
    fn find<'a>(&'a self, namespace: &'a str, name: &'a str) -> AccountFuture<'a>;
}

/// The future returned by [`Accounts::find`].
pub type AccountFuture<'a> = Pin<Box<dyn Future<Output = Option<ExistingAccount>> + Send + 'a>>;

/// An existing service account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExistingAccount {
    /// The UID.
    pub uid: String,
    /// The time at which its deletion began, in seconds since 1970.
    pub deleted: Option<i64>,
}

/// The grace period for tokens of an account that is being deleted, in seconds.
const LEEWAY: i64 = 60;

/// The reason that a token is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It was not issued here, or has expired.
    #[error("invalid bearer token")]
    Unknown,
    /// Its account no longer exists (`account_token.K2`).
    #[error("[invalid bearer token, serviceaccounts {} not found]", Quoted(.name))]
    NoAccount {
        /// The name of the account.
        name: String,
    },
    /// Its account was replaced by another of the same name (`account_token.K2`).
    #[error("[invalid bearer token, service account UID ({uid}) does not match claim ({claim})]")]
    OtherAccount {
        /// The UID of the current account.
        uid: String,
        /// The UID in the token.
        claim: String,
    },
    /// Its account is being deleted (`account_token.K2`).
    #[error("[invalid bearer token, service account {namespace}/{name} has been deleted]")]
    Deleted {
        /// The namespace of the account.
        namespace: String,
        /// The name of the account.
        name: String,
    },
}

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claims {
    aud: Vec<String>,
    exp: u64,
    iat: u64,
    iss: String,
    jti: String,
    #[serde(rename = "kubernetes.io")]
    about: About,
    nbf: u64,
    sub: String,
}

/// The account, as encoded in a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    namespace: String,
    serviceaccount: Named,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Named {
    name: String,
    uid: String,
}

/// Issues and verifies tokens. Clones share the key.
#[derive(Clone)]
pub struct TokenIssuer {
    key: Arc<hmac::Key>,
}

/// Omits the key.
impl std::fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenIssuer").finish_non_exhaustive()
    }
}

impl TokenIssuer {
    /// Creates an issuer with a random key.
    ///
    /// # Errors
    /// Fails if the system cannot provide random numbers.
    pub fn generate() -> Result<Self, NoRandomness> {
        Ok(Self::with_secret(&[random_token()?, random_token()?].concat()))
    }

    /// Creates an issuer with this secret key. Issuers with the same key accept each other's tokens.
    pub fn with_secret(secret: &str) -> Self {
        Self { key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())) }
    }

    /// Issues a token for an account that is valid for `seconds`.
    ///
    /// # Errors
    /// Fails if the system cannot provide random numbers.
    pub fn issue(
        &self,
        account: &Account,
        audiences: &[String],
        seconds: u64,
    ) -> Result<String, NoRandomness> {
        let now = now();
        let claims = Claims {
            aud: audiences.to_vec(),
            exp: now.saturating_add(seconds),
            iat: now,
            iss: ISSUER.to_owned(),
            jti: random_uid()?,
            about: About {
                namespace: account.namespace.clone(),
                serviceaccount: Named { name: account.name.clone(), uid: account.uid.clone() },
            },
            nbf: now,
            sub: user_name(account),
        };
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let claims = serde_json::to_vec(&claims).expect("strings and numbers can be encoded");
        let signed = format!("{}.{}", encode(br#"{"alg":"HS256","typ":"JWT"}"#), encode(&claims));
        let signature = encode(hmac::sign(&self.key, signed.as_bytes()).as_ref());
        Ok(format!("{signed}.{signature}"))
    }

    /// Returns the user and the audiences of a token, if its account still exists.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub async fn verify(
        &self,
        token: &str,
        accounts: &dyn Accounts,
    ) -> Result<(User, Vec<String>), TokenError> {
        let claims = self.read(token).ok_or(TokenError::Unknown)?;
        let About { namespace, serviceaccount: Named { name, uid } } = claims.about;
        match accounts.find(&namespace, &name).await {
            None => return Err(TokenError::NoAccount { name }),
            Some(found) if found.uid != uid => {
                return Err(TokenError::OtherAccount { uid: found.uid, claim: uid });
            }
            Some(found) => {
                let oldest = i64::try_from(now()).unwrap_or(i64::MAX).saturating_sub(LEEWAY);
                if found.deleted.is_some_and(|deleted| deleted < oldest) {
                    return Err(TokenError::Deleted { namespace, name });
                }
            }
        }
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            AUTHENTICATED.to_owned(),
        ];
        let mut user = User { uid, ..User::new(claims.sub, groups) };
        let credential = vec![format!("JTI={}", claims.jti)];
        user.extra.insert("authentication.kubernetes.io/credential-id".to_owned(), credential);
        Ok((user, claims.aud))
    }

    /// Verifies a token and returns its claims, or `None` if it is not ours or has expired (`account_token.K1`).
    fn read(&self, token: &str) -> Option<Claims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        (claims.exp > now()).then_some(claims)
    }
}

fn user_name(account: &Account) -> String {
    format!("system:serviceaccount:{}:{}", account.namespace, account.name)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account { namespace: "shop".into(), name: "robot".into(), uid: "u".into() }
    }

    /// A single account, or none.
    struct One(Option<ExistingAccount>);

    impl Accounts for One {
        fn find<'a>(&'a self, _: &'a str, name: &'a str) -> AccountFuture<'a> {
            Box::pin(async move { self.0.clone().filter(|_| name == "robot") })
        }
    }

    fn there() -> ExistingAccount {
        ExistingAccount { uid: "u".into(), deleted: None }
    }

    #[tokio::test]
    async fn a_token_identifies_its_account_to_its_issuer_until_it_expires() {
        let issuer = TokenIssuer::generate().unwrap();
        let (audiences, accounts) = (["them".to_owned()], One(Some(there())));
        let token = issuer.issue(&account(), &audiences, 600).unwrap();
        let (user, granted) = issuer.verify(&token, &accounts).await.unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("system:serviceaccount:shop:robot", "u"));
        assert!(user.is_in("system:serviceaccounts:shop") && granted == audiences);
        let other = TokenIssuer::generate().unwrap();
        assert_eq!(other.verify(&token, &accounts).await, Err(TokenError::Unknown));
        let expired = issuer.issue(&account(), &audiences, 0).unwrap();
        for broken in [&expired, "", ".", "..", &token[1..], &token[..token.len() - 2], "a.b.c"] {
            assert_eq!(issuer.verify(broken, &accounts).await, Err(TokenError::Unknown), "{broken}");
        }
    }

    #[tokio::test]
    async fn a_token_is_invalid_once_its_account_is_deleted() {
        let issuer = TokenIssuer::generate().unwrap();
        let token = issuer.issue(&account(), &[], 600).unwrap();
        let seconds = i64::try_from(now()).unwrap();
        let going = |since| Some(ExistingAccount { deleted: Some(seconds - since), ..there() });
        for (found, why) in [
            (None, Some("[invalid bearer token, serviceaccounts \"robot\" not found]")),
            (
                Some(ExistingAccount { uid: "v".into(), ..there() }),
                Some("[invalid bearer token, service account UID (v) does not match claim (u)]"),
            ),
            (going(5), None),
            (going(90), Some("[invalid bearer token, service account shop/robot has been deleted]")),
        ] {
            let refused = issuer.verify(&token, &One(found)).await.err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), why);
        }
    }
}
