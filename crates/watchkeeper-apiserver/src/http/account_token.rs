//! Account tokens: what service accounts show to be known by.
//!
//! From: `serviceaccounts/NAME/token`, which asks for one.
//! To:   the [`Authenticator`](crate::http::Authenticator), which takes it until it expires.
//!
//! - K1: a token says whose it is, for whom and until when, and nobody but this issuer can have made it.
//!   Nothing is kept of it: it is good until it expires, whatever becomes of the account.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};

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
        let secret = [random_token()?, random_token()?].concat();
        Ok(Self { key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())) })
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

    /// Whose a token is, and for whom; `None` where it is not ours or not good any more (K1).
    pub fn whose(&self, token: &str) -> Option<(User, Vec<String>)> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let (_, claims) = signed.split_once('.')?;
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        if claims.exp <= now() {
            return None;
        }
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", claims.about.namespace),
            AUTHENTICATED.to_owned(),
        ];
        let mut user = User { uid: claims.about.serviceaccount.uid, ..User::new(claims.sub, groups) };
        let credential = vec![format!("JTI={}", claims.jti)];
        user.extra.insert("authentication.kubernetes.io/credential-id".to_owned(), credential);
        Some((user, claims.aud))
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

    #[test]
    fn a_token_says_whose_it_is_until_it_expires_and_only_to_its_issuer() {
        let issuer = TokenIssuer::generate().unwrap();
        let audiences = ["them".to_owned()];
        let token = issuer.issue(&account(), &audiences, 600).unwrap();
        let (user, said) = issuer.whose(&token).unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("system:serviceaccount:shop:robot", "u"));
        assert!(user.is_in("system:serviceaccounts:shop") && said == audiences);
        assert_eq!(TokenIssuer::generate().unwrap().whose(&token), None);
        assert_eq!(issuer.whose(&issuer.issue(&account(), &audiences, 0).unwrap()), None);
        for broken in ["", ".", "..", &token[1..], &token[..token.len() - 2], "a.b.c"] {
            assert_eq!(issuer.whose(broken), None, "{broken}");
        }
    }
}
