import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import { payoutOf } from '../catalog/provisioning.ts';
import type { CatalogStore } from '../catalog/store.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { runInSlices } from '../platform/lib/slices.ts';
import { packChanges, packModel, trackChanges } from './codec.ts';
import { noteDelay, provenAge, sharesOf } from './delays.ts';
import { keyValuesOf } from './keys.ts';
import { createModel, estimateAllPriors, forgetChangedRates, learn, type Model, placeOf, type Shown } from './model.ts';
import {
  endOfRange,
  lowest,
  type Observation,
  type Range,
  readEvents,
  readRequests,
  readSuccesses,
} from './observations.ts';
import { areSound } from './priors.ts';
import {
  continuedIn,
  learningLock,
  markedBefore,
  noProgress,
  type Progress,
  readProgress,
  withMark,
  writeProgress,
} from './progress.ts';
import { propertiesOf } from './properties.ts';
import { countAged } from './rates.ts';
import type { Table } from './table.ts';
import { learnTraffic } from './traffic.ts';
import { fullEvery, insertVersion, isRepeated, loadVersion, newestVersion } from './versions.ts';

type LearnerDeps = { pool: pg.Pool; catalog: Pick<CatalogStore, 'current'>; now: () => number };

/** What one run found: rows that were taken in, and whether it reached the end. null: another process is at it. */
export type Learned = { rows: number; complete: boolean } | null;

/** Transactions of one run (count), at each age: few enough for about a second, more while they hold few rows. */
const transactions = { first: 20_000, max: 100_000_000 };
const manyRows = 5000;

/** Rows taken in between two pauses (count): about a millisecond of work. */
const sliceSize = 20;

/** Trials after which priors are estimated again (count), and the part of all trials. */
const priorTrials = { first: 100, most: 50_000 };

/**
 * Learns from what was committed since the last run, exactly once: the version, and where it ended, are one
 * transaction under an advisory lock. Any number of processes may try; one that fails forgets what it had in memory.
 */
