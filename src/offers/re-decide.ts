import type { UserHistory } from '../budgets/caps.ts';
import type { Publisher } from '../catalog/types.ts';
import { decide } from '../decision/decide.ts';
import { estimatePropensities, type Propensity } from '../decision/propensity.ts';
import type { DecidedOffer, Decision, DecisionContext, DecisionInput } from '../decision/types.ts';
import type { Model } from '../learning/model.ts';
import { loadVersion } from '../learning/versions.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { firstTag } from '../platform/lib/language-tags.ts';
import { runInSlices } from '../platform/lib/slices.ts';
import { dayOfUuid7, seedOf } from '../platform/lib/uuid7.ts';
import { platformOf } from '../platform/user-agent/client-device.ts';
import { catalogueIdOf, findState, unpackCatalogue } from './decision-log/states.ts';
import { decideGhost, withLinkedFirst } from './fetch/decide-session.ts';
import { type DecisionRecord, readDecisionRecord, type StoredInputs } from './session-record.ts';

/** Decision stored in a session. */
export type StoredDecision = DecisionRecord & {
  sessionId: string;
  createdAtMs: number;
  seed: number;
  offerIds: readonly number[];
  campaignIds: readonly number[];
  emptyReason: string | null;
  publisherId: number;
  themeId: number | null;
  context: DecisionContext;
};

export type ContextRow = {
  placement: string;
  user_key: string | null;
  country: string | null;
  device: string | null;
  os: string | null;
  custom: Record<string, string> | null;
  language: string | null;
  dev: boolean;
  created_ms: number;
};

/** Database row from which a stored decision is read. */
export type DecisionRow = ContextRow & {
  publisher_id: number;
  theme_id: number | null;
  offer_ids: number[];
  campaign_ids: number[];
  decision: string | null;
  empty_reason: string | null;
};

/** SQL select list for a `DecisionRow`. */
export const decisionColumns = `publisher_id, placement, theme_id, user_key, country, device, os, custom, language, dev,
  offer_ids, campaign_ids, decision, empty_reason, round(extract(epoch from created_at) * 1000)::float8 as created_ms`;

/**
 * Finds a stored decision.
 * @throws AppError session_not_found if the publisher has no such session; decision_not_kept if its user was erased
 */
export async function findDecision(
  executor: Executor,
  publisherId: number,
  sessionId: string,
): Promise<StoredDecision> {
  const { rows } = await executor.query<DecisionRow>({
    name: 'find_decision',
    text: `select ${decisionColumns} from sessions where day = $1::date and id = $2::uuid and publisher_id = $3`,
    values: [dayOfUuid7(sessionId), sessionId, publisherId],
  });
  const [row] = rows;
  if (row === undefined) throw new AppError('session_not_found');
  return toStoredDecision(row, sessionId);
}

/**
 * Converts a row to a stored decision.
 * @throws AppError decision_not_kept if the user was erased
 */
export function toStoredDecision(row: DecisionRow, sessionId: string): StoredDecision {
  if (row.decision === null) throw new AppError('decision_not_kept');
  const record = readDecisionRecord(row.decision);
  return {
    ...record,
    sessionId,
    createdAtMs: row.created_ms,
    seed: seedOf(sessionId),
    offerIds: row.offer_ids,
    campaignIds: row.campaign_ids,
    emptyReason: row.empty_reason,
    publisherId: row.publisher_id,
    themeId: row.theme_id,
    context: toContext(row, record.inputs),
  };
}

/** Rebuilds the request context of a session from its columns and the inputs of its decision. */
export const toContext = (row: ContextRow, inputs: StoredInputs): DecisionContext => ({
  surface: inputs.wall ? 'offerwall' : 'unit',
  placement: row.placement,
  platform: platformOf(row.os ?? 'other'),
  device: row.device,
  os: row.os,
  browser: inputs.browser ?? null,
  language: row.language === null ? null : firstTag(row.language),
  geo: {
    country: row.country,
    region: inputs.region ?? null,
    city: inputs.city ?? null,
    postalCode: inputs.postalCode ?? null,
    timeZone: inputs.timeZone ?? null,
  },
  custom: new Map(Object.entries(row.custom ?? {})),
  audiences: inputs.audiences ?? [],
  nowMs: row.created_ms,
  userKey: row.user_key,
  loyalty: inputs.loyalty ?? 'none',
  onlyWithCreative: inputs.onlyWithCreative ?? false,
  campaignId: inputs.campaignId ?? null,
  count: inputs.count ?? null,
  shownElsewhere: inputs.shownElsewhere ?? null,
  arm: inputs.arm ?? null,
  dev: row.dev,
});

/**
 * Loads the inputs of a stored decision. Returns null if the catalogue or model that it used is not stored yet or no
 * longer stored.
 */
export async function inputOf(executor: Executor, stored: StoredDecision): Promise<DecisionInput | null> {
  const catalogue = await findState(executor, catalogueIdOf(stored));
  const model = await loadVersion(executor, stored.inputs.modelVersion ?? 0);
  if (catalogue === null || model === null) return null;
  const publisher = (await unpackCatalogue(catalogue)).publishers.get(stored.publisherId);
  return publisher === undefined ? null : inputWith(stored, publisher, model);
}

/** Builds the decision input from a stored decision, the publisher as in its catalogue, and its model. */
export function inputWith(stored: StoredDecision, publisher: Publisher, model: Model): DecisionInput {
  const { inputs, context, seed } = stored;
  const history: UserHistory = { optOuts: inputs.optOuts ?? {}, exposures: inputs.exposures ?? [] };
  return {
    publisher,
    theme: stored.themeId === null ? null : (publisher.themes.get(stored.themeId) ?? null),
    context,
    history,
    totals: new Map(inputs.totals ?? []),
    model,
    seed,
  };
}

/** Repeats a stored decision. If it was made after its deadline, the result never contains offers. */
export function reDecide(stored: StoredDecision, input: DecisionInput): Decision & { identical: boolean } {
  if (stored.emptyReason === 'deadline')
    return { offers: [], emptyReason: null, identical: stored.offerIds.length === 0 };
  const { ghost, linkedOfferId = null } = stored.inputs;
  const isSameGhost = ghost === undefined || isSameList(decideGhost(input).offers, ghost.offers, ghost.scores);
  const { offers, emptyReason } = decide(input);
  if (stored.emptyReason === 'held_out')
    return { offers: [], emptyReason: isSameGhost ? 'held_out' : emptyReason, identical: isSameGhost };
  const ordered = withLinkedFirst(offers, linkedOfferId);
  const isSame = emptyReason === stored.emptyReason && isSameList(ordered, stored.offerIds, stored.scores);
  return { offers: ordered, emptyReason, identical: isSame && isSameGhost };
}

const isSameList = (offers: readonly DecidedOffer[], ids: readonly number[], scores: readonly number[]): boolean =>
  offers.length === ids.length &&
  offers.every(({ offer, score }, index) => offer.id === ids[index] && score === scores[index]);

/** Computes the propensities of a stored decision. */
export const propensitiesOf = ({ inputs }: StoredDecision, input: DecisionInput): Promise<Propensity> =>
  runInSlices(estimatePropensities(input, (offers) => withLinkedFirst(offers, inputs.linkedOfferId ?? null)));
