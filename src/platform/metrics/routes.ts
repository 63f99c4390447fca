import { hash, timingSafeEqual } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { Config } from '../../config.ts';
import { AppError } from '../errors.ts';
import type { App } from '../http/app.ts';
import { errorAnswers } from '../http/schemas.ts';
import type { Metrics } from './metrics.ts';

/**
 * Registers `GET /metrics` for Prometheus, in every role. Callers must send METRICS_TOKEN. If METRICS_TOKEN is not set,
 * the route does not exist.
 */
export async function metricsRoutes(
  app: App,
  { config, metrics }: { config: Config; metrics: Metrics },
): Promise<void> {
  const { metricsToken } = config;
  if (metricsToken === null) return;
  const expected = digest(metricsToken);
  const schema = {
    summary: 'Get Prometheus metrics',
    description: 'Requires `Authorization: Bearer` with the token in METRICS_TOKEN.',
    tags: ['Health'],
    response: { 200: Type.String(), ...errorAnswers(401) },
  };
  app.get('/metrics', { schema }, async (request, reply) => {
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (!timingSafeEqual(digest(token), expected)) throw new AppError(token === '' ? 'missing_key' : 'unknown_key');
    const text = await metrics.page();
    return reply.header('cache-control', 'no-store').header('content-type', metrics.registry.contentType).send(text);
  });
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
