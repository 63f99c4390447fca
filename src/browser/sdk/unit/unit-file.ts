import { callTimeoutMs } from '../api.ts';
import { createStyle, type Style, timeLimit } from '../compat.ts';
import { callError } from '../policy.ts';
import type { Defaults, Labels } from '../types.ts';

/** Style sheet and default settings that all units share. */
export type UnitFile = Defaults & { style: Style; labels: Labels };

/** Path of unit.json including its content hash, inserted when the script is served (src/browser/script.ts). */
declare const UNIT_PATH: string;

const files = new Map<string, Promise<UnitFile>>();

/**
 * Loads the unit file in parallel with the offers. It is not part of the script, so that the script is small on pages
 * without offers.
 * @throws SdkError connection_error
 */
export function loadUnitFile(base: string): Promise<UnitFile> {
  const file = files.get(base) ?? fetchFile(base + UNIT_PATH);
  files.set(base, file);
  file.catch(() => files.delete(base));
  return file;
}

async function fetchFile(url: string): Promise<UnitFile> {
  try {
    const response = await fetch(url, timeLimit(callTimeoutMs));
    if (response.ok) {
      const { css, ...rest } = (await response.json()) as Omit<UnitFile, 'style'> & { css: string };
      return { ...rest, style: await createStyle(css) };
    }
  } catch {}
  throw await callError(url, 'connection_error', 'The style sheet cannot be loaded.');
}
