//! Kubelet addresses and request locations.

use serde_json::Value;

/// Address types, the preferred one first.
const PREFERRED: [&str; 5] = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/// The default port of kubelets.
const KUBELET_PORT: u16 = 10250;

/// The address of a kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KubeletAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl KubeletAddress {
    /// Returns the address of the kubelet of a node. Errors are in kube-apiserver's words.
    pub(crate) fn of_node(node: &Value) -> Result<Self, String> {
        let addresses = node["status"]["addresses"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        let text = |address: &Value, field: &str| address[field].as_str().unwrap_or_default().to_owned();
        let found = PREFERRED
            .iter()
            .find_map(|kind| addresses.iter().find(|address| address["type"].as_str() == Some(*kind)));
        let Some(address) = found else {
            let known = addresses
                .iter()
                .map(|address| format!("{{{} {}}}", text(address, "type"), text(address, "address")))
                .collect::<Vec<_>>();
            return Err(format!("no preferred addresses found; known addresses: [{}]", known.join(" ")));
        };
        let port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_i64();
        let port = port.filter(|port| *port > 0).unwrap_or(KUBELET_PORT.into());
        Ok(Self { host: text(address, "address"), port: u16::try_from(port).unwrap_or(KUBELET_PORT) })
    }

    /// Returns `127.0.0.1:10250` or `[::1]:10250`.
    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// The location of a request to a kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) address: KubeletAddress,
    /// Path and query.
    pub(crate) path: String,
}

impl Location {
    /// Creates a location. Parameters are sorted by name, as in Go, keeping the order of repeated ones.
    pub(crate) fn new(address: KubeletAddress, path: &str, mut query: Vec<(&str, String)>) -> Self {
        query.sort_by_key(|(name, _)| *name);
        let mut path = path.to_owned();
        for (position, (name, value)) in query.iter().enumerate() {
            path.push(if position == 0 { '?' } else { '&' });
            path.push_str(name);
            path.push('=');
            escape(&mut path, value);
        }
        Self { address, path }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}{}", self.address.authority(), self.path)
    }
}

/// Appends a value, escaped like Go's `QueryEscape`.
fn escape(into: &mut String, value: &str) {
    for byte in value.bytes() {
        match byte {
            b' ' => into.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => into.push(char::from(byte)),
            byte => into.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kubelet_is_reached_at_its_preferred_address() {
        let address = |kind: &str, address: &str| json!({"type": kind, "address": address});
        let of = |addresses: Value, port: Value| {
            let endpoints = json!({"kubeletEndpoint": {"Port": port}});
            KubeletAddress::of_node(
                &json!({"status": {"addresses": addresses, "daemonEndpoints": endpoints}}),
            )
            .map(|address| address.authority())
        };
        let all = json!([address("ExternalIP", "5.5.5.5"), address("InternalIP", "10.0.0.1")]);
        assert_eq!(of(all.clone(), json!(1234)).unwrap(), "10.0.0.1:1234");
        assert_eq!(of(all, json!(null)).unwrap(), "10.0.0.1:10250");
        let named = json!([address("InternalIP", "::1"), address("Hostname", "n1")]);
        assert_eq!(of(named, json!(0)).unwrap(), "n1:10250");
        assert_eq!(of(json!([address("InternalIP", "::1")]), json!(1)).unwrap(), "[::1]:1");
        assert_eq!(of(json!([]), json!(1)).unwrap_err(), "no preferred addresses found; known addresses: []");
        assert_eq!(
            of(json!([address("A", "b"), address("C", "d")]), json!(1)).unwrap_err(),
            "no preferred addresses found; known addresses: [{A b} {C d}]"
        );
    }

    #[test]
    fn queries_are_encoded_like_go() {
        let address = KubeletAddress { host: "h".into(), port: 1 };
        let query =
            vec![("stdout", "1".to_owned()), ("command", "a b".into()), ("command", "\u{e4}&".into())];
        let location = Location::new(address, "/exec/ns/pod/c", query);
        assert_eq!(location.url(), "https://h:1/exec/ns/pod/c?command=a+b&command=%C3%A4%26&stdout=1");
    }
}
