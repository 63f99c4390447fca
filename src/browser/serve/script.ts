import { loadStaticText, type StaticText } from '../../platform/http/static-text.ts';

/** A script for browsers; `path`: its immutable URL. */
export type Script = StaticText & { path: string };

/** Outputs of `npm run build:sdk`: the web SDK, the hosted offerwall's script, the advertisers' conversion tag. */
export type ScriptName = 'launcher' | 'offerwall' | 'conversion';

/** Correct from `src` and from `dist`. */
const scriptUrl = (name: ScriptName): URL => new URL(`../../../dist/sdk/${name}.js`, import.meta.url);

/** Stands in the built scripts for the service's own URL (scripts/build-sdk.ts). */
const publicUrlPlaceholder = /%%PUBLIC_URL%%/g;

/** As it stands within a string of a script. */
const quoted = (url: string): string => url.replace(/["'`\\$<]/g, encodeURIComponent).replaceAll("'", '%27');

/** @returns null when it is not built (`npm run build:sdk`) */
export async function loadScript(name: ScriptName, publicUrl: string): Promise<Script | null> {
  const packed = await loadStaticText(scriptUrl(name), (text) =>
    text.replace(publicUrlPlaceholder, () => quoted(publicUrl)),
  );
  return packed === null ? null : { ...packed, path: `/sdk/${name}.${packed.hash}.js` };
}
