import { shownOutcome } from '../../../decision/explain/campaign-outcomes.ts';
import { findOutcomes, outcomesKeptMs } from '../../../offers/outcomes/store.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { badge, card, link, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { percent } from '../../shell/format.ts';

const texts: Record<string, string> = {
  [shownOutcome]: 'Shown',
  campaign_paused: 'Campaign paused',
  offer_paused: 'Offer paused',
  provisioning_paused: 'Switched off for this publisher',
  rules_invalid: 'Rules invalid',
  unit_off: 'Unit switched off',
  percentage: 'User not in the share that gets offers',
  campaign_id: 'Another campaign was asked for',
  loyalty_not_wanted: 'Incentive offers not wanted',
  loyalty_only: 'Only incentive offers wanted',
  no_creative: 'No image',
  not_on_offerwall: 'Not enabled for the offerwall',
  no_identity: 'Unknown user',
  targeting: 'Targeting',
  not_started: 'Not started',
  ended: 'Ended',
  hours: 'Outside of its hours',
  conditions: 'Custom attributes do not match',
  opted_out: 'User opted out',
  frequency_cap: 'Frequency cap reached',
  total_cap: 'Total cap or budget used',
  pacing: 'Ahead of its pacing plan',
  same_campaign: 'Another offer of the campaign shown',
  same_advertiser: 'Another campaign of the advertiser shown',
  exclusion_group: 'Excluded by another campaign of its group',
  sequence_denied: 'Denied by a sequence rule',
  sequence_reserved: 'Position reserved by sequence rules',
  positions_filled: 'Better offers took all positions',
};

/** Shares of decisions by outcome over the last 24 hours and 7 days. */
export async function outcomesCard(
  executor: Executor,
  { publisher, path }: PublisherContext,
  campaignId: number,
  nowMs: number,
): Promise<Html> {
  const since = (lengthMs: number) =>
    findOutcomes(executor, { publisherId: publisher.id, campaignId, sinceMs: nowMs - lengthMs });
  const [week, day] = [await since(outcomesKeptMs), await since(dayMs)];
  const shareIn = (outcomes: typeof week) => {
    const total = outcomes.reduce((sum, one) => one.decisions + sum, 0);
    return (outcome: string): string => {
      const decisions = outcomes.find((one) => one.outcome === outcome)?.decisions ?? 0;
      return total === 0 ? '–' : percent(decisions / total);
    };
  };
  const [ofDay, ofWeek] = [shareIn(day), shareIn(week)];
  const rows = week.map(({ outcome }) => [
    outcome === shownOutcome ? badge('Shown', 'good') : (texts[outcome] ?? outcome),
    ofDay(outcome),
    ofWeek(outcome),
  ]);
  const columns = [
    { text: 'First failing rule' },
    { text: '24 hours', numeric: true },
    { text: '7 days', numeric: true },
  ];
  const why = link(path(`/why?campaign=${campaignId}`), 'Ask for one visitor');
  return card(
    'Why it was not shown',
    rows.length === 0 ? html`<p class="hint">No decision yet.</p>` : table('Outcomes of decisions', columns, rows),
    { lead: html`Share of decisions of this publisher, estimated from a sample. ${why}.` },
  );
}
