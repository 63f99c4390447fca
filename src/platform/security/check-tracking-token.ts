import { dayMs } from '../lib/time.ts';
import { timeOfUuid7 } from '../lib/uuid7.ts';
import type { TokenClaims } from './tracking-token.ts';

export type EventKind = 'impression' | 'close' | 'no_thanks' | 'click';

/** How long after its session an event is accepted (milliseconds; docs/interface.md#tracking). */
const beaconLifeMs = dayMs;
const clickLifeMs = 30 * dayMs;

/** How far a session may lie in the future: the clocks of two processes differ (milliseconds). */
const maxAheadMs = 5 * 60_000;

/**
 * Whether a signed token may still be used for an event of this kind. The token of a QR code never expires, and is good
 * for clicks only: nothing was shown that could be seen or closed.
 */
export function checkToken(claims: TokenClaims, nowMs: number, kind: EventKind): boolean {
  if (claims.sessionId === null) return kind === 'click';
  const ageMs = nowMs - timeOfUuid7(claims.sessionId);
  return ageMs >= -maxAheadMs && ageMs <= (kind === 'click' ? clickLifeMs : beaconLifeMs);
}
