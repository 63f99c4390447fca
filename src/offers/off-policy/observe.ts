import type { Snapshot } from '../../catalog/types.ts';
import { comparisonOf } from '../../decision/comparison.ts';
import type { EligibilityIndex } from '../../decision/eligibility.ts';
import { sampleDecisions } from '../../decision/propensity.ts';
import type { DecidedOffer, DecisionInput } from '../../decision/types.ts';
import { createVersionReader, findStretches, type Stretch } from '../../learning/versions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { catalogueIdOf, findState, unpackCatalogue } from '../decision-log/states.ts';
import { withLinkedFirst } from '../fetch/decide-session.ts';
import { findDecision, inputWith, type StoredDecision } from '../re-decide.ts';
import { type Alternative, otherwise } from './alternatives.ts';
import type { Observed } from './estimate.ts';
import { type SampledSession, sampleDecided } from './sessions.ts';

/** Maximum number of sessions that are decided again, and maximum time for it (milliseconds). */
const most = { sessions: 2000, ms: 10_000 };
/** Minimum number of sessions of each kind in a stretch; it is also used to measure the time per session. */
const fewest = 4;

type ObserveQuery = { publisherId: number; other: Alternative; sinceMs: number; nowMs: number };

/** Decides sessions of the last days again, by the actual ranking and by another one. */
export async function observe(
  executor: Executor,
  { publisherId, other, sinceMs, nowMs }: ObserveQuery,
): Promise<Observed[]> {
  const stretches = await findStretches(executor, sinceMs, nowMs);
  const again = createAgain(executor, publisherId, other);
  const observeStretch = async (stretch: Stretch, count: number): Promise<Observed[]> =>
    again(stretch, await sampleDecided(executor, publisherId, stretch, count));
  const last = stretches.at(-1);
  if (last === undefined) return [];
  const begunMs = performance.now();
  const tried = await observeStretch(last, fewest);
  const eachMs = (performance.now() - begunMs) / Math.max(1, tried.length);
  const sessions = Math.min(most.sessions, most.ms / eachMs);
  const count = Math.max(fewest, Math.ceil(sessions / 2 / stretches.length));
  const observed: Observed[] = [];
  for (const stretch of stretches) observed.push(...(await observeStretch(stretch, count)));
  return observed;
}

/** Maximum number of cached catalogues. Most sessions of a stretch share one. */
const maxCatalogues = 2;

function createAgain(executor: Executor, publisherId: number, other: Alternative) {
  const catalogues = new Map<string, Snapshot | null>();
  async function catalogueOf(stored: StoredDecision): Promise<Snapshot | null> {
    const id = catalogueIdOf(stored);
    const cached = catalogues.get(id);
    if (cached !== undefined) return cached;
    const packed = await findState(executor, id);
    const unpacked = packed === null ? null : await unpackCatalogue(packed);
    for (const oldest of catalogues.keys()) if (catalogues.size >= maxCatalogues) catalogues.delete(oldest);
    catalogues.set(id, unpacked);
    return unpacked;
  }

  /**
   * A model is valid until the next version is read, so sessions are decided again one by one in the order of their
   * model versions.
   */
  return async ({ first, last }: Stretch, sessions: readonly SampledSession[]): Promise<Observed[]> => {
    const modelAt = createVersionReader(executor);
    const versionOf = ({ stored }: { stored: StoredDecision }): number => stored.inputs.modelVersion ?? 0;
    const sampled: { session: SampledSession; stored: StoredDecision }[] = [];
    for (const session of sessions) {
      const stored = await findDecision(executor, publisherId, session.id);
      // Offerwall sessions are pages of one list.
      if (stored.context.surface === 'unit') sampled.push({ session, stored });
    }
    const observed: Observed[] = [];
    for (const entry of sampled.sort((a, b) => versionOf(a) - versionOf(b))) {
      const version = versionOf(entry);
      const [catalogue, model] = [
        await catalogueOf(entry.stored),
        version < first || version > last ? null : await modelAt(version),
      ];
      const publisher = catalogue?.publishers.get(publisherId);
      if (publisher === undefined || model === null) continue;
      observed.push(await observeOne(entry.stored, entry.session, inputWith(entry.stored, publisher, model), other));
    }
    return observed;
  };
}

async function observeOne(
  { offerIds, inputs }: StoredDecision,
  { weight, revenueByOffer }: SampledSession,
  input: DecisionInput,
  other: Alternative,
): Promise<Observed> {
  const arrange = (offers: readonly DecidedOffer[]) => withLinkedFirst(offers, inputs.linkedOfferId ?? null);
  const sampling = { arrange, salt: input.seed };
  const asItWas = await runInSlices(sampleDecisions(input, sampling));
  const ofOther = await runInSlices(sampleDecisions(otherwise(input, other), sampling));
  const inOneCurrency = amountsIn(input);
  const impressions = offerIds.map((id, at) => ({
    ratio: ofOther.ofAny(id, at + 1) / asItWas.ofShown(id, at + 1),
    revenueMicros: inOneCurrency(id, revenueByOffer.get(id) ?? 0),
  }));
  const filled: number[] = [];
  for (let share = ofOther.filled(1); share > 0; share = ofOther.filled(filled.length + 1)) filled.push(share);
  return { weight, shown: impressions, filled };
}

/**
 * Converts offers' amounts to the currency in which the decision compared them, because amounts in different currencies
 * are never added. Amounts without an exchange rate count as 0.
 */
function amountsIn({ publisher, context }: DecisionInput): (offerId: number, micros: number) => number {
  const comparison = comparisonOf(publisher.index as EligibilityIndex, publisher, context.nowMs);
  if (comparison === null) return (_, micros) => micros;
  const currencies = new Map(publisher.index.offers.map(({ id, campaign }) => [id, campaign.payout.currency]));
  return (offerId, micros) => micros * (comparison.factors.get(currencies.get(offerId) ?? '') ?? 0);
}
