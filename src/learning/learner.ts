import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import { payoutOf } from '../catalog/provisioning.ts';
import type { CatalogStore } from '../catalog/store.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { runInSlices } from '../platform/lib/slices.ts';
import { afterSuccess, type Batch, firstLimits, readBatch, smaller, trialOf } from './batch.ts';
import { packChanges, packModel, trackChanges } from './codec.ts';
import { noteDelay, provenAge, sharesOf } from './delays.ts';
import { keyValuesOf } from './keys.ts';
import { createModel, estimateAllPriors, forgetChangedRates, learn, type Model, placeOf, type Shown } from './model.ts';
import type { Observation } from './observations.ts';
import { areSound } from './priors.ts';
import { continuedIn, learningLock, noProgress, type Progress, readProgress, writeProgress } from './progress.ts';
import { propertiesOf } from './properties.ts';
import { countAged } from './rates.ts';
import { learnTraffic } from './traffic.ts';
import { fullEvery, insertVersion, isRepeated, loadVersion, type NewVersion, newestVersion } from './versions.ts';

type Catalog = Pick<CatalogStore, 'current'>;

type LearnerDeps = { pool: pg.Pool; catalog: Catalog; now: () => number };

/** Result of a run: rows that were learned from, and whether no further ones wait. null: another process learns. */
export type Learned = { rows: number; complete: boolean } | null;

/** Rows below which the transactions of a batch held few (count). */
const fewRows = 5000;

/** Rows learned from between two pauses (count): about a millisecond of work. */
const sliceSize = 20;

/** Trials after which priors are estimated again (count), and the part of all trials. */
const priorTrials = { first: 100, most: 50_000 };

/**
 * Learns from what was committed since the last run, exactly once. Rows are read in one short transaction and a version
 * is stored in another, with where it ended; nothing is computed while one is open. Any number of processes may try:
 * of two that began with the same version, the second to store drops what it learned. After a failure the run forgets
 * what it had in memory, and takes fewer rows.
 */
export function createLearner({ pool, catalog, now }: LearnerDeps): () => Promise<Learned> {
  let model: Model | null = null;
  let limits = firstLimits;

  async function runOnce(): Promise<Learned> {
    const newest = await newestModel(pool, model);
    model = null;
    const isSound = areSound(newest.click.effects) && areSound(newest.conversion.effects);
    const current = isSound ? newest : anewAfter(newest);
    // 1. Read.
    const input = await transaction(pool, async (executor) => {
      await executor.query('set transaction isolation level repeatable read');
      if (!(await tryLock(executor)) || (await newestVersion(executor)) !== newest.version) return null;
      const end = await oldestOpen(executor);
      const stored = await readProgress(executor);
      const progress = continuedIn(isSound ? stored : { ...noProgress, marks: stored.marks }, end);
      const delays = { click: current.click.delays, conversion: current.conversion.delays };
      const batch = await readBatch(executor, { progress, end, delays, nowMs: now(), limits });
      return { stored, progress, batch };
    });
    if (input === null) {
      if (isSound) model = newest;
      return null;
    }
    // 2. Compute.
    const { progress, batch } = input;
    const { rows, next } = await learnBatch(current, catalog, progress, batch);
    const versions = rows > 0 || !isSound ? await packNext(current, !isSound) : [];
    // 3. Store.
    const isNoted = versions.length > 0 || !batch.isComplete || isDue(progress, now());
    const before = { version: newest.version, progress: input.stored };
    if (isNoted && !(await storeNext(pool, { versions, next, before, nowMs: now() }))) return null;
    model = { ...current, version: versions.at(-1)?.version ?? current.version };
    limits = afterSuccess(limits, !batch.isComplete && rows < fewRows);
    return { rows, complete: batch.isComplete };
  }

  return async () => {
    try {
      return await runOnce();
    } catch (err) {
      model = null;
      limits = smaller(limits);
      throw err;
    }
  };
}

