import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whether a hex signature is the HMAC-SHA256 of `text`. Compares in constant time. */
export function isSignedWith(secret: string, text: string, signature: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  return timingSafeEqual(createHmac('sha256', secret).update(text).digest(), Buffer.from(signature, 'hex'));
}
