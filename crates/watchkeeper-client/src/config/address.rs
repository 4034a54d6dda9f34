//! Server and proxy addresses.

use http::Uri;
use http::uri::{PathAndQuery, Scheme};

/// An invalid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The address cannot be parsed.
    #[error("invalid URL {address:?}")]
    Malformed {
        /// The address.
        address: String,
    },
    /// The scheme is not supported.
    #[error("invalid URL {address:?}: must begin with {expected}")]
    Scheme {
        /// The address.
        address: String,
        /// The supported schemes.
        expected: &'static str,
    },
    /// The address has a path but no scheme.
    #[error("invalid URL {address:?}: an address with a path must begin with http:// or https://")]
    NoScheme {
        /// The address.
        address: String,
    },
}

/// Parses a server address: a URL, `host` or `host:port`. Query and fragment are ignored.
///
/// `secure` selects `https` for an address without a scheme.
///
/// # Errors
/// If the address is invalid.
pub fn server_address(address: &str, secure: bool) -> Result<Uri, AddressError> {
    let malformed = || AddressError::Malformed { address: address.to_owned() };
    let whole = address.split('#').next().unwrap_or_default();
    let whole = if whole.contains("://") {
        whole.to_owned()
    } else if whole.trim_end_matches('/').contains('/') {
        return Err(AddressError::NoScheme { address: address.to_owned() });
    } else if secure {
        format!("https://{whole}")
    } else {
        format!("http://{whole}")
    };
    let uri: Uri = whole.parse().map_err(|_| malformed())?;
    let scheme = uri.scheme().cloned().ok_or_else(malformed)?;
    if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
        let expected = "http:// or https://";
        return Err(AddressError::Scheme { address: address.to_owned(), expected });
    }
    let authority = uri.authority().filter(|it| !it.host().is_empty()).ok_or_else(malformed)?;
    let path = PathAndQuery::try_from(uri.path().trim_end_matches('/')).ok();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    Uri::builder()
        .scheme(scheme)
        .authority(authority.clone())
        .path_and_query(path)
        .build()
        .map_err(|_| malformed())
}

/// Parses a proxy address.
pub(crate) fn proxy_address(address: &str) -> Result<Uri, AddressError> {
    let uri: Uri = address.parse().map_err(|_| AddressError::Malformed { address: address.to_owned() })?;
    match uri.scheme_str() {
        Some("http" | "https" | "socks5" | "socks5h") if uri.host().is_some_and(|host| !host.is_empty()) => {
            Ok(uri)
        }
        _ => {
            let expected = "http://, https:// or socks5://";
            Err(AddressError::Scheme { address: address.to_owned(), expected })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_omit_the_scheme_and_have_a_path_prefix() {
        for (address, secure, expected) in [
            ("https://a:6443", false, "https://a:6443/"),
            ("https://a:6443/", false, "https://a:6443/"),
            ("https://a/k8s/c1/?x=1#y", false, "https://a/k8s/c1"),
            ("a:8080", false, "http://a:8080/"),
            ("a", true, "https://a/"),
            ("[::1]:6443", true, "https://[::1]:6443/"),
        ] {
            assert_eq!(server_address(address, secure).unwrap(), expected, "{address}");
        }
    }

    #[test]
    fn invalid_addresses_are_rejected_with_their_text() {
        for (address, error) in [
            ("", "invalid URL \"\""),
            ("a/b", "invalid URL \"a/b\": an address with a path must begin with http:// or https://"),
            ("ftp://a", "invalid URL \"ftp://a\": must begin with http:// or https://"),
            ("https://", "invalid URL \"https://\""),
        ] {
            assert_eq!(server_address(address, true).unwrap_err().to_string(), error);
        }
        assert!(proxy_address("socks5://u:p@host:1080").is_ok());
        assert!(proxy_address("host:1080").is_err());
    }
}
