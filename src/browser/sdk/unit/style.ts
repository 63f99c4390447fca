import { callTimeoutMs } from '../api.ts';
import { SdkError } from '../errors.ts';
import { callError } from '../policy.ts';

/** Path of unit.css by its content, inserted when the script is served (src/browser/serve/script.ts). */
declare const UNIT_CSS_PATH: string;

const sheets = new Map<string, Promise<CSSStyleSheet>>();

/**
 * The style sheet of all units, fetched beside the offers: a constructed one, which a strict policy of the page allows.
 * Errors: SdkError connection_error, server_error.
 */
export function loadStyle(base: string): Promise<CSSStyleSheet> {
  const found = sheets.get(base) ?? fetchSheet(base + UNIT_CSS_PATH);
  sheets.set(base, found);
  found.catch(() => sheets.delete(base));
  return found;
}

async function fetchSheet(url: string): Promise<CSSStyleSheet> {
  try {
    const response = await fetch(url, { credentials: 'omit', signal: AbortSignal.timeout(callTimeoutMs) });
    if (!response.ok)
      throw new SdkError('server_error', `The style sheet was answered ${response.status}.`, response.status);
    return await new CSSStyleSheet().replace(await response.text());
  } catch (err) {
    if (err instanceof SdkError) throw err;
    throw await callError(url, 'connection_error', 'The style sheet cannot be reached.');
  }
}
