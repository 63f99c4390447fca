import type pg from 'pg';
import { firstKeyAt } from '../../../accounts/keys.ts';
import type { Publisher } from '../../../catalog/types.ts';
import { recordedMetrics } from '../../../reports/recorded-metrics.ts';
import { hasDelivered } from '../../../webhooks/delivery-store.ts';
import { hasEndpoint } from '../../../webhooks/endpoint-store.ts';

/** The steps from a new publisher to its first delivered webhook. */
export type SetupStep = 'key' | 'fetch' | 'impression' | 'endpoint' | 'selection' | 'delivery';

/** The steps that are done. Activity counts from the first key on, so that the demo's made-up history is left out. */
export async function setupProgress(pool: pg.Pool, { id }: Publisher): Promise<ReadonlySet<SetupStep>> {
  const [sinceMs, endpoint] = await Promise.all([firstKeyAt(pool, id), hasEndpoint(pool, id)]);
  const done = new Set<SetupStep>();
  if (endpoint) done.add('endpoint');
  if (sinceMs === null) return done;
  done.add('key');
  const [metrics, delivered] = await Promise.all([
    recordedMetrics(pool, id, ['sessions', 'impressions', 'selections'], sinceMs),
    hasDelivered(pool, id, sinceMs),
  ]);
  if (metrics.has('sessions')) done.add('fetch');
  if (metrics.has('impressions')) done.add('impression');
  if (metrics.has('selections')) done.add('selection');
  if (delivered) done.add('delivery');
  return done;
}
