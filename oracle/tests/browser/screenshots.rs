//! Screenshots, colour schemes and screen sizes.

use base64::Engine as _;
use serde_json::json;

use crate::Outcome;
use crate::page::Page;

/// Writes a screenshot if `WATCHKEEPER_PICTURES` is set.
pub(crate) async fn screenshot(page: &Page, name: &str) -> Outcome {
    let Some(directory) = std::env::var_os("WATCHKEEPER_PICTURES") else { return Ok(()) };
    page.browser.run("getSelection().removeAllRanges(); document.activeElement.blur()").await?;
    let png = base64::engine::general_purpose::STANDARD.decode(page.browser.screenshot().await?)?;
    std::fs::write(std::path::Path::new(&directory).join(name), png)?;
    Ok(())
}

/// Writes screenshots of a view, wide and narrow, light and dark, if `WATCHKEEPER_PICTURES` is set.
pub(crate) async fn screenshots(page: &Page, name: &str, fragment: &str) -> Outcome {
    if std::env::var_os("WATCHKEEPER_PICTURES").is_none() {
        return Ok(());
    }
    page.open(fragment).await?;
    for (width, height) in [(1440, 900), (390, 844)] {
        set_screen_size(page, width, height).await?;
        for scheme in ["light", "dark"] {
            set_color_scheme(page, scheme).await?;
            screenshot(page, &format!("page-{name}-{width}-{scheme}.png")).await?;
        }
    }
    Ok(())
}

/// Sets the colour scheme of the emulated system: `light` or `dark`.
pub(crate) async fn set_color_scheme(page: &Page, name: &str) -> Outcome {
    let features = json!({"features": [{"name": "prefers-color-scheme", "value": name}]});
    page.browser.devtools("Emulation.setEmulatedMedia", &features).await.map(drop)
}

/// Sets the size of the emulated screen.
pub(crate) async fn set_screen_size(page: &Page, width: u32, height: u32) -> Outcome {
    let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
    page.browser.devtools("Emulation.setDeviceMetricsOverride", &metrics).await.map(drop)
}
