import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { CatalogStore } from '../catalog/store.ts';
import type { ModelSource } from '../learning/source.ts';
import { createAlone } from '../management/alone.ts';
import type { Values } from '../management/resource.ts';
import { createFailFast, type DatabaseHealth } from '../platform/db/health.ts';
import { notFound } from '../platform/errors.ts';
import { createLimiter } from '../platform/lib/fair-limiter.ts';
import { createPacer } from '../platform/lib/slices.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import { competitorOf } from './competitor.ts';
import { draftOf } from './draft.ts';
import { forecast } from './engine/forecast.ts';
import type { Forecast, PublisherSample } from './engine/types.ts';
import { readSample } from './sample.ts';

/** Forecast with the start of its period. */
export type DatedForecast = Forecast & { fromMs: number };

export type Forecasts = {
  /**
   * Forecasts a campaign with the given values.
   * @param stored the campaign row in the database, or null for a campaign that is not stored; the same object as
   * `values` if there are no changes
   * @throws AppError too_many_requests if a forecast for the publisher is running; unavailable
   */
  of: (publisherId: number, values: Values, stored: Values | null) => Promise<DatedForecast>;
};

type ServiceDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  model: ModelSource;
  now: () => number;
};

/** Maximum time for repeating decisions, in milliseconds since the start of the calculation. */
const replayMs = 3000;

/**
 * Cache times for results and samples, in milliseconds, and the maximum numbers of cached entries. Results without
 * sessions are cached only briefly, so that a publisher's first sessions appear soon.
 */
const [keptMs, sampleKeptMs, emptyKeptMs] = [10 * minuteMs, 5 * minuteMs, 5000];
const [maxKept, maxSamples] = [100, 2];

/** Creates the service that calculates forecasts: one at a time, in slices, and cached by their inputs. */
export function createForecastService({ pool, dbHealth, catalog, model, now }: ServiceDeps): Forecasts {
  const failFast = createFailFast(dbHealth);
  const alone = createAlone('forecastJob');
  const limit = createLimiter({
    maxConcurrent: 1,
    maxWaitingPerClient: 1,
    maxWaiting: 8,
    maxWaitMs: 10_000,
    message: problem('forecastsWaiting'),
  });
  const results = createCache<DatedForecast>({
    max: maxKept,
    ttl: keptMs,
    isEmpty: ({ sample }) => sample.sessions === 0,
  });
  const samples = createCache<PublisherSample>({
    max: maxSamples,
    ttl: sampleKeptMs,
    isEmpty: ({ sessions }) => sessions.length === 0,
  });

  async function calculate(publisherId: number, values: Values, stored: Values | null): Promise<DatedForecast> {
    await catalog.ready(publisherId);
    const snapshot = catalog.current();
    const publisher = snapshot.publishers.get(publisherId);
    if (publisher === undefined) throw notFound('publisher');
    const nowMs = Math.ceil(now() / hourMs) * hourMs;
    const begunMs = performance.now();
    const sources = { snapshot, publisher, model: model.current(), nowMs: now() };
    const sample = await samples(String(publisherId), () => failFast(() => readSample(pool, publisherId, now())));
    const { draft, hasOffers } = await failFast(() => draftOf(pool, values, stored, sources));
    const timeZoneOf = (id: number): string => snapshot.publishers.get(id)?.timeZone ?? 'UTC';
    const isRepeated = sample.sessions.length > 0;
    const competitor = await runPaced(competitorOf(draft, publisher, { timeZoneOf, isRepeated }));
    const input = {
      ...sample,
      ...competitor,
      model: sources.model,
      nowMs,
      seed: seedOf(values),
      isLate: () => performance.now() - begunMs > replayMs,
    };
    const result = await runPaced(forecast(input));
    const notes = [
      ...result.notes,
      ...(hasOffers || stored === null ? [] : (['no_offers'] as const)),
      ...(draft.campaign.goal === null ? [] : (['goal_ignored'] as const)),
    ];
    return { ...result, notes, fromMs: nowMs };
  }

  return {
    of: (publisherId, values, stored) => {
      const key = `${publisherId} ${catalog.current().version} ${digestOf([values, values === stored])}`;
      return results(key, () =>
        alone(publisherId, () => limit(() => calculate(publisherId, values, stored), { client: publisherId })),
      );
    },
  };
}

const digestOf = (values: unknown): string => hash('sha256', JSON.stringify(values), 'base64url');

/** Returns a seed that depends only on the values, so that the same draft gets the same forecast. */
const seedOf = (values: Values): number => Number.parseInt(hash('sha256', JSON.stringify(values)).slice(0, 8), 16);

/** Runs a long computation in short slices, so that the process can handle requests in between. */
async function runPaced<T>(work: Generator<void, T>): Promise<T> {
  const pace = createPacer();
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pace();
  }
}

type CacheOptions<T> = {
  max: number;
  /** Time for which a value is cached, in milliseconds. */
  ttl: number;
  /** Whether a value is cached only for `emptyKeptMs`. */
  isEmpty: (value: T) => boolean;
};

/** Creates a cache of promises. Failed ones are removed. */
function createCache<T>({ max, ttl, isEmpty }: CacheOptions<T>) {
  const cached = new LRUCache<string, Promise<T>>({ max, ttl });
  return (key: string, load: () => Promise<T>): Promise<T> => {
    const existing = cached.get(key);
    if (existing !== undefined) return existing;
    const value = load();
    cached.set(key, value);
    const isCached = (): boolean => cached.peek(key) === value;
    value.then(
      (loaded) => isEmpty(loaded) && isCached() && cached.set(key, value, { ttl: emptyKeptMs }),
      () => isCached() && cached.delete(key),
    );
    return value;
  };
}
