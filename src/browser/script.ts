import { loadStaticText, type StaticText } from '../platform/http/static-text.ts';

/** A file for browsers; `path` is its immutable URL. */
export type BrowserFile = StaticText & { path: string };

/**
 * Outputs of `npm run build:sdk`: the web SDK, exit intent, and the template of pages that draw their unit themselves;
 * the offerwall within a page and as a page; the advertisers' conversion tag under its two names.
 */
export type ScriptName = 'launcher' | 'exit' | 'impl' | 'perkswall' | 'offerwall' | 'conversion' | 'omnisdk';

/** Works from `src` and from `dist`. */
const fileUrl = (file: string): URL => new URL(`../../dist/sdk/${file}`, import.meta.url);

/** Escapes a URL for use in a string of a script. */
const quoted = (url: string): string => url.replace(/["'`\\$<]/g, encodeURIComponent).replaceAll("'", '%27');

/**
 * Loads the style sheet and defaults that all units share. @returns null if the file is not built (`npm run build:sdk`)
 */
export const loadUnitFile = (): Promise<BrowserFile | null> => loadFile('unit', 'json');

/**
 * Loads a script and inserts the service's URL and that of the unit file.
 * @returns null if the script is not built (`npm run build:sdk`)
 */
export async function loadScript(name: ScriptName, publicUrl: string): Promise<BrowserFile | null> {
  const unit = await loadUnitFile();
  const values: Record<string, string> = { PUBLIC_URL: quoted(publicUrl), UNIT_PATH: unit?.path ?? '' };
  return loadFile(name, 'js', (text) => text.replace(/%%([A-Z_]+)%%/g, (all, key: string) => values[key] ?? all));
}

async function loadFile(
  name: string,
  type: 'js' | 'json',
  edit?: (text: string) => string,
): Promise<BrowserFile | null> {
  const text = await loadStaticText(fileUrl(`${name}.${type}`), edit);
  return text === null ? null : { ...text, path: `/sdk/${name}.${text.hash}.${type}` };
}
