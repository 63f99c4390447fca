import { Type } from '@sinclair/typebox';
import { activeCapsOf, type LimitedTotal, ownTotals } from '../budgets/caps.ts';
import {
  type CampaignStanding,
  type DeliveryState,
  deliveryStateOf,
  deliveryStates,
  findStandings,
  type Standing,
} from '../budgets/standing.ts';
import {
  type CampaignGoal,
  type CampaignRules,
  capMetric,
  capPeriods,
  type PayoutKind,
  toGoal,
} from '../catalog/rules.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Campaign, Snapshot } from '../catalog/types.ts';
import { rulesOfDraft } from '../decision/draft-rules.ts';
import type { Model } from '../learning/model.ts';
import type { ModelSource } from '../learning/source.ts';
import type { Additions } from '../management/additions.ts';
import { orNull, type View } from '../management/resource.ts';
import { viewOf } from '../management/rows.ts';
import type { Work } from '../management/unit-of-work.ts';
import { toMicros } from '../platform/money.ts';
import { goalWarnings } from './goal-forecast.ts';
import { findHoldBacks, type HoldBack } from './goals.ts';
import type { RecentSessions } from './pages/campaigns/recent-sessions.ts';

const amount = (description: string) => Type.Number({ description });

const usage = Type.Object(
  {
    publisher_id: orNull(Type.Integer(), {
      title: 'UsagePublisher',
      description: 'Publisher that the cap applies to. `null` for caps that apply across all publishers.',
    }),
    metric: capMetric,
    per: Type.Union(capPeriods.map((per) => Type.Literal(per))),
    limit: amount(
      'Limit: an amount in the payout currency for `budget`, otherwise a count. This also applies to the other ' +
        'amounts.',
    ),
    spent: amount('Booked amount or count.'),
    reserved: amount('Part that is reserved for offers that were shown recently.'),
    unbilled: amount('Amount that was not booked because it exceeded the budget.'),
    remaining: amount('Part of the limit that is left.'),
    next_cost: amount('Price of the next paid event. With several publishers, the lowest price. 1 for counts.'),
    exhausted: Type.Boolean({ description: 'Whether too little of the limit is left for the next event.' }),
    planned: orNull(Type.Number(), {
      title: 'PlannedUse',
      description: 'Amount or count that the pacing plan allows by now. `null` without a plan.',
    }),
    projected: orNull(Type.Number(), {
      title: 'ProjectedUse',
      description:
        'Expected amount or count at the end of the day or month if usage continues at the same rate, but at most ' +
        'the limit. `null` for other periods, and at the start of a period.',
    }),
    reached_at: orNull(Type.String({ format: 'date-time' }), {
      title: 'LimitReachedTime',
      description:
        'Time when the limit is expected to be reached at the current rate. `null` if it is already reached, or is ' +
        'not expected to be reached before `period_ends_at`.',
    }),
    period_ends_at: orNull(Type.String({ format: 'date-time' }), {
      title: 'UsagePeriodEnd',
      description: 'End of the current period. `null` for lifetime caps.',
    }),
  },
  { title: 'CampaignUsage' },
);

const delivery = Type.Object(
  {
    percent: Type.Integer({
      description: 'Delivered part of the expected events, in percent. 100 before the plan expects any.',
    }),
    expected: Type.Integer({ description: 'Number of events that the plan expects by now.' }),
    delivered: Type.Integer({ description: 'Number of events delivered since `goal_since`.' }),
    on_track: Type.Boolean({ description: 'Whether at least 90% of the expected events were delivered.' }),
    held_back_by: Type.Array(
      Type.Object(
        {
          rule: Type.String({ description: 'Rule, named as in explanations of decisions.' }),
          share: amount('Share of the decisions of the last day, from 0 to 1.'),
        },
        { title: 'HoldBack' },
      ),
      {
        title: 'HoldBacks',
        description:
          'Rules that most often excluded the campaign, most frequent first. Empty while the campaign is on track.',
      },
    ),
  },
  { title: 'GoalProgress' },
);

type Sources = {
  catalog: CatalogStore;
  model: ModelSource;
  recent: RecentSessions;
};

/** Creates the fields that are added to campaigns in responses: the state of their budgets, total caps and goal. */
export const campaignAdditions = ({ catalog, model, recent }: Sources): Additions => ({
  fields: {
    usage: Type.Array(usage, {
      title: 'CampaignUsages',
      description:
        'Budgets and total caps in their current period. Read-only: not part of the ETag, and ignored in request ' +
        'bodies.',
    }),
    delivery_state: Type.Union(
      deliveryStates.map((state) => Type.Literal(state)),
      {
        title: 'DeliveryState',
        description:
          'State of the delivery. `exhausted`: too little of a budget or total cap is left for the next event (see ' +
          '`usage`). `limited`: shown less often because what is left is reserved for recently shown offers, ' +
          'because the campaign is ahead of its pacing plan, or because it is exhausted at some publishers. ' +
          'Read-only: not part of the ETag, and ignored in request bodies.',
      },
    ),
    delivery: orNull(delivery, {
      title: 'GoalDelivery',
      description:
        'Progress of the goal, or `null` without a goal. Read-only: not part of the ETag, and ignored in request ' +
        'bodies.',
    }),
  },
  read: async (work, rows) => {
    const standings = await readStandings({ snapshot: catalog.current(), model: model.current() }, work, rows);
    const holdBacks = new Map<View, readonly HoldBack[]>();
    for (const row of rows)
      if (standings(row)?.delivery?.onTrack === false)
        holdBacks.set(
          row,
          await findHoldBacks(work.executor, { id: Number(row.id), publisherId: work.publisherId }, work.nowMs),
        );
    const stateOf = statesIn(catalog.current(), work.nowMs);
    return (row) => ({
      delivery_state: stateOf(row, standings(row)?.limits ?? []),
      ...standingView(standings(row), holdBacks.get(row) ?? []),
    });
  },
  filters: {
    delivery_state: {
      values: deliveryStates,
      findIds: async (work, value) => {
        const rows = await readStatusRows(work);
        const snapshot = catalog.current();
        const standings = await readStandings({ snapshot, model: model.current() }, work, rows);
        const stateOf = statesIn(snapshot, work.nowMs);
        return rows.filter((row) => stateOf(row, standings(row)?.limits ?? []) === value).map(({ id }) => Number(id));
      },
    },
  },
  warn: async (work, row) => {
    if (row.goal === null) return [];
    const sources = { snapshot: catalog.current(), model: model.current() };
    const publisher = sources.snapshot.publishers.get(work.publisherId);
    const standings = await readStandings(sources, work, [row]);
    return publisher === undefined
      ? []
      : goalWarnings(row, standings(row)?.delivery?.delivered ?? 0, { ...sources, recent, publisher }, work.nowMs);
  },
});

