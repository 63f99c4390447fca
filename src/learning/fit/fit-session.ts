import { modelOf, packChanges, packModel, trackChanges, unpackVersion } from '../model/codec.ts';
import { keyOf } from '../model/effects.ts';
import { createModel, type Model } from '../model.ts';
import type { DelayCounts, Progress } from '../progress.ts';
import type { RequestCount } from '../reading/observations.ts';
import { type HourCount, learnTraffic } from '../traffic.ts';
import { isRepeated, type NewVersion } from '../versions.ts';
import { addEvent, createFits, type Fits, fitAndPublish, type LearnEvent } from './fit-rates.ts';

/** Model and delay counts at the start of a fit session. */
export type SessionStart = {
  /** Latest version as a complete model, or null if there is no version yet. */
  body: Uint8Array | null;
  delays: DelayCounts | null;
};

/** Request to add rows to the fit session and, if due, to fit all of its rows. */
export type FitRequest = {
  requests: readonly RequestCount[];
  traffic: Progress['traffic'];
  nowMs: number;
  /** Whether to fit the rows, or only to add the requests. */
  isDue: boolean;
  /** Number of the next version. `isFull` indicates whether it is stored as a complete model. */
  version: number;
  isFull: boolean;
};

export type FitResult = {
  /** Model versions to store. Empty if nothing was learned. */
  versions: readonly NewVersion[];
  traffic: Progress['traffic'];
  delays: DelayCounts;
  /** Duration of the fit, in milliseconds. */
  tookMs: number;
};

/** In-memory state of the learner: the rows and their fits, and the model as last stored. It performs no I/O. */
export type FitSession = {
  take: (events: readonly LearnEvent[]) => void;
  fit: (request: FitRequest) => Promise<FitResult>;
};

export async function createFitSession({ body, delays }: SessionStart): Promise<FitSession> {
  const stored = body === null ? createModel() : await modelOf(1, await unpackVersion(Buffer.from(body)));
  const model = stored.click.isLogistic ? stored : { ...createModel(), sales: stored.sales, traffic: stored.traffic };
  const fits = createFits();
  if (delays !== null)
    for (const kind of ['click', 'conversion'] as const) fits[kind].delays.counts = [...delays[kind]];
  closeKeys(fits, model);
  trackChanges(model);
  return {
    take: (events) => {
      for (const event of events) addEvent(fits, model.sales, event);
    },
    fit: async (request) => {
      const begunMs = performance.now();
      const traffic = learnRequests(model, request);
      const hasLearned =
        request.isDue && (fitAndPublish(fits, model, request.nowMs) || (model.traffic.changed?.size ?? 0) > 0);
      const tookMs = performance.now() - begunMs;
      const versions = hasLearned ? await pack(model, request) : [];
      const counts = { click: fits.click.delays.counts, conversion: fits.conversion.delays.counts };
      return { versions, traffic, delays: counts, tookMs };
    },
  };
}

/** Closes the property keys that are closed in the stored model. */
function closeKeys(fits: Fits, { click, conversion }: Model): void {
  for (const { effects } of [click, conversion])
    for (const [group, prior] of effects.priors) if (prior === 0) fits.click.rows.closedKeys.add(keyOf(group));
}

function learnRequests(model: Model, { requests, traffic }: FitRequest): Progress['traffic'] {
  const next: Record<string, HourCount> = { ...traffic };
  for (const { publisher_id: id, hour, requests: count } of requests)
    next[id] = learnTraffic(model, id, next[id], [hour, count]);
  return next;
}

/** Encodes the next version as changes and, from time to time, also as a complete model. */
async function pack(model: Model, { version, isFull }: FitRequest): Promise<NewVersion[]> {
  const versions: NewVersion[] = [{ version, isFull, body: await (isFull ? packModel : packChanges)(model) }];
  if (isRepeated(version + 1)) versions.push({ version: version + 1, isFull: true, body: await packModel(model) });
  trackChanges(model);
  return versions;
}
