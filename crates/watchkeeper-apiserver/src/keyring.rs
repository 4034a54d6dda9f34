//! Keyring: what a server is known by, and what it knows others by.
//!
//! From: a data directory, where the server before has left it, or nothing.
//! To:   the [`Listener`](crate::http::Listener), which serves by the authority, and the
//!       [`Authenticator`](crate::http::Authenticator), which knows the administrator and the accounts.
//!
//! - Y1: in a directory there is one keyring, made once: whoever was given a kubeconfig or a token is known after
//!   every start.
//! - Y2: a keyring that is there and cannot be read is an error. It is never replaced.
//!
//! The certificate of the server itself is not kept: the authority issues one at each start, for the names that the
//! server has then.
//!
//! **Format.** A line and then a document in JSON. The line says what this is, the version of the format, and the SHA-256
//! of all that comes after it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::http::{Authority, Identity, TokenIssuer, hex, random_token, sha256};
use crate::server::StartError;
use crate::store::disk::{DiskStore, KEYRING, SideFiles};

/// What its first line begins with.
const FORM: &str = "watchkeeper-keyring";
/// The version of the format.
const VERSION: &str = "1";

/// What a server is known by.
pub(crate) struct Keyring {
    /// It vouches for the server, and for clients.
    pub(crate) authority: Authority,
    /// The token of the administrator.
    pub(crate) token: String,
    /// What tokens of service accounts are signed with.
    secret: String,
}

/// Tells no secrets.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("authority", &self.authority).finish_non_exhaustive()
    }
}

/// The document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    certificate: String,
    key: String,
    token: String,
    secret: String,
}

impl Keyring {
    /// Makes a new one.
    pub(crate) fn generate() -> Result<Self, StartError> {
        let secret = [random_token()?, random_token()?].concat();
        Ok(Self { authority: Authority::generate()?, token: random_token()?, secret })
    }

    /// The keyring of a directory, which is made where there is none (Y1).
    pub(crate) fn open(disk: &DiskStore) -> Result<Self, StartError> {
        let files = disk.side_files();
        if let Some(kept) = Self::read(files)? {
            return Ok(kept);
        }
        if disk.recovery().objects > 0 {
            let path = files.path(KEYRING);
            tracing::warn!("{} is made anew: kubeconfigs and tokens of before are not known", path.display());
        }
        let made = Self::generate()?;
        files.write(KEYRING, made.render().as_bytes())?;
        Ok(made)
    }

    /// Who issues tokens to service accounts.
    pub(crate) fn issuer(&self) -> TokenIssuer {
        TokenIssuer::with_secret(&self.secret)
    }

    fn read(files: &SideFiles) -> Result<Option<Self>, StartError> {
        let Some(bytes) = files.read(KEYRING)? else { return Ok(None) };
        let kept = Self::parse(&bytes);
        kept.map(Some).map_err(|what| StartError::Keyring { path: files.path(KEYRING), what })
    }

    /// What a file says, or what is wrong with it (Y2).
    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.is_empty() {
            return Err("it is empty");
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no keyring")?;
        let (line, document) = text.split_once('\n').ok_or("it is no keyring")?;
        let mut words = line.split(' ');
        if words.next() != Some(FORM) {
            return Err("it is no keyring");
        }
        if words.next() != Some(VERSION) {
            return Err("another version of this program has written it, and can use it");
        }
        if words.next() != Some(&hex(&sha256(document.as_bytes()))) || words.next().is_some() {
            return Err("it is damaged, as its checksum tells");
        }
        let written: Written = serde_json::from_str(document).map_err(|_| "its document is none of ours")?;
        let Written { certificate, key, token, secret } = written;
        if token.is_empty() || secret.is_empty() {
            return Err("its document is none of ours");
        }
        let authority = Authority::restore(&Identity { certificate, key });
        Ok(Self { authority: authority.map_err(|_| "its authority is none")?, token, secret })
    }

    fn render(&self) -> String {
        let Identity { certificate, key } = self.authority.identity();
        let (token, secret) = (self.token.clone(), self.secret.clone());
        let document = serde_json::to_string_pretty(&Written { certificate, key, token, secret });
        let document = document.expect("texts can be written") + "\n";
        format!("{FORM} {VERSION} {}\n{document}", hex(&sha256(document.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let made = Keyring::generate().unwrap();
        let read = Keyring::parse(made.render().as_bytes()).unwrap();
        assert_eq!(read.render(), made.render());
        assert_eq!(read.authority.certificate(), made.authority.certificate());
    }

    #[test]
    fn no_part_of_it_and_no_other_byte_is_taken_for_it() {
        let whole = Keyring::generate().unwrap().render().into_bytes();
        for end in 0..whole.len() {
            assert!(Keyring::parse(&whole[..end]).is_err(), "{end}");
            let mut changed = whole.clone();
            changed[end] ^= 1;
            assert!(Keyring::parse(&changed).is_err(), "{end}");
        }
        assert!(Keyring::parse(&[whole.as_slice(), b" "].concat()).is_err());
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (bytes, what) in [
            ("", "it is empty"),
            ("a", "it is no keyring"),
            ("watchkeeper-keyring 2 x\n", "another version of this program has written it, and can use it"),
            ("watchkeeper-keyring 1 x\n", "it is damaged, as its checksum tells"),
        ] {
            assert_eq!(Keyring::parse(bytes.as_bytes()).unwrap_err(), what);
        }
        let sum =
            |document: &str| format!("{FORM} {VERSION} {}\n{document}", hex(&sha256(document.as_bytes())));
        assert_eq!(Keyring::parse(sum("{}").as_bytes()).unwrap_err(), "its document is none of ours");
        let empty = r#"{"certificate": "", "key": "", "token": "", "secret": "s"}"#;
        assert_eq!(Keyring::parse(sum(empty).as_bytes()).unwrap_err(), "its document is none of ours");
        let none = r#"{"certificate": "", "key": "", "token": "t", "secret": "s"}"#;
        assert_eq!(Keyring::parse(sum(none).as_bytes()).unwrap_err(), "its authority is none");
    }

    #[test]
    fn debugging_tells_no_secrets() {
        let keyring = Keyring::generate().unwrap();
        let said = format!("{keyring:?}");
        assert!(
            !said.contains(&keyring.token) && !said.contains(&keyring.secret) && !said.contains("PRIVATE")
        );
    }
}