/** Returns a campaign, or undefined if it has no offers. */
const campaignIn = ({ offersByCampaign }: Snapshot, id: number): Campaign | undefined =>
  offersByCampaign.get(id)?.[0]?.campaign;

async function readStandings(
  { snapshot, model }: { snapshot: Snapshot; model: Model },
  { executor, publisherId, nowMs }: Work,
  rows: readonly View[],
): Promise<(row: View) => CampaignStanding | undefined> {
  const owner = snapshot.publishers.get(publisherId);
  const drafts = new Map(rows.map((row) => [Number(row.id), draftOf(row, campaignIn(snapshot, Number(row.id)))]));
  // Caps of provisionings are not stored in the campaign row, so take them from the snapshot.
  const provisioned = activeCapsOf(snapshot).totals.filter(
    (total) => total.publisherId !== null && drafts.has(total.campaignId),
  );
  const totals: LimitedTotal[] = [...drafts.values()].flatMap((draft) => ownTotals(draft, owner));
  const standings = await findStandings(executor, {
    totals: [...totals, ...provisioned],
    nowMs,
    model,
    rulesOf: (id) => {
      const draft = drafts.get(id);
      return draft === undefined ? null : rulesOfDraft(draft, owner?.timeZone ?? 'UTC');
    },
  });
  return (row) => standings.get(Number(row.id));
}

/**
 * Returns the parts of a campaign row that determine its budgets and goal. Also used for the response to a call that
 * writes the row.
 */
const draftOf = (
  { id, rules, overspend_percent: overspendPercent, activated_at: activatedAt, ...row }: View,
  campaign: Campaign | undefined,
) => ({
  id: Number(id),
  provisions: campaign?.provisions ?? new Map(),
  rules: rules as CampaignRules,
  overspendPercent: Number(overspendPercent),
  goal: toGoal(row.goal as CampaignGoal | null, row.goal_since as string | null),
  activatedAtMs: typeof activatedAt === 'string' ? Date.parse(activatedAt) : null,
  payout: {
    kind: row.payout_kind as PayoutKind,
    amountMicros: toMicros(Number(row.payout_amount)),
    currency: String(row.payout_currency),
  },
});

/**
 * Returns a function that computes the delivery state of a campaign row. It takes the advertiser's kill switch from the
 * snapshot, because the row does not contain it.
 */
function statesIn(snapshot: Snapshot, nowMs: number): (row: View, limits: readonly Standing[]) => DeliveryState {
  return (row, limits) => {
    const campaign = campaignIn(snapshot, Number(row.id));
    const provisions = [...(campaign?.provisions.values() ?? [])];
    const status = {
      active: row.active === true,
      isRemoved: row.deleted_at !== null,
      isStopped: row.stopped === true || campaign?.stopped === 'advertiser',
      schedule: (row.rules as CampaignRules).schedule ?? {},
      publisherIds: provisions.flatMap(({ publisherId, active }) => (active ? publisherId : [])),
    };
    return deliveryStateOf(status, limits, nowMs);
  };
}

/** Reads a publisher's campaigns with the columns that determine their delivery states. */
async function readStatusRows({ executor, publisherId }: Work): Promise<View[]> {
  const { rows } = await executor.query<View>(
    `select id, active, deleted_at, stopped_at is not null as stopped, overspend_percent, activated_at,
      payout_kind, payout_amount, payout_currency, null as goal, null as goal_since,
      jsonb_strip_nulls(jsonb_build_object('schedule', rules->'schedule', 'pacing', rules->'pacing',
        'total_caps', rules->'total_caps')) as rules
    from campaigns where publisher_id = $1`,
    [publisherId],
  );
  return rows.map(viewOf);
}

const standingView = (
  { limits, delivery: reached }: CampaignStanding = { limits: [], delivery: null },
  holdBacks: readonly HoldBack[],
) => ({
  usage: limits.map(usageView),
  delivery: reached && {
    percent: reached.percent,
    expected: reached.expected,
    delivered: reached.delivered,
    on_track: reached.onTrack,
    held_back_by: holdBacks,
  },
});

const usageView = ({ publisherId, nextCost, reachedMs, endMs, curve: _curve, ...standing }: Standing) => ({
  publisher_id: publisherId,
  next_cost: nextCost,
  reached_at: reachedMs === null ? null : new Date(reachedMs).toISOString(),
  period_ends_at: endMs === null ? null : new Date(endMs).toISOString(),
  ...standing,
});
