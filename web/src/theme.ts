/** Light or dark: what the reader chose, what the notebook shows, or what the system prefers. */

export type Theme = "light" | "dark";
const query = () => window.matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme | null = null;
const waiting = new Set<() => void>();

export function themeOf(root: Element): Theme {
  if (chosen) return chosen;
  const body = document.body;
  const lab = body.dataset.jpThemeLight;
  if (lab) return lab === "true" ? "light" : "dark";
  const kind = body.dataset.vscodeThemeKind;
  if (kind) return kind.includes("dark") || kind === "vscode-high-contrast" ? "dark" : "light";
  const near = root.closest("[data-theme]:not(.rg)")?.getAttribute("data-theme");
  if (near === "light" || near === "dark") return near;
  return query().matches ? "dark" : "light";
}

/** Choose a theme for all figures of the page; null: that of the system. */
export function choose(theme: Theme | null): void {
  chosen = theme;
  waiting.forEach(call => call());
}

/** Call at once and whenever the theme changes; the answer ends it. */
export function watch(root: Element, call: (theme: Theme) => void): () => void {
  const told = () => {
    const theme = themeOf(root);
    root.setAttribute("data-theme", theme);
    call(theme);
  };
  const media = query(), observer = new MutationObserver(told);
  media.addEventListener("change", told);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  waiting.add(told);
  told();
  return () => {
    media.removeEventListener("change", told);
    observer.disconnect();
    waiting.delete(told);
  };
}
