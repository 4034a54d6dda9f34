//! The JavaScript modules of the page: `modules.js` runs in the browser and tests each one on its own.

use serde_json::{Value, json};
use watchkeeper_oracle::testdata;

use crate::Outcome;
use crate::page::{Page, config_map};

#[tokio::test(flavor = "multi_thread")]
async fn javascript_modules_pass_their_checks() -> Outcome {
    let page = Page::start().await?;
    page.open("").await?;
    let mut documents = Vec::new();
    for sample in testdata()? {
        let sample = sample?;
        documents.push((String::from_utf8(sample.json)?, String::from_utf8(sample.yaml)?));
    }
    let unusual = r#"{"empty":"","yes":"yes","number":"012","time":"2026-01-01","colon":"a: b","lines":"a\n  b\n","open":"a\nb",
        "blank":"\n","tab":"a\tb","wave":"~","list":[[],{},[1,"two",null]],"a10":1,"a9":2,"face":"\ud83d\ude00",
        "long":"word word word word word word word word word word word word word word word word word word word"}"#;
    let data: Value = serde_json::from_str(unusual)?;
    let texts: serde_json::Map<String, Value> = data
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.is_string())
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    page.kubectl_stdin("create -f -", &config_map("unusual", "{}", &Value::from(texts).to_string())).await?;
    let outputs = ["-o json --show-managed-fields", "-o yaml --show-managed-fields"];
    let [json, yaml] = [
        page.kubectl(&format!("get configmap unusual {}", outputs[0])).await?,
        page.kubectl(&format!("get configmap unusual {}", outputs[1])).await?,
    ];
    documents.push((json, yaml));
    assert!(documents.len() > 100);

    let failures = page.browser.run_async(include_str!("modules.js"), &json!([documents])).await?;

    assert_eq!(failures, json!([]));
    page.finish(&[]).await
}