async function tryLock(executor: Executor): Promise<boolean> {
  const { rows } = await executor.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(${learningLock}) as locked`,
  );
  return rows[0]?.locked ?? false;
}

/** The model of the newest version, from memory where it is that. */
async function newestModel(executor: Executor, known: Model | null): Promise<Model> {
  const newest = await newestVersion(executor);
  const model = known?.version === newest ? known : await loadVersion(executor, newest);
  if (model === null) throw new Error('the newest version of the ranking model is not complete');
  if (model !== known) model.keyValues = keyValuesOf(model.click.effects);
  trackChanges(model);
  return model;
}

/**
 * An empty model in place of one that ran away, as those of earlier releases could: all that is stored is learned from
 * anew. Its number is too far from the other's for processes to take it for a change of that.
 */
function anewAfter({ version }: Model): Model {
  const model = { ...createModel(), version: version + fullEvery };
  trackChanges(model);
  return model;
}

/** The next version: the first one whole, others as changes, and now and then the whole model once more. */
async function packNext(model: Model, isFull: boolean): Promise<NewVersion[]> {
  const version = model.version + 1;
  const isWhole = isFull || model.version === 0;
  const versions: NewVersion[] = [{ version, isFull: isWhole, body: await (isWhole ? packModel : packChanges)(model) }];
  if (isRepeated(version + 1)) versions.push({ version: version + 1, isFull: true, body: await packModel(model) });
  return versions;
}

type Next = {
  versions: readonly NewVersion[];
  next: Progress;
  /** State that the run began with. */
  before: { version: number; progress: Progress };
  nowMs: number;
};

/** Stores versions and progress, unless another process changed either since. @returns whether it did */
const storeNext = (pool: pg.Pool, { versions, next, before, nowMs }: Next): Promise<boolean> =>
  transaction(pool, async (executor) => {
    if (!(await tryLock(executor)) || (await newestVersion(executor)) !== before.version) return false;
    const isSame = JSON.stringify(await readProgress(executor)) === JSON.stringify(before.progress);
    if (!isSame) return false;
    for (const version of versions) await insertVersion(executor, { ...version, nowMs });
    await writeProgress(executor, next);
    return true;
  });

/** How often progress is noted while nothing happens (milliseconds). */
const idleMs = 30_000;

const isDue = ({ marks }: Progress, nowMs: number): boolean => (marks.at(-1)?.[0] ?? 0) < nowMs - idleMs;

const happenings = {
  click: { trial: 'seen', success: 'clicked' },
  conversion: { trial: 'awaited', success: 'converted' },
} as const;

/**
 * Both in the order of their sessions. A model that takes in many trials before all of their successes expects hardly
 * any, and then takes each of them for a wonder.
 */
function* inOrder(trials: readonly Observation[], successes: readonly Observation[]): Generator<Observation, void> {
  let at = 0;
  for (const trial of trials) {
    for (; (successes[at]?.session_ms ?? Number.POSITIVE_INFINITY) < trial.session_ms; at++)
      yield successes[at] as Observation;
    yield trial;
  }
  yield* successes.slice(at);
}

/** Learns from a batch: successes at once, trials at each age by the share that is due then. */
async function learnBatch(model: Model, catalog: Catalog, progress: Progress, { aged, requests, next }: Batch) {
  const toShown = createReader(catalog);
  let [rows, trials] = [0, progress.trials];
  for (const { kind, age, ...read } of aged) {
    const share = sharesOf(model[kind].delays)[age] as number;
    for (const observation of inOrder(read.trials, read.successes)) {
      if (++rows % sliceSize === 0) await nextTurn();
      const shown = toShown(observation);
      if (shown === null) continue;
      const isTrial = observation.kind === trialOf[kind];
      learn(model, happenings[kind][isTrial ? 'trial' : 'success'], shown, isTrial ? share : 1);
      if (!isTrial) noteSuccess(model, observation, shown);
      else {
        if (kind === 'click' && age === 0) trials += 1;
        if (age === provenAge[kind]) countAged(model[kind].rates, shown.offer, 0, 1);
      }
    }
  }
  const { offers } = catalog.current();
  await runInSlices(forgetChangedRates(model, (id) => offers.get(id)));
  const traffic = { ...progress.traffic };
  for (const { publisher_id: id, hour, requests: count } of requests)
    traffic[id] = learnTraffic(model, id, traffic[id], [hour, count]);
  if (model.traffic.changed?.size) rows += 1;
  if (trials >= nextPriors(progress.trials)) await runInSlices(estimateAllPriors(model));
  const delays = { click: model.click.delays.counts, conversion: model.conversion.delays.counts };
  return { rows, next: { ...next, trials, traffic, delays } };
}

/** The number of trials at which priors are estimated next: each doubling, later each so many. */
const nextPriors = (trials: number): number =>
  trials < priorTrials.first
    ? priorTrials.first
    : Math.min(
        2 ** (Math.floor(Math.log2(trials)) + 1),
        (Math.floor(trials / priorTrials.most) + 1) * priorTrials.most,
      );

/** All transactions before this one have ended. */
async function oldestOpen(executor: Executor): Promise<string> {
  const { rows } = await executor.query<{ xid: string }>('select pg_snapshot_xmin(pg_current_snapshot())::text as xid');
  return (rows[0] as { xid: string }).xid;
}

/** Positions from this one on are taken for equal. */
const maxPosition = 10;

/** Reads what was shown, and to whom; null: the offer or its publisher is no more. */
function createReader(catalog: Catalog): (observation: Observation) => Shown | null {
  const { offers, publishers } = catalog.current();
  return (row) => {
    const [offer, publisher] = [offers.get(row.offer_id), publishers.get(row.publisher_id)];
    if (offer === undefined || publisher === undefined) return null;
    const context = {
      device: row.device,
      os: row.os,
      geo: { country: row.country, timeZone: row.time_zone },
      loyalty: row.loyalty ?? 'none',
      custom: new Map(Object.entries(row.custom ?? {})),
      nowMs: row.session_ms,
    };
    const properties = propertiesOf(context, publisher);
    return {
      offer,
      place: placeOf(publisher.id, row.placement),
      position: Math.min(maxPosition, row.position),
      properties,
    };
  };
}

function noteSuccess(
  model: Model,
  { kind, delay_ms: delayMs, revenue_micros: revenueMicros, publisher_id: publisherId }: Observation,
  { offer }: Shown,
): void {
  const { rates, delays } = model[kind === 'click' ? 'click' : 'conversion'];
  countAged(rates, offer, 1, 0);
  if (delayMs !== null) noteDelay(delays, Math.max(0, delayMs));
  const payout = payoutOf(offer.campaign, publisherId);
  if (kind !== 'conversion' || payout.kind !== 'cps' || payout.amountMicros === 0 || revenueMicros <= 0) return;
  const { micros = 0, count = 0 } = model.sales.get(offer.campaign.id) ?? {};
  // A share of a sale was earned, in millionths of a percent.
  const saleMicros = (revenueMicros * 100_000_000) / payout.amountMicros;
  model.sales.set(offer.campaign.id, { micros: micros + saleMicros, count: count + 1 });
}
