import { Type } from '@sinclair/typebox';
import { activeCapsOf, type LimitedTotal, ownTotals } from '../budgets/caps.ts';
import { findStandings, type Standing } from '../budgets/standing.ts';
import { type CampaignRules, capMetrics, capPeriods } from '../catalog/rules.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Snapshot } from '../catalog/types.ts';
import { rulesOfDraft } from '../decision/draft-rules.ts';
import type { Additions } from '../management/additions.ts';
import { orNull, type View } from '../management/resource.ts';
import type { Work } from '../management/unit-of-work.ts';

const amount = (description: string) => Type.Number({ description });

const usage = Type.Object(
  {
    publisher_id: orNull(Type.Integer(), {
      title: 'UsagePublisher',
      description: 'Whose own cap it is; null: over all publishers.',
    }),
    metric: Type.Union(capMetrics.map((metric) => Type.Literal(metric))),
    per: Type.Union(capPeriods.map((per) => Type.Literal(per))),
    limit: amount('Money in the payout currency for `budget`, else a count; so are the other amounts.'),
    spent: amount('Booked money, or what was counted.'),
    reserved: amount('What open answers may still take.'),
    unbilled: amount('Money that events would have paid, had it fitted.'),
    planned: orNull(Type.Number(), {
      title: 'PlannedUse',
      description: 'What the pacing plan has used by now; null: there is no plan.',
    }),
  },
  { title: 'CampaignUsage' },
);

/** What answers show of a campaign beside its row: where its budgets and total caps stand in their current periods. */
export const campaignAdditions = ({ catalog }: { catalog: Pick<CatalogStore, 'current'> }): Additions => ({
  fields: {
    usage: Type.Array(usage, {
      title: 'CampaignUsages',
      description: 'Its budgets and total caps, each in its current period. Not part of the ETag; ignored in a body.',
    }),
  },
  read: async (work, rows) => {
    const usages = await readUsages(catalog.current(), work, rows);
    return (row) => ({ usage: usages(row).map(usageView) });
  },
  warn: async () => [],
});

async function readUsages(
  snapshot: Snapshot,
  { executor, publisherId, nowMs }: Work,
  rows: readonly View[],
): Promise<(row: View) => readonly Standing[]> {
  const owner = snapshot.publishers.get(publisherId);
  const drafts = new Map(rows.map((row) => [Number(row.id), draftOf(row)]));
  // Caps of provisionings are not in the row.
  const provisioned = activeCapsOf(snapshot).totals.filter(
    (total) => total.publisherId !== null && drafts.has(total.campaignId),
  );
  const totals: LimitedTotal[] = [...drafts.values()].flatMap((draft) => ownTotals(draft, owner));
  const standings = await findStandings(executor, {
    ...{ totals: [...totals, ...provisioned], nowMs },
    rulesOf: (id) => {
      const draft = drafts.get(id);
      return draft === undefined ? null : rulesOfDraft(draft, owner?.timeZone ?? 'UTC');
    },
  });
  return (row) => standings.get(Number(row.id)) ?? [];
}

/** The row as far as budgets depend on it: also in the answer of the call that writes it. */
const draftOf = ({ id, rules, overspend_percent: overspendPercent, activated_at: activatedAt }: View) => ({
  id: Number(id),
  rules: rules as CampaignRules,
  overspendPercent: Number(overspendPercent),
  activatedAtMs: typeof activatedAt === 'string' ? Date.parse(activatedAt) : null,
});

const usageView = ({ publisherId, ...standing }: Standing) => ({ publisher_id: publisherId, ...standing });
