import { loadStaticText, type StaticText } from '../../platform/http/static-text.ts';

/** A script or style sheet for browsers; `path`: its immutable URL. */
export type BrowserFile = StaticText & { path: string };

/** Outputs of `npm run build:sdk`: the web SDK, the hosted offerwall's script, the advertisers' conversion tag. */
export type ScriptName = 'launcher' | 'perkswall' | 'offerwall' | 'conversion';

/** Correct from `src` and from `dist`. */
const fileUrl = (file: string): URL => new URL(`../../../dist/sdk/${file}`, import.meta.url);

/** As it stands within a string of a script. */
const quoted = (url: string): string => url.replace(/["'`\\$<]/g, encodeURIComponent).replaceAll("'", '%27');

/** The style sheet of units. @returns null when it is not built (`npm run build:sdk`) */
export const loadUnitStyle = (): Promise<BrowserFile | null> => loadFile('unit', 'css');

/**
 * A script, with the service's own URL and that of the style sheet inserted.
 * @returns null when it is not built (`npm run build:sdk`)
 */
export async function loadScript(name: ScriptName, publicUrl: string): Promise<BrowserFile | null> {
  const style = await loadUnitStyle();
  const values: Record<string, string> = { PUBLIC_URL: quoted(publicUrl), UNIT_CSS_PATH: style?.path ?? '' };
  return loadFile(name, 'js', (text) => text.replace(/%%([A-Z_]+)%%/g, (all, key: string) => values[key] ?? all));
}

async function loadFile(
  name: string,
  type: 'js' | 'css',
  edit?: (text: string) => string,
): Promise<BrowserFile | null> {
  const packed = await loadStaticText(fileUrl(`${name}.${type}`), edit);
  return packed === null ? null : { ...packed, path: `/sdk/${name}.${packed.hash}.${type}` };
}
