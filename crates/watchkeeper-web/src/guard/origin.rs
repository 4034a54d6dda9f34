//! Origins of requests.

use super::host::Authority;

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whether the scheme is `https`.
    pub secure: bool,
    /// Host and port.
    pub authority: Authority,
}

impl Origin {
    /// Parses `https://name:port`. Rejects anything else, including `null`.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Some(Self { secure, authority: Authority::parse(authority)? })
    }

    /// Returns whether the origin is the server itself, which has this authority and serves TLS or not.
    ///
    /// A server without TLS may be behind a TLS proxy on this machine, so either scheme is accepted there.
    pub fn is_of(&self, authority: &Authority, secure: bool) -> bool {
        let usual = if self.secure { 443 } else { 80 };
        let port = |authority: &Authority| authority.port.unwrap_or(usual);
        self.authority.host == authority.host
            && port(&self.authority) == port(authority)
            && (self.secure || !secure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(origin: &str, host: &str, secure: bool) -> bool {
        Origin::parse(origin).is_some_and(|origin| origin.is_of(&Authority::parse(host).unwrap(), secure))
    }

    #[test]
    fn own_origins_match() {
        assert!(same("http://localhost:8888", "localhost:8888", false));
        assert!(same("http://[::1]:8888", "[::1]:8888", false));
        assert!(same("https://keep.example", "KEEP.example:443", true));
        assert!(same("https://keep.example", "keep.example", false));
    }

    #[test]
    fn other_origins_do_not_match() {
        for (origin, host, secure) in [
            ("null", "localhost", false),
            ("", "localhost", false),
            ("http://localhost:8889", "localhost:8888", false),
            ("http://127.0.0.1:8888", "localhost:8888", false),
            ("http://evil.example", "localhost", false),
            ("http://localhost.evil.example", "localhost", false),
            ("http://localhost/", "localhost", false),
            ("http://a@localhost", "localhost", false),
            ("file://localhost", "localhost", false),
            ("http://keep.example:443", "keep.example:443", true),
        ] {
            assert!(!same(origin, host, secure), "{origin}");
        }
    }
}
