import type { FastifyRequest } from 'fastify';

/**
 * One webhook as it arrived. `verified`: whether it was signed with the secret of that moment, so that a later rotation
 * changes nothing; null: a GET call, whose bytes the receiver does not rebuild.
 */
export type Received = {
  received_at: string;
  method: string;
  url: string;
  headers: FastifyRequest['headers'];
  body: string;
  verified: boolean | null;
};
