import { isbot } from 'isbot';
import { LRUCache } from 'lru-cache';

/** Verdicts kept (count). To find one takes about 2.5 µs, to look it up 0.3 µs. */
const maxVerdicts = 5_000;

/** Longer user agents are judged by their beginning and not kept (characters). */
const maxLength = 512;

/** Whether a User-Agent header names a bot. A missing or empty one does not. */
export function createBotCheck(): (userAgent: string | undefined) => boolean {
  const verdicts = new LRUCache<string, boolean>({ max: maxVerdicts });
  return (userAgent) => {
    if (userAgent === undefined || userAgent === '') return false;
    if (userAgent.length > maxLength) return isbot(userAgent.slice(0, maxLength));
    const known = verdicts.get(userAgent);
    if (known !== undefined) return known;
    const verdict = isbot(userAgent);
    verdicts.set(userAgent, verdict);
    return verdict;
  };
}
