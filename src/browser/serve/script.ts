import { loadStaticText, type StaticText } from '../../platform/http/static-text.ts';

/** A script for browsers; `path`: where it is served for good. */
export type Script = StaticText & { path: string };

/**
 * What `npm run build:sdk` makes: the web SDK, the script of the hosted offerwall, and the conversion tag of
 * advertisers.
 */
export type ScriptName = 'launcher' | 'offerwall' | 'conversion';

/** The same place seen from `src` and from `dist`. */
const scriptUrl = (name: ScriptName): URL => new URL(`../../../dist/sdk/${name}.js`, import.meta.url);

/** @returns null when it is not built (`npm run build:sdk`) */
export async function loadScript(name: ScriptName): Promise<Script | null> {
  const packed = await loadStaticText(scriptUrl(name));
  return packed === null ? null : { ...packed, path: `/sdk/${name}.${packed.hash}.js` };
}
