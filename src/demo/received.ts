import type { FastifyRequest } from 'fastify';

/**
 * A webhook received by the demo. `verified` indicates whether its signature matched the secret that was current on
 * arrival, so that later rotations don't affect it. It is null for GET calls, whose signed bytes the receiver does not
 * rebuild.
 */
export type Received = {
  received_at: string;
  method: string;
  url: string;
  headers: FastifyRequest['headers'];
  body: string;
  verified: boolean | null;
};
