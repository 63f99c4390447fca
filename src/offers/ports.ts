import type { CatalogDeps } from '../catalog/ports.ts';
import type { LiveUsage } from './caps/live-usage.ts';
import type { Slices } from './caps/slices.ts';
import type { Geo } from './context/geo.ts';
import type { LiveCalls } from './live-calls/live-calls.ts';
import type { FetchMeter } from './metrics.ts';
import type { ModelSource } from './model/source.ts';
import type { Notices } from './notices/notices.ts';
import type { OutcomeSampler } from './outcomes/sampler.ts';

/** Background jobs refresh `usage` and `model`, return `slices`, and write `notices`, `liveCalls` and `outcomes`. */
export type OfferDeps = CatalogDeps & {
  geo: Geo;
  usage: LiveUsage;
  slices: Slices;
  model: ModelSource;
  notices: Notices;
  liveCalls: LiveCalls;
  outcomes: OutcomeSampler;
  fetchMeter: FetchMeter;
  /** Epoch milliseconds: all events that were acknowledged before are stored. With an event log it may lag behind. */
  eventsStoredUntil: () => number;
};
