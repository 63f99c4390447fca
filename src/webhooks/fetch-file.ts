import type { FetchFile } from '../catalog/page-extensions.ts';
import type { SendResult } from './dispatcher/send/result.ts';
import type { Sender } from './sender.ts';
import { refusals } from './url-rules.ts';

/** Reads files by the rules and the ways of webhooks. `maxBytes`: as the sender keeps of an answer. */
export const createFetchFile =
  (sender: Pick<Sender, 'send'>, maxBytes: number): FetchFile =>
  async (url, { headers, deadlineMs }) => {
    const result = await sender.send({ url, method: 'GET', headers, body: null, deadlineMs });
    const problem = problemOf(result, maxBytes);
    return problem === null && result.kind === 'response' ? result : { problem: problem ?? '' };
  };

/** In words for the author of the URL; null: the file is there. */
function problemOf(result: SendResult, maxBytes: number): string | null {
  if (result.kind === 'blocked') return refusals[result.reason];
  if (result.kind === 'error') return failures[result.class] ?? 'cannot be read: its host does not answer';
  const { status, truncated } = result;
  if (status >= 300 && status < 400) return `leads to another URL (${status}); name that one`;
  if (status !== 200) return `is answered with the status ${status}`;
  return truncated ? `must be a file of at most ${maxBytes / 1024} kB` : null;
}

/** Nothing that is said of a network: the author of the URL may be probing it. */
const failures: Readonly<Record<string, string>> = {
  timeout: 'is answered too slowly',
  dns: 'names a host that cannot be found',
  tls: 'names a host whose certificate cannot be trusted',
  local: 'cannot be read now; try again',
};
