//! Addresses of servers and proxies.

use http::Uri;
use http::uri::{PathAndQuery, Scheme};

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It cannot be read.
    #[error("{address:?} is no URL")]
    Malformed {
        /// The address.
        address: String,
    },
    /// It has another scheme.
    #[error("{address:?} begins with neither {expected}")]
    Scheme {
        /// The address.
        address: String,
        /// What it may begin with.
        expected: &'static str,
    },
    /// It has a path, but does not say how to get there.
    #[error("{address:?} has a path, so it must begin with http:// or https://")]
    NoScheme {
        /// The address.
        address: String,
    },
}

/// Reads the address of a server: a URL, or `host` or `host:port`. Query and fragment do not count.
///
/// `secure` says which scheme is meant where the address says none.
///
/// # Errors
/// If it is none.
pub fn server_address(address: &str, secure: bool) -> Result<Uri, AddressError> {
    let malformed = || AddressError::Malformed { address: address.to_owned() };
    let whole = address.split('#').next().unwrap_or_default();
    let whole = match whole.contains("://") {
        true => whole.to_owned(),
        false if whole.trim_end_matches('/').contains('/') => {
            return Err(AddressError::NoScheme { address: address.to_owned() });
        }
        false if secure => format!("https://{whole}"),
        false => format!("http://{whole}"),
    };
    let uri: Uri = whole.parse().map_err(|_| malformed())?;
    let scheme = uri.scheme().cloned().ok_or_else(malformed)?;
    if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
        let expected = "http:// nor https://";
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

/// Reads the address of a proxy.
pub(crate) fn proxy_address(address: &str) -> Result<Uri, AddressError> {
    let uri: Uri = address.parse().map_err(|_| AddressError::Malformed { address: address.to_owned() })?;
    match uri.scheme_str() {
        Some("http" | "https" | "socks5" | "socks5h") if uri.host().is_some_and(|host| !host.is_empty()) => {
            Ok(uri)
        }
        _ => {
            let expected = "http:// nor https:// nor socks5://";
            Err(AddressError::Scheme { address: address.to_owned(), expected })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_lack_its_scheme_and_have_a_prefix() {
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
    fn what_is_no_address_is_refused_by_name() {
        for (address, error) in [
            ("", "\"\" is no URL"),
            ("a/b", "\"a/b\" has a path, so it must begin with http:// or https://"),
            ("ftp://a", "\"ftp://a\" begins with neither http:// nor https://"),
            ("https://", "\"https://\" is no URL"),
        ] {
            assert_eq!(server_address(address, true).unwrap_err().to_string(), error);
        }
        assert!(proxy_address("socks5://u:p@host:1080").is_ok());
        assert!(proxy_address("host:1080").is_err());
    }
}
