import type { FastifyRequest } from 'fastify';

/**
 * Webhook received by the demo. `verified` states whether its signature matched the secret that was current on arrival,
 * so that later secret rotations don't affect it. It is null for GET calls, because the receiver does not reconstruct
 * the bytes that were signed.
 */
export type Received = {
  received_at: string;
  method: string;
  url: string;
  headers: FastifyRequest['headers'];
  body: string;
  verified: boolean | null;
};
