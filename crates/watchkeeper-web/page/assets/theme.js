// Theme: light, dark, or as the system has it; remembered.

const KEY = "watchkeeper.theme";
const ORDER = ["auto", "light", "dark"];

/** The theme that was chosen. */
export function chosen() {
  try {
    const theme = localStorage.getItem(KEY);
    return ORDER.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}

/** Shows a theme, and remembers it. */
export function choose(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing still shows it.
  }
  apply();
}

/** The one after the one that is shown. */
export function following() {
  return ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
}

/** Shows the theme that was chosen. */
export function apply() {
  const theme = chosen();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

apply();
