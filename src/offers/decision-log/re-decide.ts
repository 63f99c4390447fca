import { decide } from '../../decision/decide.ts';
import { estimatePropensities, type Propensity } from '../../decision/explain/propensity.ts';
import {
  type Decision,
  type DecisionContext,
  type DecisionInput,
  noPosteriors,
  type UserHistory,
} from '../../decision/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import { platformOf } from '../context/user-agent.ts';
import type { DecisionParts } from '../fetch/sessions.ts';
import { seedOf, withLinkedFirst } from './seed.ts';
import { catalogueId, findState, unpackCatalogue, unpackModel } from './states.ts';
import type { StoredInputs } from './stored-inputs.ts';

/** A decision as its session keeps it. */
export type StoredDecision = {
  sessionId: string;
  createdAtMs: number;
  seed: number;
  snapshotVersion: number;
  offerIds: readonly number[];
  campaignIds: readonly number[];
  scores: readonly number[];
  emptyReason: string | null;
  inputs: StoredInputs;
  publisherId: number;
  themeId: number | null;
  context: DecisionContext;
};

type Row = {
  publisher_id: number;
  placement: string;
  theme_id: number | null;
  user_key: string | null;
  country: string | null;
  region: string | null;
  city: string | null;
  device: string | null;
  os: string | null;
  browser: string | null;
  custom: Record<string, string> | null;
  dev: boolean;
  created_ms: number;
  offer_ids: number[];
  campaign_ids: number[];
  /** JSON. */
  decision: string | null;
  empty_reason: string | null;
  decision_inputs: string | null;
};

/** @returns null when the publisher has no such session, or one without a decision */
export async function findDecision(
  executor: Executor,
  publisherId: number,
  sessionId: string,
): Promise<StoredDecision | null> {
  const { rows } = await executor.query<Row>({
    name: 'find_decision',
    text: `select publisher_id, placement, theme_id, user_key, country, region, city, device, os, browser, custom, dev, offer_ids, campaign_ids,
      decision, empty_reason, decision_inputs,
      round(extract(epoch from created_at) * 1000)::float8 as created_ms
    from sessions where day = $1::date and id = $2::uuid and publisher_id = $3`,
    values: [dayOfUuid7(sessionId), sessionId, publisherId],
  });
  const [row] = rows;
  return row === undefined || row.decision === null
    ? null
    : toDecision(sessionId, row, JSON.parse(row.decision) as DecisionParts);
}

function toDecision(sessionId: string, row: Row, [version, scores]: DecisionParts): StoredDecision {
  const inputs = JSON.parse(row.decision_inputs ?? '{}') as StoredInputs;
  return {
    sessionId,
    createdAtMs: row.created_ms,
    seed: seedOf(sessionId),
    snapshotVersion: version,
    offerIds: row.offer_ids,
    campaignIds: row.campaign_ids,
    scores,
    emptyReason: row.empty_reason,
    inputs,
    publisherId: row.publisher_id,
    themeId: row.theme_id,
    context: toContext(row, inputs),
  };
}

const toContext = (row: Row, inputs: StoredInputs): DecisionContext => ({
  surface: inputs.wall ? 'offerwall' : 'unit',
  placement: row.placement,
  platform: platformOf(row.os ?? 'other'),
  device: row.device,
  os: row.os,
  browser: row.browser,
  geo: {
    country: row.country,
    region: row.region,
    city: row.city,
    postalCode: inputs.postalCode ?? null,
    timeZone: inputs.timeZone ?? null,
  },
  custom: new Map(Object.entries(row.custom ?? {})),
  nowMs: row.created_ms,
  userKey: row.user_key,
  loyalty: inputs.loyalty ?? 'none',
  onlyWithCreative: inputs.onlyWithCreative ?? false,
  campaignId: inputs.campaignId ?? null,
  count: inputs.count ?? null,
  dev: row.dev,
});

/** What a stored decision was made of; null when a part of it is not kept any more. */
export async function inputOf(executor: Executor, stored: StoredDecision): Promise<DecisionInput | null> {
  const { inputs, context, seed } = stored;
  const catalogue = await findState(executor, catalogueId(stored.snapshotVersion));
  const model = inputs.model === undefined ? null : await findState(executor, inputs.model);
  if (catalogue === null || (inputs.model !== undefined && model === null)) return null;
  const publisher = (await unpackCatalogue(catalogue)).publishers.get(stored.publisherId);
  if (publisher === undefined) return null;
  const history: UserHistory = { optOuts: inputs.optOuts ?? {}, exposures: inputs.exposures ?? [] };
  return {
    publisher,
    theme: stored.themeId === null ? null : (publisher.themes.get(stored.themeId) ?? null),
    context,
    history,
    totals: new Map(inputs.totals ?? []),
    posteriors: model === null ? noPosteriors : await unpackModel(model),
    seed,
  };
}

/** Makes a decision again. One whose deadline had passed showed nothing, whatever it would have been. */
export function replay(stored: StoredDecision, input: DecisionInput): Decision & { identical: boolean } {
  if (stored.emptyReason === 'deadline')
    return { offers: [], emptyReason: null, identical: stored.offerIds.length === 0 };
  const { offers, emptyReason } = decide(input);
  const shown = withLinkedFirst(offers, stored.inputs.first ?? null);
  const identical =
    emptyReason === stored.emptyReason &&
    shown.length === stored.offerIds.length &&
    shown.every(({ offer, score }, at) => offer.id === stored.offerIds[at] && score === stored.scores[at]);
  return { offers: shown, emptyReason, identical };
}

/** The propensities of a stored decision. */
export const propensitiesOf = ({ inputs }: StoredDecision, input: DecisionInput): Promise<Propensity> =>
  runInSlices(estimatePropensities(input, (offers) => withLinkedFirst(offers, inputs.first ?? null)));
