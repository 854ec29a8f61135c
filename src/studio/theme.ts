/** Light, dark, or as the system has it. */

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'looprig.theme';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

export function storedTheme(): Theme {
  try {
    return THEMES.find(theme => theme === localStorage.getItem(KEY)) ?? 'auto';
  } catch {
    return 'auto';
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The theme after this one, in force and remembered. */
export function nextTheme(theme: Theme): Theme {
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
  applyTheme(next);
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // it holds for as long as the page is open
  }
  return next;
}
