//! Account tokens: what service accounts show to be known by.
//!
//! From: `serviceaccounts/NAME/token`, which asks for one.
//! To:   the [`Authenticator`](crate::http::Authenticator), which takes it until it expires or its account goes.
//!
//! - K1: a token says whose it is, for whom and until when, and nobody but this issuer can have made it.
//!   Nothing is kept of it.
//! - K2: it is good only while its account is there: the one of that uid, not another of its name.

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

/// Who issues the tokens, and for whom they are unless somebody else is named.
pub const ISSUER: &str = "https://kubernetes.default.svc";

/// A service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Where it is.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// Which of that name it is.
    pub uid: String,
}

/// The service accounts that there are.
pub trait Accounts: Send + Sync {
    /// The account of that name as it is now; `None` where there is none, or it cannot be read.
    fn find<'a>(&'a self, namespace: &'a str, name: &'a str) -> AccountFuture<'a>;
}

/// What a look for an account does while it is awaited.
pub type AccountFuture<'a> = Pin<Box<dyn Future<Output = Option<Found>> + Send + 'a>>;

/// An account that is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Which of its name it is.
    pub uid: String,
    /// Since when it is being deleted, in seconds since 1970.
    pub deleted: Option<i64>,
}

/// How long an account that is being deleted is still taken for one that is not, in seconds.
const LEEWAY: i64 = 60;

/// Why a token is not good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It was never issued here, or has expired.
    #[error("invalid bearer token")]
    Unknown,
    /// Its account has gone (K2).
    #[error("[invalid bearer token, serviceaccounts {} not found]", Quoted(.name))]
    NoAccount {
        /// What the account was called.
        name: String,
    },
    /// Its account has gone, and another has its name (K2).
    #[error("[invalid bearer token, service account UID ({uid}) does not match claim ({claim})]")]
    OtherAccount {
        /// The uid of the account that is there.
        uid: String,
        /// The uid of the account that the token was issued to.
        claim: String,
    },
    /// Its account is going (K2).
    #[error("[invalid bearer token, service account {namespace}/{name} has been deleted]")]
    Deleted {
        /// Where the account is.
        namespace: String,
        /// What it is called.
        name: String,
    },
}

/// What a token says.
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

/// The account, as tokens say it.
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

/// Issues tokens, and knows its own. A copy knows those of the other.
#[derive(Clone)]
pub struct TokenIssuer {
    key: Arc<hmac::Key>,
}

/// Tells nothing of the key.
impl std::fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenIssuer").finish_non_exhaustive()
    }
}

impl TokenIssuer {
    /// An issuer with a key of its own.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn generate() -> Result<Self, NoRandomness> {
        Ok(Self::with_secret(&[random_token()?, random_token()?].concat()))
    }

    /// An issuer with this key, which nobody can guess: it knows the tokens of all that have it.
    pub fn with_secret(secret: &str) -> Self {
        Self { key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())) }
    }

    /// A token for an account, good for so many seconds.
    ///
    /// # Errors
    /// Where the system has no random numbers.
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
            sub: name_of(account),
        };
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let claims = serde_json::to_vec(&claims).unwrap_or_default(); // texts and numbers: it does not fail
        let signed = format!("{}.{}", encode(br#"{"alg":"HS256","typ":"JWT"}"#), encode(&claims));
        let signature = encode(hmac::sign(&self.key, signed.as_bytes()).as_ref());
        Ok(format!("{signed}.{signature}"))
    }

    /// Whose a token is, and for whom, if that account is still there.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub async fn whose(
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

    /// What a token says; `None` where it is not ours or has expired (K1).
    fn read(&self, token: &str) -> Option<Claims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        (claims.exp > now()).then_some(claims)
    }
}

fn name_of(account: &Account) -> String {
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

    /// The one account, or none.
    struct One(Option<Found>);

    impl Accounts for One {
        fn find<'a>(&'a self, _: &'a str, name: &'a str) -> AccountFuture<'a> {
            Box::pin(async move { self.0.clone().filter(|_| name == "robot") })
        }
    }

    fn there() -> Found {
        Found { uid: "u".into(), deleted: None }
    }

    #[tokio::test]
    async fn a_token_says_whose_it_is_until_it_expires_and_only_to_its_issuer() {
        let issuer = TokenIssuer::generate().unwrap();
        let (audiences, accounts) = (["them".to_owned()], One(Some(there())));
        let token = issuer.issue(&account(), &audiences, 600).unwrap();
        let (user, said) = issuer.whose(&token, &accounts).await.unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("system:serviceaccount:shop:robot", "u"));
        assert!(user.is_in("system:serviceaccounts:shop") && said == audiences);
        let other = TokenIssuer::generate().unwrap();
        assert_eq!(other.whose(&token, &accounts).await, Err(TokenError::Unknown));
        let expired = issuer.issue(&account(), &audiences, 0).unwrap();
        for broken in [&expired, "", ".", "..", &token[1..], &token[..token.len() - 2], "a.b.c"] {
            assert_eq!(issuer.whose(broken, &accounts).await, Err(TokenError::Unknown), "{broken}");
        }
    }

    #[tokio::test]
    async fn a_token_is_no_longer_good_once_its_account_has_gone() {
        let issuer = TokenIssuer::generate().unwrap();
        let token = issuer.issue(&account(), &[], 600).unwrap();
        let seconds = i64::try_from(now()).unwrap();
        let going = |since| Some(Found { deleted: Some(seconds - since), ..there() });
        for (found, why) in [
            (None, Some("[invalid bearer token, serviceaccounts \"robot\" not found]")),
            (
                Some(Found { uid: "v".into(), ..there() }),
                Some("[invalid bearer token, service account UID (v) does not match claim (u)]"),
            ),
            (going(5), None),
            (going(90), Some("[invalid bearer token, service account shop/robot has been deleted]")),
        ] {
            let refused = issuer.whose(&token, &One(found)).await.err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), why);
        }
    }
}
