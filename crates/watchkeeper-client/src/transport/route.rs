//! Proxy selection, by the rules of Go's `http.ProxyFromEnvironment`.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::config::Proxy;

/// Returns the proxy for a server; `None` for a direct connection. `variable` reads the environment.
pub(super) fn route(
    proxy: &Proxy,
    server: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<Intercept> {
    match proxy {
        Proxy::Direct => None,
        Proxy::Url(proxy) => Matcher::builder().all(proxy.to_string()).build().intercept(server),
        Proxy::Environment => {
            let either = |upper: &str| {
                let set = |name: &str| variable(name).filter(|value| !value.is_empty());
                set(upper).or_else(|| set(&upper.to_lowercase())).unwrap_or_default()
            };
            let host = server.host()?;
            if is_loopback(host) {
                return None;
            }
            let is_cgi = variable("REQUEST_METHOD").is_some_and(|method| !method.is_empty());
            // A client of a CGI program could set HTTP_PROXY through a `Proxy` header.
            let http = if is_cgi { String::new() } else { either("HTTP_PROXY") };
            let matcher = Matcher::builder().http(http).https(either("HTTPS_PROXY"));
            matcher.no(exceptions(&either("NO_PROXY"), server)).build().intercept(server)
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Returns the entries of `NO_PROXY` that can apply to a server, in the form that [`Matcher`] accepts: it ignores ports,
/// and lets `.name` match `name` too.
fn exceptions(no_proxy: &str, server: &Uri) -> String {
    let host = server.host().unwrap_or_default();
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
    let applies = |entry: &str| -> Option<String> {
        let entry = entry.trim();
        let (name, of_port) = match entry.rsplit_once(':') {
            // More than one colon without brackets is an IPv6 address.
            Some((name, of_port)) if !name.contains(':') || name.ends_with(']') => {
                (name, Some(of_port.parse::<u16>().ok()?))
            }
            _ => (entry, None),
        };
        let domain = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
        let is_itself = domain.strip_prefix('.').is_some_and(|name| name.eq_ignore_ascii_case(host));
        let applies = of_port.is_none_or(|of_port| of_port == port) && !is_itself;
        applies.then(|| domain.trim_start_matches('[').trim_end_matches(']').to_owned())
    };
    no_proxy.split(',').filter_map(applies).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(variables: &[(&str, &str)], server: &str) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let route = route(&Proxy::Environment, &server.parse().unwrap(), variable)?;
        Some(route.uri().to_string())
    }

    #[test]
    fn the_environment_selects_the_proxy() {
        let both = [("HTTPS_PROXY", "http://secure:1"), ("HTTP_PROXY", "http://plain:2")];
        let found = |variables, server| through(variables, server).unwrap_or_default();
        assert_eq!(found(&both, "https://k8s.example:6443"), "http://secure:1/");
        assert_eq!(found(&both, "http://k8s.example"), "http://plain:2/");
        assert_eq!(found(&[("https_proxy", "proxy:3128")], "https://k8s.example"), "http://proxy:3128/");
        assert_eq!(found(&[("HTTPS_PROXY", "socks5://p:1080")], "https://k"), "socks5://p:1080/");
        let twice = [("HTTPS_PROXY", ""), ("https_proxy", "http://lower:1")];
        assert_eq!(found(&twice, "https://k8s.example"), "http://lower:1/", "an empty variable is ignored");
        for none in [
            &[][..],
            &[("HTTP_PROXY", "http://plain:2")], // not used for HTTPS
            &[("ALL_PROXY", "http://all:1")],    // not supported by Go
        ] {
            assert_eq!(through(none, "https://k8s.example"), None, "{none:?}");
        }
        let cgi = [("HTTP_PROXY", "http://plain:2"), ("REQUEST_METHOD", "GET")];
        assert_eq!(through(&cgi, "http://k8s.example"), None, "ignored in a CGI program");
    }

    #[test]
    fn loopback_and_no_proxy_hosts_are_direct() {
        for (no_proxy, server, is_direct) in [
            ("", "https://localhost:6443", true),
            ("", "https://127.0.0.1:6443", true),
            ("", "https://[::1]:6443", true),
            ("", "https://10.0.0.1", false),
            ("*", "https://k8s.example", true),
            ("k8s.example", "https://k8s.example:6443", true),
            ("example", "https://k8s.example:6443", true),
            (".example", "https://k8s.example:6443", true),
            ("*.example", "https://k8s.example:6443", true),
            (".k8s.example", "https://k8s.example:6443", false),
            ("8s.example", "https://k8s.example:6443", false),
            ("other, k8s.example", "https://k8s.example:6443", true),
            ("k8s.example:6443", "https://k8s.example:6443", true),
            ("k8s.example:443", "https://k8s.example", true),
            ("k8s.example:6443", "https://k8s.example:7443", false),
            ("10.0.0.0/8", "https://10.1.2.3:6443", true),
            ("10.0.0.0/8", "https://11.1.2.3:6443", false),
            ("10.1.2.3", "https://10.1.2.3:6443", true),
            ("fd00::/8", "https://[fd00::1]:6443", true),
            ("[fd00::1]:6443", "https://[fd00::1]:6443", true),
            ("fd00::1", "https://[fd00::2]:6443", false),
        ] {
            let variables = [("HTTPS_PROXY", "http://proxy:1"), ("NO_PROXY", no_proxy)];
            assert_eq!(through(&variables, server).is_none(), is_direct, "{no_proxy:?} {server}");
        }
    }

    #[test]
    fn a_configured_proxy_is_used_for_every_server() {
        let variable = |_: &str| Some("*".to_owned());
        let proxy = Proxy::Url("http://u:p%40ss@proxy:1".parse().unwrap());
        let route = route(&proxy, &"https://127.0.0.1:6443".parse().unwrap(), variable).unwrap();
        assert_eq!(route.uri().to_string(), "http://proxy:1/");
        assert_eq!(route.basic_auth().unwrap(), "Basic dTpwQHNz", "u:p@ss");
    }
}