export function createLearner({ pool, catalog, now }: LearnerDeps): () => Promise<Learned> {
  let model: Model | null = null;
  let maxTransactions = transactions.first;

  async function runOnce(executor: Executor): Promise<Learned> {
    await executor.query('set transaction isolation level repeatable read');
    if (!(await tryLock(executor))) return null;
    const newest = await newestModel(executor, model);
    const isSound = areSound(newest.click.effects) && areSound(newest.conversion.effects);
    model = isSound ? newest : anewAfter(newest);
    const end = await oldestOpen(executor);
    const known = await readProgress(executor);
    const progress = continuedIn(isSound ? known : { ...noProgress, marks: known.marks }, end);
    const { rows, complete, next } = await takeIn({
      executor,
      catalog,
      model,
      progress,
      end,
      nowMs: now(),
      maxTransactions,
    });
    const isSparse = !complete && rows < manyRows;
    maxTransactions = isSparse ? Math.min(transactions.max, maxTransactions * 2) : transactions.first;
    if (rows > 0 || !isSound) model = await storeNext(executor, model, { isFull: !isSound, nowMs: now() });
    if (rows > 0 || !complete || isDue(progress, now())) await writeProgress(executor, next);
    return { rows, complete };
  }

  return async () => {
    try {
      return await transaction(pool, runOnce);
    } catch (err) {
      model = null;
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

/** Stores what was learned: the first version whole, others as changes, and now and then the whole once more. */
async function storeNext(
  executor: Executor,
  model: Model,
  { isFull, nowMs }: { isFull: boolean; nowMs: number },
): Promise<Model> {
  const store = async (version: number, isWhole: boolean): Promise<Model> => {
    const body = await (isWhole ? packModel(model) : packChanges(model));
    await insertVersion(executor, { version, isFull: isWhole, body, nowMs });
    return { ...model, version };
  };
  const stored = await store(model.version + 1, isFull || model.version === 0);
  return isRepeated(stored.version + 1) ? store(stored.version + 1, true) : stored;
}

/** How often progress is noted while nothing happens (milliseconds). */
const idleMs = 30_000;

const isDue = ({ marks }: Progress, nowMs: number): boolean => (marks.at(-1)?.[0] ?? 0) < nowMs - idleMs;

type TakeIn = {
  executor: Executor;
  catalog: Pick<CatalogStore, 'current'>;
  model: Model;
  progress: Progress;
  /** All transactions before this one have ended. */
  end: string;
  nowMs: number;
  maxTransactions: number;
};

const trialOf = { click: 'impression', conversion: 'click' } as const;
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

/** Takes in new rows: successes at once, trials at each age by the share that is due then. */
async function takeIn({ executor, catalog, model, progress, end, nowMs, maxTransactions }: TakeIn) {
  const from = BigInt(progress.click[0] ?? '0');
  /** Where a run that begins at a transaction ends. */
  const bounded = (start: string, due: string): Promise<string> =>
    endOfRange(
      executor,
      { from: start, to: due },
      { rows: manyRows, least: transactions.first, most: maxTransactions },
    );
  const to = await bounded(String(from), end);
  let complete = to === end;
  const oldestMs = Math.max(...model.conversion.delays.agesMs);
  const marks = to === end ? withMark(progress.marks, nowMs, end, oldestMs) : progress.marks;
  const next: Progress = { click: [], conversion: [], marks, trials: progress.trials, traffic: progress.traffic };
  const toShown = createReader(catalog);
  let rows = 0;

  /** `aged`: the table that counts trials of this age. */
  type How = { kind: 'click' | 'conversion'; share: number; isNew: boolean; aged: Table | null };
  async function each(observations: Iterable<Observation>, { kind, share, isNew, aged }: How) {
    for (const observation of observations) {
      if (++rows % sliceSize === 0) await nextTurn();
      const shown = toShown(observation);
      if (shown === null) continue;
      const isTrial = observation.kind === trialOf[kind];
      learn(model, happenings[kind][isTrial ? 'trial' : 'success'], shown, isTrial ? share : 1);
      if (!isTrial) noteSuccess(model, observation, shown);
      else {
        if (isNew) next.trials += 1;
        if (aged !== null) countAged(aged, shown.offer, 0, 1);
      }
    }
  }

  for (const kind of ['click', 'conversion'] as const) {
    const { delays } = model[kind];
    const shares = sharesOf(delays);
    for (const [age, ageMs] of delays.agesMs.entries()) {
      const start = progress[kind][age] ?? '0';
      const due = age === 0 ? to : lowest(markedBefore(marks, nowMs - ageMs) ?? start, to);
      const range = { from: start, to: BigInt(due) > BigInt(start) ? await bounded(start, due) : start };
      next[kind].push(range.to);
      complete &&= BigInt(range.to) >= BigInt(due);
      if (range.to === range.from) continue;
      const trials = await readEvents(executor, trialOf[kind], range);
      const successes = age > 0 ? [] : await readSuccesses[kind](executor, range);
      await each(inOrder(trials, successes), {
        ...{ kind, share: shares[age] as number, isNew: kind === 'click' && age === 0 },
        aged: age === provenAge[kind] ? model[kind].rates : null,
      });
    }
  }
  const { offers } = catalog.current();
  await runInSlices(forgetChangedRates(model, (id) => offers.get(id)));
  next.traffic = await takeInTraffic(executor, model, progress, { from: String(from), to });
  if (model.traffic.changed?.size) rows += 1;
  next.delays = { click: model.click.delays.counts, conversion: model.conversion.delays.counts };
  if (next.trials >= nextPriors(progress.trials)) await runInSlices(estimateAllPriors(model));
  return { rows, complete, next };
}

/** Counts requests by hour. @returns the hours that are running */
async function takeInTraffic(executor: Executor, model: Model, { traffic }: Progress, range: Range) {
  const running = { ...traffic };
  for (const { publisher_id: id, hour, requests } of await readRequests(executor, range))
    running[id] = learnTraffic(model, id, running[id], [hour, requests]);
  return running;
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
function createReader(catalog: Pick<CatalogStore, 'current'>): (observation: Observation) => Shown | null {
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
