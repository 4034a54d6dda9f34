// Theme: auto (as the system), light or dark; remembered.

const KEY = "watchkeeper.theme";
const ORDER = ["auto", "light", "dark"];

/** The chosen theme. */
export function chosen() {
  try {
    const theme = localStorage.getItem(KEY);
    return ORDER.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}

/** Applies and remembers a theme. */
export function choose(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be disabled; the theme is applied anyway.
  }
  apply();
}

/** The theme after the chosen one. */
export function following() {
  return ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
}

/** Applies the chosen theme. */
export function apply() {
  const theme = chosen();
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

apply();
