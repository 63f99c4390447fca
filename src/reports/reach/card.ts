import type pg from 'pg';
import type { PublisherContext } from '../../catalog/pages.ts';
import type { Snapshot } from '../../catalog/types.ts';
import { AppError } from '../../platform/errors.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { wordProblem } from '../../platform/problem.ts';
import { card, table } from '../../shell/components.ts';
import { count, decimal, percent } from '../../shell/format.ts';
import { moreFields } from '../../shell/forms.ts';
import type { PageResult, Pages } from '../../shell/pages.ts';
import { exploreQueryOf } from '../pages/explorer/answer.ts';
import { type Names, namesOf, valueText } from '../pages/explorer/names.ts';
import { periodsOf, rangeText } from '../pages/explorer/periods.ts';
import { type ExplorerState, queryOf, readState } from '../pages/explorer/state.ts';
import type { ActivityQuery } from '../query/types.ts';
import type { ReportService } from '../service.ts';
import { frequencyOf } from '../view.ts';
import { countFrequency, countOverlap, type Frequency, manyImpressions, type Overlap } from './spread.ts';

const reachPath = '/reports/reach';

/** Number of campaigns or pairs in the overlap table. */
const maxOverlaps = 10;

/** Renders a placeholder that loads the card with unique users after the page, so that counting does not delay it. */
export const reachCard = ({ path }: PublisherContext, state: ExplorerState): Html => html`
  <div hx-get="${path(reachPath)}${queryOf(state)}" hx-trigger="load" hx-target="this" hx-select="unset"
    hx-swap="outerHTML"></div>`;

type ReachPageDeps = {
  pool: pg.Pool;
  catalog: { current: () => Snapshot };
  now: () => number;
  reports: ReportService;
};

/** Registers the card with unique users, which has the same range and filters as the report. */
export function reachPages(pages: Pages<PublisherContext>, deps: ReachPageDeps): void {
  pages.get(reachPath, 'analyst', (context) => reachFragment(deps, context));
}

async function reachFragment(
  { catalog, now, reports }: ReachPageDeps,
  { request, publisher }: PublisherContext,
): Promise<PageResult> {
  const urlState = readState(request.query as Record<string, unknown>);
  const state: ExplorerState = { ...urlState, by: 'time', also: [], interval: 'day', compare: 'none' };
  const names = namesOf(catalog.current(), publisher);
  const nowMs = now();
  try {
    const periods = periodsOf(state, publisher.timeZone, nowMs);
    const explored = exploreQueryOf({ state, publisher, names, nowMs }, periods);
    if ('text' in explored) return { fragment: nothing };
    const query: ActivityQuery = { ...explored, ...periods.days, groupBy: [], aggregatedBy: 'day', buckets: 'day' };
    const of = query.filters.campaign?.length === 1 ? Number(query.filters.campaign[0]) : null;
    const { campaign: _, ...others } = query.filters;
    const fromDay = await reports.usersFromDay(query);
    const since = fromDay === null ? nothing : sinceText(fromDay);
    if (fromDay !== null && query.from < fromDay) return { fragment: card(t('reach.title'), since) };
    const forOverlap = of === null ? query : { ...query, filters: others };
    const [frequency, overlap] = await reports.readUsers(
      query,
      async (executor, source) =>
        [
          await countFrequency(executor, query, source),
          await countOverlap(executor, forOverlap, { source, limit: maxOverlaps, of }),
        ] as const,
      request.signal,
    );
    if (frequency.users === 0 && frequency.unknown === 0) return { fragment: nothing };
    const details = html`${distribution(frequency)}${overlaps(overlap, of, names)}`;
    const body = html`${tiles(frequency)}${moreFields(t('reach.details'), details)}${since}`;
    return { fragment: card(t('reach.title'), body, { lead: t('reach.lead', { days: rangeText(periods.days) }) }) };
  } catch (err) {
    if (err instanceof AppError && err.status === 400) {
      const text = wordProblem(err.details?.[0]?.message ?? err.problem);
      return { fragment: card(t('reach.title'), html`<p class="hint">${text}</p>`) };
    }
    throw err;
  }
}

/** Renders the first day for which users can be counted. */
const sinceText = (day: string): Html =>
  html`<p class="hint">${t('reach.since', { day: rangeText({ from: day, to: day }) })}</p>`;

