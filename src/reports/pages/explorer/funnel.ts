import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Config } from '../../../config.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { card, rowsLink, table } from '../../../shell/components.ts';
import { count, percent } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';
import type { PageResult } from '../../../shell/pages.ts';
import type { Metrics } from '../../metrics.ts';
import type { CountPerkStages, PerkStages } from '../../perk-stages.ts';
import { readRange } from '../../query/query.ts';
import { unknownValue } from '../../query/source.ts';
import type { ExploreQuery } from '../../query/types.ts';
import type { ReportService } from '../../service.ts';
import { exploreQueryOf, type ReportQuestion } from './answer.ts';
import { periodsOf, rangeText } from './periods.ts';
import { type ExplorerState, queryOf } from './state.ts';

/** URL path of the perk funnel card, which is loaded after the page itself. */
export const funnelPath = '/reports/funnel';

/**
 * Renders a placeholder, which loads the perk funnel card later so that it does not delay the page. Renders nothing if
 * the publisher has no perks.
 */
export const funnelCard = ({ publisher, path }: PublisherContext, state: ExplorerState): Html =>
  publisher.uspEnabled
    ? html`<div hx-get="${path(funnelPath)}${queryOf(state)}" hx-trigger="load" hx-target="this" hx-select="unset"
        hx-swap="outerHTML"></div>`
    : nothing;

type FunnelScope = {
  deps: { config: Config };
  reports: ReportService;
  countPerkStages: CountPerkStages;
};

/**
 * Renders the perk funnel of sessions: shown → selected → confirmed → delivered. It has the same range and filters as
 * the report.
 */
export async function funnelFragment(
  { deps, reports, countPerkStages }: FunnelScope,
  context: PublisherContext,
  question: ReportQuestion,
): Promise<PageResult> {
  const { nowMs, publisher } = question;
  const state: ExplorerState = { ...question.state, by: 'time', interval: 'day', compare: 'none' };
  try {
    const periods = periodsOf(state, publisher.timeZone, nowMs);
    const base = exploreQueryOf({ ...question, state }, periods);
    if ('text' in base) return { fragment: nothing };
    const query: ExploreQuery = { ...base, metrics: ['sessions', 'filled_sessions'] };
    const { signal } = context.request;
    const [{ total }, perks] = await Promise.all([
      reports.explore(query, signal),
      reports.readRaw(publisher.id, (executor) => perkStagesOf(executor, query, countPerkStages), signal),
    ]);
    const keptFromMs = nowMs - deps.config.retentionRawDays * dayMs;
    const isPartly = Date.parse(periods.days.from) < keptFromMs;
    const days = rangeText(periods.days);
    const lead = isPartly
      ? t('reports.funnelLeadPartly', { days, kept: deps.config.retentionRawDays })
      : t('reports.funnelLead', { days });
    const rowsOf: RowsOfStage = (metric, value) =>
      rowsLink(context.path, count(value), { metric, days: periods.days, filters: state.filters });
    return { fragment: card(t('reports.funnel'), funnel(total.now, perks, rowsOf), { lead }) };
  } catch (err) {
    if (err instanceof AppError && err.status === 400) return { fragment: nothing };
    throw err;
  }
}

/** Counts the sessions at each stage of the perk funnel for the range and filters of a report. */
export async function perkStagesOf(
  executor: Executor,
  query: ExploreQuery,
  countPerkStages: CountPerkStages,
): Promise<PerkStages> {
  const { start, end } = await readRange(executor, { ...query.days, timeZone: query.timeZone });
  const { campaign, offer, ...texts } = query.filters;
  const filters = Object.entries(texts).map(([name, values]) => [
    name,
    values?.map((value) => (value === unknownValue ? '' : String(value))),
  ]);
  const { publisherId, customKey: key, customValues: values } = query;
  return countPerkStages(executor, {
    publisherId,
    fromMs: start.getTime(),
    untilMs: end.getTime(),
    texts: Object.fromEntries(filters),
    campaigns: campaign?.map(Number) ?? null,
    offers: offer?.map(Number) ?? null,
    attribute: key === null || values === null ? null : { key, values },
  });
}

/** Renders a number of sessions as a link to them. */
type RowsOfStage = (metric: string, value: number) => Html;

function funnel(
  { sessions, filled_sessions: filled }: Metrics,
  { selected, confirmed, delivered }: PerkStages,
  rowsOf: RowsOfStage,
): Html {
  const all: readonly { metric: string; text: string; value: number }[] = [
    { metric: 'sessions', text: t('metrics.sessions'), value: sessions },
    { metric: 'filled_sessions', text: t('reports.stageShown'), value: filled },
    { metric: 'perks_selected', text: t('reports.stageSelected'), value: selected },
    { metric: 'perks_confirmed', text: t('reports.stageConfirmed'), value: confirmed },
    { metric: 'perks_delivered', text: t('reports.stageDelivered'), value: delivered },
  ];
  const stages = all.filter(({ value }) => !Number.isNaN(value));
  const most = Math.max(...stages.map(({ value }) => value), 1);
  const ofBefore = (index: number): string => {
    const [before, value] = [stages[index - 1]?.value ?? 0, stages[index]?.value ?? 0];
    return before === 0 ? '–' : percent(value / before);
  };
  const bar = ({ metric, text, value }: (typeof stages)[number], index: number): Html => html`
    <li>
      <span>${text}</span>
      <span>
        <svg aria-hidden="true">
          <rect class="now" width="${((value / most) * 100).toFixed(2)}%" height="100%" rx="3"/>
        </svg>
      </span>
      <span class="numeric">${rowsOf(metric, value)} ${index > 0 && html`<small>${ofBefore(index)}</small>`}</span>
    </li>`;
  return html`
    <ul class="bars short" aria-label="${t('reports.funnel')}">${stages.map(bar)}</ul>
    ${moreFields(
      t('layout.showAsTable'),
      table(
        t('reports.funnel'),
        [
          { text: t('reports.stage') },
          { text: t('metrics.sessions'), numeric: true },
          { text: t('reports.ofStageBefore'), numeric: true },
          { text: t('reports.ofAll'), numeric: true },
        ],
        stages.map(({ metric, text, value }, index) => [
          text,
          rowsOf(metric, value),
          index === 0 ? '–' : ofBefore(index),
          sessions > 0 ? percent(value / sessions) : '–',
        ]),
      ),
    )}`;
}
