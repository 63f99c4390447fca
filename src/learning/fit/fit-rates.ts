import { createDelays, type Delays, noteDelay, provenAge } from '../delays.ts';
import { type Model, type Sales, startRates } from '../model.ts';
import { createFit, type Fit, refit } from './fit.ts';
import { publish } from './publish.ts';
import { addRow, createRows, type RowInput, type Rows, succeed } from './rows.ts';
import { thinRows } from './thinning.ts';

/** An event from which the ranking learns. */
export type LearnEvent = {
  what: 'seen' | 'clicked' | 'converted';
  /** Offer and session of the event, and the time of the event. */
  row: RowInput;
  /** Time from the impression to the click, or from the click to the conversion, in milliseconds. Null if unknown. */
  delayMs: number | null;
  /** Sale that led to a conversion, if the payout is a share of the sale, or null otherwise. */
  sale: { campaignId: number; micros: number } | null;
};

type Kind = 'click' | 'conversion';
type Learner = { rows: Rows; fit: Fit; delays: Delays };

/** Learners (training rows and fitted model) for the click rate and the conversion rate. */
export type Fits = Record<Kind, Learner>;

/** Maximum number of training rows kept for each predicted rate (click, conversion). */
const capacity = 100_000;

/** Delays to assume before any success is known, in milliseconds. */
const assumedMs = { click: [1000, 3000, 8000, 20_000], conversion: [30_000, 300_000, 3_600_000, 20_000_000] };

/** Age up to which thinning assumes that a row may still get a success, in milliseconds. */
const youngMs = { click: 120_000, conversion: 7_200_000 };

export function createFits(): Fits {
  const closedKeys = new Set<string>();
  const learner = (kind: Kind): Learner => ({
    rows: createRows(capacity, closedKeys),
    fit: createFit(startRates[kind], assumedMs[kind]),
    delays: createDelays(kind),
  });
  return { click: learner('click'), conversion: learner('conversion') };
}

/** Adds an event. If it was already added, only the delay and sales statistics change. */
export function addEvent(fits: Fits, sales: Map<number, Sales>, { what, row, delayMs, sale }: LearnEvent): void {
  const { click, conversion } = fits;
  const delay = Math.max(0, delayMs ?? 0);
  const trial = { ...row, atMs: row.atMs - delay };
  if (what === 'seen') addTo(click, 'click', row);
  else if (what === 'clicked') {
    addTo(click, 'click', trial);
    succeed(click.rows, trial, delay);
    addTo(conversion, 'conversion', row);
  } else {
    addTo(conversion, 'conversion', trial);
    succeed(conversion.rows, trial, delay);
  }
  if (what !== 'seen' && delayMs !== null) noteDelay(fits[what === 'clicked' ? 'click' : 'conversion'].delays, delay);
  if (sale === null) return;
  const { micros = 0, count = 0 } = sales.get(sale.campaignId) ?? {};
  sales.set(sale.campaignId, { micros: micros + sale.micros, count: count + 1 });
}

function addTo({ rows }: Learner, kind: Kind, row: RowInput): void {
  if (rows.size >= rows.capacity && !rows.indexOf.has(row.id)) thinRows(rows, row.atMs - youngMs[kind]);
  addRow(rows, row);
}

/**
 * Fits both rates to the events, and publishes the results in the model.
 * @returns whether anything was learned
 */
export function fitAndPublish(fits: Fits, model: Model, nowMs: number): boolean {
  let hasLearned = false;
  for (const kind of ['click', 'conversion'] as const) {
    const { rows, fit, delays } = fits[kind];
    const newestMs = newestOf(rows);
    if (rows.size === 0 || !refit(rows, fit, knownMs(rows, newestMs, nowMs))) continue;
    publish(model[kind], rows, fit, Math.max(newestMs, nowMs) - (delays.agesMs[provenAge[kind]] as number));
    model[kind].delays.counts = delays.counts;
    hasLearned = true;
  }
  return hasLearned;
}

/** Returns the time of the newest event, in epoch milliseconds. */
function newestOf({ size, atMs, delaysMs }: Rows): number {
  let newestMs = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < size; row++)
    newestMs = Math.max(newestMs, (atMs[row] as number) + Math.max(0, delaysMs[row] as number));
  return newestMs;
}

/**
 * Number of recent rows from which the average gap between events is measured, and how many average gaps may plausibly
 * pass without any event.
 */
const [measuredRows, possibleGaps] = [200, 20];

/**
 * Returns the time up to which all events are assumed to be known, based on the newest event. If rows are delayed by a
 * long transaction or a backlog, their successes are merely not known yet, which does not indicate an outage.
 */
function knownMs({ size, atMs }: Rows, newestMs: number, nowMs: number): number {
  const from = Math.max(0, size - measuredRows);
  const spanMs = Math.max(0, newestMs - (atMs[from] as number));
  const quietMs = spanMs === 0 ? Number.POSITIVE_INFINITY : (possibleGaps * spanMs) / (size - from);
  return newestMs + Math.min(quietMs, Math.max(0, nowMs - newestMs));
}
