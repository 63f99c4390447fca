import { callTimeoutMs } from '../api.ts';
import { callError } from '../policy.ts';
import type { Defaults, Labels } from '../types.ts';

/** What all units share. `style`: a constructed sheet, which a strict policy of the page allows. */
export type UnitFile = Defaults & { style: CSSStyleSheet; labels: Labels };

/** Path of unit.json by its content, inserted when the script is served (src/browser/script.ts). */
declare const UNIT_PATH: string;

const files = new Map<string, Promise<UnitFile>>();

/** Fetched beside the offers, so that pages without any load a smaller script. Errors: SdkError connection_error. */
export function loadUnitFile(base: string): Promise<UnitFile> {
  const found = files.get(base) ?? fetchFile(base + UNIT_PATH);
  files.set(base, found);
  found.catch(() => files.delete(base));
  return found;
}

async function fetchFile(url: string): Promise<UnitFile> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(callTimeoutMs) });
    if (response.ok) {
      const { css, ...rest } = (await response.json()) as Omit<UnitFile, 'style'> & { css: string };
      return { ...rest, style: await new CSSStyleSheet().replace(css) };
    }
  } catch {}
  throw await callError(url, 'connection_error', 'The style sheet cannot be loaded.');
}
