import type { FastifyRequest } from 'fastify';

/**
 * A received webhook. `verified`: whether it was signed with the secret at that time, so that later rotations change
 * nothing; null for a GET call, whose bytes the receiver does not rebuild.
 */
export type Received = {
  received_at: string;
  method: string;
  url: string;
  headers: FastifyRequest['headers'];
  body: string;
  verified: boolean | null;
};
