import { createHash } from 'node:crypto';
import type pg from 'pg';
import { payoutOf } from '../catalog/provisioning.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Snapshot } from '../catalog/types.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { type Counts, noPosteriors, type Posteriors, posteriorKey } from './types.ts';

/** The posteriors of all offers, with the id they are stored under; null: the empty model. */
export type Model = { id: string | null; posteriors: Posteriors };

export const emptyModel: Model = { id: null, posteriors: noPosteriors };

/** How far back the model looks (milliseconds). */
const memoryMs = 30 * dayMs;

/** Placement, offer, by the day: a grain of the rollups. */
const placementOfferDay = 1 | 2 | 16;

type Row = {
  publisher_id: number;
  placement: string;
  offer_id: number;
  impressions: string;
  clicks: string;
  conversions: string;
  revenue_micros: string;
};

/** Loads the model from the rollups of the last 30 days. */
export async function loadModel(executor: Executor, snapshot: Snapshot, nowMs: number): Promise<Model> {
  const { rows } = await executor.query<Row>({
    name: 'load_model',
    text: `select publisher_id, placement, offer_id, sum(impressions) as impressions, sum(clicks) as clicks,
      sum(conversions) as conversions, sum(revenue_micros) as revenue_micros
    from rollups where grain = $1 and bucket >= to_timestamp($2::float8) group by 1, 2, 3 order by 1, 2, 3`,
    values: [placementOfferDay, (nowMs - memoryMs) / 1000],
  });
  return modelFrom(rows, snapshot);
}

function modelFrom(rows: readonly Row[], snapshot: Snapshot): Model {
  const placements = new Map<string, Map<number, Counts>>();
  const offers = new Map<number, Counts>();
  const categories = new Map<string, Counts>();
  const sales = new Map<number, { micros: number; count: number }>();
  for (const row of rows) {
    const counts = {
      impressions: Number(row.impressions),
      clicks: Number(row.clicks),
      conversions: Number(row.conversions),
    };
    const campaign = snapshot.offers.get(row.offer_id)?.campaign;
    if (campaign === undefined || (counts.impressions === 0 && counts.clicks === 0 && counts.conversions === 0))
      continue;
    const key = posteriorKey(row.publisher_id, row.placement);
    const here = placements.get(key) ?? new Map<number, Counts>();
    placements.set(key, here.set(row.offer_id, counts));
    add(offers, row.offer_id, counts);
    add(categories, campaign.category, counts);
    const payout = payoutOf(campaign, row.publisher_id);
    if (payout.kind !== 'cps' || payout.amountMicros === 0) continue;
    const sale = sales.get(campaign.id) ?? { micros: 0, count: 0 };
    // A share of a sale was earned, in millionths of a percent.
    sale.micros += (Number(row.revenue_micros) * 100_000_000) / payout.amountMicros;
    sale.count += counts.conversions;
    sales.set(campaign.id, sale);
  }
  if (offers.size === 0) return emptyModel;
  const sold = [...sales].filter(([, { count, micros }]) => count > 0 && micros > 0);
  const averageSaleMicros = new Map(sold.map(([id, { micros, count }]) => [id, Math.round(micros / count)]));
  const posteriors = { placements, offers, categories, averageSaleMicros };
  return { id: `model ${createHash('sha256').update(writeModel(posteriors)).digest('hex')}`, posteriors };
}

function add<Key>(sums: Map<Key, Counts>, key: Key, { impressions, clicks, conversions }: Counts): void {
  const sum = sums.get(key) ?? { impressions: 0, clicks: 0, conversions: 0 };
  sum.impressions += impressions;
  sum.clicks += clicks;
  sum.conversions += conversions;
  sums.set(key, sum);
}

type StoredCounts = [number, number, number];
type StoredModel = {
  placements: [string, [number, StoredCounts][]][];
  offers: [number, StoredCounts][];
  categories: [string, StoredCounts][];
  averageSaleMicros: [number, number][];
};

const toStored = <Key>(counts: ReadonlyMap<Key, Counts>): [Key, StoredCounts][] =>
  [...counts].map(([key, { impressions, clicks, conversions }]) => [key, [impressions, clicks, conversions]]);

const fromStored = <Key>(stored: readonly [Key, StoredCounts][]): Map<Key, Counts> =>
  new Map(stored.map(([key, [impressions, clicks, conversions]]) => [key, { impressions, clicks, conversions }]));

/** Posteriors as JSON; `readModel` is its inverse. */
export const writeModel = ({ placements, offers, categories, averageSaleMicros }: Posteriors): string =>
  JSON.stringify({
    placements: [...placements].map(([key, counts]) => [key, toStored(counts)]),
    offers: toStored(offers),
    categories: toStored(categories),
    averageSaleMicros: [...averageSaleMicros],
  } satisfies StoredModel);

export function readModel(json: string): Posteriors {
  const { placements, offers, categories, averageSaleMicros } = JSON.parse(json) as StoredModel;
  return {
    placements: new Map(placements.map(([key, counts]) => [key, fromStored(counts)])),
    offers: fromStored(offers),
    categories: fromStored(categories),
    averageSaleMicros: new Map(averageSaleMicros),
  };
}

/** The model that decisions are made with; `refresh` reloads it. */
export type ModelSource = { current: () => Model; refresh: () => Promise<void> };

type ModelReader = { pool: pg.Pool; catalog: CatalogStore; now: () => number };

export function createModelSource({ pool, catalog, now }: ModelReader): ModelSource {
  let model = emptyModel;
  return {
    current: () => model,
    refresh: async () => {
      const loaded = await loadModel(pool, catalog.current(), now());
      if (loaded.id !== model.id) model = loaded;
    },
  };
}
