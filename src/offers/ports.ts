import type { AccountDeps } from '../accounts/ports.ts';
import type { LiveUsage } from '../budgets/live-usage.ts';
import type { Slices } from '../budgets/slices.ts';
import type { ModelSource } from '../learning/source.ts';
import type { LiveCalls } from './live-calls/live-calls.ts';
import type { FetchMeter, OutcomeSampler } from './metrics.ts';
import type { Notices } from './notices/notices.ts';

/** Background jobs refresh `usage` and `model`, return `slices`, and write `notices`, `liveCalls` and `outcomes`. */
export type OfferDeps = AccountDeps & {
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
