import { loadStaticText, type StaticText } from '../platform/http/static-text.ts';

/** File for browsers. `path` is its immutable URL path. */
export type BrowserFile = StaticText & { path: string };

/**
 * Build outputs of `npm run build:sdk`:
 * - the web SDK, exit intent detection, and the template for pages that render the unit themselves
 * - the offerwall, both embedded in a page and as a separate page
 * - the advertisers' conversion tag under its two names
 */
export type ScriptName = 'launcher' | 'exit' | 'impl' | 'perkswall' | 'offerwall' | 'conversion' | 'omnisdk';

/** The relative path is the same from `src` and from `dist`. */
const fileUrl = (file: string): URL => new URL(`../../dist/sdk/${file}`, import.meta.url);

/** Escapes a URL for use in a JavaScript string. */
const quoted = (url: string): string => url.replace(/["'`\\$<]/g, encodeURIComponent).replaceAll("'", '%27');

/**
 * Loads the style sheet and default settings that all units share.
 * @returns null if the file has not been built (`npm run build:sdk`)
 */
export const loadUnitFile = (): Promise<BrowserFile | null> => loadFile('unit', 'json');

/**
 * Loads a script and inserts the URLs of the service and of the unit file.
 * @returns null if the script has not been built (`npm run build:sdk`)
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
