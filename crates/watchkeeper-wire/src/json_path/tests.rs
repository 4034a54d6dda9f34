//! Tests of paths and templates.

use serde_json::{Value, json};

use super::{JsonPath, JsonPathError, MAX_DEPTH, Template};

fn pod() -> Value {
    json!({
        "metadata": {"name": "web-0", "labels": {"app.kubernetes.io/name": "web", "tier": "front"}},
        "spec": {"containers": [
            {"name": "main", "image": "web:1", "ports": [{"port": 80}, {"port": 443}]},
            {"name": "side", "image": "side:2", "weight": 0.5},
            {"name": "last", "image": "last:3", "ready": true},
        ]},
        "status": {"phase": "Running", "restarts": 3, "empty": null, "big": 1e21},
    })
}

fn rendered(template: &str) -> String {
    match template.parse::<Template>() {
        Err(error) => format!("unreadable: {error}"),
        Ok(template) => template.render(&pod()).unwrap_or_else(|error| format!("unfit: {error}")),
    }
}

#[test]
fn templates_render() {
    for (template, expected) in [
        ("plain", "plain"),
        ("{.metadata.name}", "web-0"),
        ("{$.metadata.name}{@.status.phase}", "web-0Running"),
        ("name: {.metadata.name}!", "name: web-0!"),
        ("{.metadata.labels.app\\.kubernetes\\.io/name}", "web"),
        ("{.metadata.labels['app\\.kubernetes\\.io/name']}", "web"),
        ("{['metadata'].name}", "web-0"),
        ("{.metadata['name', 'labels']}", "web-0 {\"app.kubernetes.io/name\":\"web\",\"tier\":\"front\"}"),
        ("{.spec.containers[*].name}", "main side last"),
        ("{.spec.containers[0].name}", "main"),
        ("{.spec.containers[-1].name}", "last"),
        ("{.spec.containers[-2:].name}", "side last"),
        ("{.spec.containers[1:].name}", "side last"),
        ("{.spec.containers[:2].name}", "main side"),
        ("{.spec.containers[::2].name}", "main last"),
        ("{.spec.containers[0:3:2].name}", "main last"),
        ("{.spec.containers[0,2].name}", "main last"),
        ("{.spec.containers[1:1].name}", ""),
        ("{.spec.containers[*].ports[*].port}", "80 443"),
        ("{..port}", "80 443"),
        ("{..image}", "web:1 side:2 last:3"),
        ("{.status.*}", "1e+21 null Running 3"),
        ("{.spec.containers[?(@.name==\"side\")].image}", "side:2"),
        ("{.spec.containers[?(@.name=='side')].image}", "side:2"),
        ("{.spec.containers[?(@.name != \"side\")].name}", "main last"),
        ("{.spec.containers[?(@.ready==true)].name}", "last"),
        ("{.spec.containers[?(@.ports)].name}", "main"),
        ("{.spec.containers[?(@.ports[?(@.port==443)])].name}", "main"),
        ("{.spec.containers[0].ports[?(@.port>80)].port}", "443"),
        ("{.spec.containers[0].ports[?(@.port<=80)].port}", "80"),
        ("{.spec.containers[?(@.weight==0.5)].name}", "side"),
        ("{.spec.containers[?(@.image==\"a)]b\")].name}", ""),
        (
            "{range .spec.containers[*]}{.name}={.image}{\"\\n\"}{end}",
            "main=web:1\nside=side:2\nlast=last:3\n",
        ),
        ("{range .spec.containers[*]}[{range .ports[*]}{.port} {end}]{end}.", "[80 443 ][][]."),
        ("{range .spec.absent[*]}x{end}y", "y"),
        ("{range .spec.containers[*]}{.name}", "mainsidelast"),
        ("{'a'}{\"b\\t\\u0041}\"}", "ab\tA}"),
        ("{.status.absent}|{.a.b.c}", "|"),
        ("{.status.empty}", "null"),
        ("{.spec.containers[0].ports}", "[{\"port\":80},{\"port\":443}]"),
        ("{}", "the whole"),
    ] {
        let expected = match template {
            "{}" => rendered("{@}"),
            _ => expected.to_owned(),
        };
        assert_eq!(rendered(template), expected, "{template}");
    }
}

#[test]
fn invalid_templates_are_errors() {
    for (template, expected) in [
        ("{.a", "unreadable: unclosed action"),
        ("{.a\n}", "unreadable: unclosed action"),
        ("{end}", "unreadable: not in range, nothing to end"),
        ("{hello}", "unreadable: unrecognized identifier hello"),
        ("{.a[}", "unreadable: unterminated array"),
        ("{.a[x]}", "unreadable: invalid array index x"),
        ("{.a[1:2:3:4]}", "unreadable: invalid array index 1:2:3:4"),
        ("{.a[?(@.b]}", "unreadable: unterminated filter"),
        ("{.a[?(@.b=!1)]}", "unreadable: unrecognized filter operator =!"),
        ("{\"a}", "unreadable: unterminated quoted string"),
        ("{'\\q'}", "unreadable: unterminated quoted string"),
        ("{1.2.3}", "unreadable: cannot parse number 1.2.3"),
        ("{.a&}", "unfit"),
        ("{%}", "unreadable: unrecognized character in action: '%'"),
        ("{....a}", "unreadable: invalid multiple recursive descent"),
        ("{.spec.containers[7]}", "unfit: array index out of bounds: index 7, length 3"),
        ("{.spec.containers[2:1]}", "unfit: starting index 2 is greater than ending index 1"),
        ("{.spec.containers[0:2:0]}", "unfit: step must be > 0"),
        ("{.metadata[0]}", "unfit: object is not a list"),
        ("{.status.phase[?(@.a)]}", "unfit: string is not a list"),
        ("{.spec.containers[?(@.name==3)]}", "unfit: incompatible types for comparison"),
        ("{.spec.containers[?(@.ports[*].port==80)]}", "unfit: can only compare one element at a time"),
    ] {
        match expected {
            "unfit" => assert_eq!(rendered(template), "", "a field may be called anything"),
            _ => assert_eq!(rendered(template), expected, "{template}"),
        }
    }
}

#[test]
fn dot_and_braces_of_a_path_are_optional() {
    for path in
        ["metadata.name", ".metadata.name", "{metadata.name}", "{.metadata.name}", " {.metadata.name} "]
    {
        let path: JsonPath = path.parse().expect(path);
        assert_eq!(path.find(&pod()), Ok(vec![json!("web-0")]));
    }
    for path in ["{.a}{.b}", "{.a", "a{.b}", "{.a}b"] {
        assert_eq!(path.parse::<JsonPath>(), Err(JsonPathError::NotOnePath), "{path}");
    }
    assert_eq!("".parse::<JsonPath>().expect("the whole").find(&json!(1)), Ok(vec![json!(1)]));
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("{{.a{}{}}}", "[?(@.a".repeat(depth), ")]".repeat(depth));
    assert!(nested(MAX_DEPTH).parse::<Template>().is_ok());
    assert_eq!(nested(MAX_DEPTH + 1).parse::<Template>(), Err(JsonPathError::Depth));
    let ranges = "{range .a}".repeat(MAX_DEPTH + 2);
    assert_eq!(ranges.parse::<Template>(), Err(JsonPathError::Depth));
}
