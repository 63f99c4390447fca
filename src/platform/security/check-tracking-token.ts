import { timeOfUuid7 } from '../lib/uuid7.ts';
import type { TokenClaims } from './tracking-token.ts';

/** The limits of a use of tokens. `maxAgeMs`: since the session; `acceptsQrCode`: also tokens of QR codes. */
export type TokenUse = { maxAgeMs: number; acceptsQrCode: boolean };

/** How far a session may lie in the future: the clocks of two processes differ (milliseconds). */
const maxAheadMs = 5 * 60_000;

/**
 * Whether a signed token may still be used. The token of a QR code never expires, and is good for clicks only: nothing
 * was shown that could be seen or closed.
 */
export function checkToken(claims: TokenClaims, nowMs: number, { maxAgeMs, acceptsQrCode }: TokenUse): boolean {
  if (claims.sessionId === null) return acceptsQrCode;
  const ageMs = nowMs - timeOfUuid7(claims.sessionId);
  return ageMs >= -maxAheadMs && ageMs <= maxAgeMs;
}