function tiles(frequency: Frequency): Html {
  const tile = (text: string, value: string) =>
    html`<div class="stat"><span>${text}</span><strong>${value}</strong></div>`;
  const { users, unknown, isExact } = frequency;
  return html`
    <div class="stats">
      ${tile(t('metrics.reach'), count(users))}
      ${tile(t('metrics.frequency'), users === 0 ? '–' : decimal(frequencyOf(frequency)))}
      ${unknown > 0 && tile(t('reach.unknownImpressions'), count(unknown))}
    </div>
    <p class="hint">${isExact ? t('reach.exact') : t('reach.estimated')}</p>`;
}

/** Returns the label for a number of impressions, such as `1` or `10+`. */
const timesText = (impressions: number): string =>
  impressions === manyImpressions ? `${count(impressions)}+` : count(impressions);

function distribution({ distribution: parts, users: all, isExact }: Frequency): Html {
  if (all === 0) return html`<p class="hint">${t('reach.noUsers')}</p>`;
  const most = Math.max(...parts.map(({ users }) => users), 1);
  const bar = ({ impressions, users }: Frequency['distribution'][number]) => html`
    <li>
      <span>${t('reach.times', { impressions, text: timesText(impressions) })}</span>
      <span>
        <svg aria-hidden="true">
          <rect class="now" width="${((users / most) * 100).toFixed(2)}%" height="100%" rx="3"/>
        </svg>
      </span>
      <span class="numeric">${count(users)} <small>${percent(users / all)}</small></span>
    </li>`;
  return html`
    <h3>${t('reach.distribution')}</h3>
    <ul class="bars short" aria-label="${t('reach.distribution')}">${parts.map(bar)}</ul>
    ${moreFields(
      t('layout.showAsTable'),
      table(
        t('reach.distribution'),
        [
          { text: t('reach.impressionsPerUser') },
          { text: t('reach.users'), numeric: true },
          { text: t('reach.share'), numeric: true },
          ...(isExact ? [] : [{ text: t('reach.margin'), hint: t('reach.marginHint'), numeric: true }]),
        ],
        parts.map(({ impressions, users, margin }) => [
          timesText(impressions),
          count(users),
          percent(users / all),
          ...(isExact ? [] : [`± ${count(margin)}`]),
        ]),
      ),
    )}`;
}

/** Renders the overlap table: pairs of campaigns, or a single campaign compared with each other campaign. */
function overlaps({ campaigns, pairs }: Overlap, of: number | null, names: Names): Html {
  const overlapping = pairs.filter(({ users }) => users > 0).slice(0, maxOverlaps);
  if (overlapping.length === 0) return nothing;
  const usersOf = new Map(campaigns.map(({ campaign, users }) => [campaign, users]));
  const nameOf = (campaign: number): string => valueText(names, 'campaign', String(campaign));
  const shareOf = (users: number, campaign: number): string =>
    percent(Math.min(1, users / Math.max(1, usersOf.get(campaign) ?? 0)));
  const both = ({ users, margin }: Overlap['pairs'][number]): string =>
    margin === 0 ? count(users) : `${count(users)} ± ${count(margin)}`;
  const heading = of === null ? t('reach.overlap') : t('reach.overlapOf', { campaign: nameOf(of) });
  const columns =
    of === null
      ? [{ text: t('dimensions.campaign') }, { text: t('reach.otherCampaign') }]
      : [{ text: t('reach.otherCampaign') }, { text: t('metrics.reach'), numeric: true }];
  return html`
    <h3>${heading}</h3>
    ${table(
      heading,
      [
        ...columns,
        { text: t('reach.both'), numeric: true },
        { text: of === null ? t('reach.shareOfFirst') : t('reach.shareOfThis'), numeric: true },
        { text: of === null ? t('reach.shareOfSecond') : t('reach.shareOfOther'), numeric: true },
      ],
      overlapping.map((pair) => {
        const [first, second] = pair.campaigns;
        return [
          ...(of === null ? [nameOf(first), nameOf(second)] : [nameOf(second), count(usersOf.get(second) ?? 0)]),
          both(pair),
          shareOf(pair.users, first),
          shareOf(pair.users, second),
        ];
      }),
    )}`;
}
