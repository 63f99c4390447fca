import type { PublisherContext } from '../../../catalog/pages.ts';
import { shownOutcome } from '../../../decision/campaign-outcomes.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { badge, collapsedCard, link, table } from '../../../shell/components.ts';
import { percent } from '../../../shell/format.ts';
import { outcomeText } from '../../outcome-text.ts';
import { findOutcomes, outcomesKeptMs } from '../../request-log/outcomes.ts';

/**
 * Renders the card with the outcomes of a campaign's decisions: the share of each outcome over the last 24 hours and
 * the last 7 days. The card is open if the campaign was never shown in this time.
 */
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
    const total = outcomes.reduce((sum, row) => row.decisions + sum, 0);
    return (outcome: string): string => {
      const decisions = outcomes.find((row) => row.outcome === outcome)?.decisions ?? 0;
      return total === 0 ? '–' : percent(decisions / total);
    };
  };
  const [ofDay, ofWeek] = [shareIn(day), shareIn(week)];
  const rows = week.map(({ outcome }) => [
    outcome === shownOutcome ? badge(t('campaigns.outcome_shown'), 'good') : outcomeText(outcome),
    ofDay(outcome),
    ofWeek(outcome),
  ]);
  const columns = [
    { text: t('campaigns.firstFailing') },
    { text: t('campaigns.day'), numeric: true },
    { text: t('campaigns.week'), numeric: true },
  ];
  const why = (text: Html) => link(path(`/why?campaign=${campaignId}`), text);
  return collapsedCard(
    t('campaigns.whyNotShown'),
    rows.length === 0
      ? html`<p class="hint">${t('campaigns.noDecision')}</p>`
      : table(t('campaigns.outcomes'), columns, rows),
    {
      lead: tHtml('campaigns.outcomesLead', { a: why }),
      isOpen: week.length > 0 && week.every(({ outcome }) => outcome !== shownOutcome),
    },
  );
}
