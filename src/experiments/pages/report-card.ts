import { isOwnKind } from '../../catalog/event-kinds.ts';
import type { PublisherContext } from '../../catalog/pages.ts';
import { holdoutArm } from '../../catalog/types.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import {
  badge,
  type Cell,
  card,
  drawnChart,
  linkButton,
  notice,
  type RowsTarget,
  rowsLink,
  type Tone,
  table,
  tabs,
} from '../../shell/components.ts';
import { hasRole } from '../../shell/context.ts';
import { count, decimal, momentText, moneyFormat, percent, utc } from '../../shell/format.ts';
import { moreFields } from '../../shell/forms.ts';
import { adoptableArms } from '../configuration/adopt.ts';
import type { ExperimentView } from '../configuration/view.ts';
import type { ExperimentReport } from '../report/report.ts';
import type { Population } from '../report/sums.ts';
import {
  changesInWords,
  daysLeftText,
  detailOf,
  headlineOf,
  inWords,
  liftText,
  probabilitiesOf,
  probabilityText,
  warningsOf,
  winnerOf,
} from './words.ts';

type OfExperiment = { experiment: ExperimentView; href: string };

const tones: Record<ExperimentView['state'], Tone> = {
  draft: 'plain',
  scheduled: 'info',
  running: 'good',
  stopped: 'plain',
  ended: 'plain',
};

/** Renders the state of an experiment, or the arm that was made permanent. */
export const stateBadge = ({ state, adopted }: ExperimentView): Html =>
  adopted === null
    ? badge(t(`experiments.${state}State`), tones[state])
    : badge(t('experiments.isPermanent', { arm: adopted.arm }), 'info');

const verdict = (experiment: ExperimentView, headline: string, detail: string): Html => html`
  <div class="verdict">
    ${stateBadge(experiment)}
    <h2>${headline}</h2>
    ${detail !== '' && html`<p class="hint">${detail}</p>`}
  </div>`;

/** Renders the state and the design of an experiment that has not run yet. */
export function designCard({ publisher }: PublisherContext, experiment: ExperimentView): Html {
  const { state, start_at: start } = experiment;
  const headline =
    state === 'scheduled' && start !== null
      ? t('experiments.startsAt', { at: momentText(publisher, Date.parse(start)) })
      : t(state === 'ended' ? 'experiments.neverStarted' : 'experiments.notStarted');
  return html`<section class="card">${verdict(experiment, headline, inWords(experiment, publisher))}</section>`;
}

/** Renders the results of each arm. Admins also get a button to make an arm permanent. */
export function reportCard(context: PublisherContext, report: ExperimentReport, of: OfExperiment): Html {
  const { experiment } = of;
  const { state } = experiment;
  const rowsOf = rowsOfArms(context, experiment);
  return html`
    <section class="card">
      <div class="findings">
        ${verdict(experiment, headlineOf(report, state), detailOf(report, state))}
        ${warningsOf(report).map((text) => notice('warn', html`<p>${text}</p>`))}
        ${tiles(report, rowsOf)}
        ${versionTabs(report, of)} ${populationTabs(report, of)}
        ${armsTable(context, report, experiment, rowsOf)}
        ${currencyNote(report)}
        ${decisions(context, report, of)}
        <p class="hint">
          ${t('experiments.intervals')} ${t('experiments.capped')} ${t('experiments.rowsHint')}
          ${report.erased_users > 0 && t('experiments.erased', { count: report.erased_users })}
        </p>
        ${moreFields(t('experiments.allMetrics'), metricsTable(report, rowsOf))}
      </div>
    </section>`;
}

/**
 * Renders a number as a link to the rows that it is computed from. The sessions of an arm have a custom attribute with
 * the name of the arm. Sessions outside the experiment have none, so their numbers have no links.
 */
export type RowsOfArms = (
  arms: readonly string[],
  metric: string,
  value: Html | string,
  filters?: RowsTarget['filters'],
) => Html | string;

export const rowsOfArms =
  ({ path }: PublisherContext, { key, arms: current, versions }: ExperimentView): RowsOfArms =>
  (names, metric, value, filters = {}) => {
    const armKeys = new Set([
      holdoutArm,
      ...[{ arms: current }, ...versions].flatMap(({ arms }) => arms.map((arm) => arm.key)),
    ]);
    const arms = names.filter((name) => armKeys.has(name));
    if (arms.length === 0) return value;
    return rowsLink(path, value, {
      metric,
      range: '90d',
      filters: { ...filters, [`custom.experiment.${key}`]: arms },
    });
  };

/** Renders tiles with the progress of the experiment. */
function tiles(report: ExperimentReport, rowsOf: RowsOfArms): Html {
  const { users_counted: users, users_needed: needed, smallest_lift: lift, explained_by_history: explained } = report;
  const armNames = report.arms.map(({ arm }) => arm);
  const tile = (label: string, value: Html | string, hint: string): Html =>
    html`<div class="stat"><span>${label}</span><strong>${value}</strong><small class="hint">${hint}</small></div>`;
  const isWaiting = report.state === 'running' && !report.is_enough;
  const goal =
    needed === null || report.is_enough ? '' : t('experiments.needed', { users: count(needed), lift: percent(lift) });
  return html`
    <div class="stats">
      ${tile(t('experiments.userCount'), rowsOf(armNames, 'sessions', count(users)), goal)}
      ${isWaiting && tile(t('experiments.daysLeft'), daysLeftText(report.days_left), '')}
      ${tile(t('experiments.historyShare'), percent(Math.round(explained * 100) / 100), t('experiments.historyHint'))}
    </div>`;
}

/** Renders tabs for the experiment's versions. Each version has separate results. */
function versionTabs({ version, population }: ExperimentReport, { experiment, href }: OfExperiment): Html {
  if (experiment.versions.length < 2) return nothing;
  const entries = experiment.versions.slice(-maxVersionTabs).map((entry) => ({
    text: t('experiments.version', { version: entry.version }),
    current: entry.version === version,
    href: `${href}?version=${entry.version}&population=${population}`,
  }));
  return tabs(t('experiments.versions'), entries);
}

const maxVersionTabs = 6;

function populationTabs({ version, population }: ExperimentReport, { href }: OfExperiment): Html {
  const entry = (option: Population, text: string) => ({
    text,
    href: `${href}?version=${version}&population=${option}`,
    current: population === option,
  });
  return tabs(t('experiments.population'), [
    entry('would_have_seen', t('experiments.ofThose')),
    entry('all', t('experiments.ofAll')),
  ]);
}

function armsTable(
  { publisher }: PublisherContext,
  report: ExperimentReport,
  { arms, versions }: ExperimentView,
  rowsOf: RowsOfArms,
): Html {
  const design = versions.find(({ version }) => version === report.version)?.arms ?? arms;
  const probabilities = probabilitiesOf(report.arms.map(({ metrics }) => metrics[revenueName]));
  const rows = report.arms.map((arm, at): Cell[] => {
    const revenue = arm.metrics[revenueName];
    const changes = design.find(({ key }) => key === arm.arm);
    const changeText = changes && (changesInWords(changes, publisher) || t('experiments.asIs'));
    const wouldSee = t('experiments.wouldSee', { users: count(arm.would_have_seen.users) });
    const users = html`<span title="${wouldSee}">${count(arm.users)}</span>`;
    return [
      html`
        <strong>${arm.arm}</strong>
        ${changeText !== undefined && html`<br><span class="hint">${changeText}</span>`}`,
      rowsOf([arm.arm], 'sessions', users),
      revenue === undefined ? '–' : rowsOf([arm.arm], 'revenue', moneyFormat(report.currency)(revenue.value)),
      at === 0 ? t('experiments.isControl') : liftText(revenue?.lift ?? null),
      probabilities === null ? '–' : probabilityText(probabilities[at] ?? 0),
    ];
  });
  return table(
    t('experiments.report'),
    [
      { text: t('experiments.armKey') },
      { text: t('experiments.userCount'), numeric: true },
      { text: t('experiments.revenue'), numeric: true },
      { text: t('experiments.against') },
      { text: t('experiments.best'), numeric: true, hint: t('experiments.bestHint') },
    ],
    rows,
  );
}

/**
 * Renders a note if revenue is in several currencies. It states the currency used for the comparison, and the amounts
 * booked in each currency.
 */
function currencyNote({ currency, arms }: ExperimentReport): Html {
  const booked = new Set(arms.flatMap((arm) => arm.revenue_by_currency.map((sum) => sum.currency)));
  if (currency === null || [...booked].every((code) => code === currency)) return nothing;
  const sums = arms.map(({ arm, revenue_by_currency: list }) => {
    const amounts = list.map((sum) => moneyFormat(sum.currency)(sum.revenue)).join(' + ');
    return `${arm}: ${amounts === '' ? '–' : amounts}`;
  });
  return html`<p class="hint">${t('experiments.convertedTo', { currency, sums: sums.join('; ') })}</p>`;
}

export const canAdopt = ({ viewer }: PublisherContext, { adopted, versions, state }: ExperimentView): boolean =>
  hasRole(viewer.user.role, 'admin') && adopted === null && versions.length > 0 && state !== 'scheduled';

/** Renders links to the pages on which an admin ends the experiment and shows one arm to all users. */
function decisions(context: PublisherContext, report: ExperimentReport, of: OfExperiment): Html {
  if (!canAdopt(context, of.experiment)) return nothing;
  const winner = winnerOf(report);
  const linkTo = (arm: string): Html => {
    const href = `${of.href}/adopt?${new URLSearchParams({ arm })}`;
    return linkButton(href, t('experiments.makePermanent', { arm }), arm === winner ? 'main' : '');
  };
  return html`
    <div class="actions" role="group" aria-label="${t('experiments.decision')}">
      ${adoptableArms(of.experiment).map(linkTo)}
    </div>`;
}

/** Renders the revenue lift of each arm by day, with confidence intervals. */
export function overTimeCard({ over_time: days, arms }: ExperimentReport): Html {
  const charts = arms.slice(1).flatMap(({ arm }) => chartOf(arm, days));
  return charts.length === 0
    ? nothing
    : card(t('experiments.overTime'), html`${charts}`, { lead: t('experiments.narrows') });
}

function chartOf(arm: string, days: ExperimentReport['over_time']): Html[] {
  const points = days.flatMap(({ day, arms }) => {
    const lift = arms.find((armLift) => armLift.arm === arm)?.lift ?? null;
    return lift === null ? [] : [{ day, lift }];
  });
  // A line chart needs at least two points.
  if (points.length < 2) return [];
  const chart = drawnChart({
    caption: t('experiments.overTimeOf', { arm }),
    heading: t('layout.day'),
    times: points.map(({ day }) => ({ text: momentText(utc, Date.parse(day), 'day'), atMs: Date.parse(day) })),
    series: [
      { label: t('experiments.lift'), values: points.map(({ lift }) => lift.estimate), summary: 'latest' },
      { label: t('experiments.low'), values: points.map(({ lift }) => lift.low), isDashed: true, summary: 'latest' },
      { label: t('experiments.high'), values: points.map(({ lift }) => lift.high), isDashed: true, summary: 'latest' },
    ],
    style: 'rate',
    format: percent,
  });
  return [html`<h3>${arm}</h3>${chart}`];
}

/** Renders a table of all metrics and the publisher's own outcomes, by arm. */
function metricsTable({ arms, currency }: ExperimentReport, rowsOf: RowsOfArms): Html {
  const names = [...new Set(arms.flatMap(({ metrics, outcomes }) => Object.keys({ ...metrics, ...outcomes })))];
  const money = moneyFormat(currency);
  const rows = names.flatMap((name) => {
    const results = arms.map(({ metrics, outcomes }) => metrics[name] ?? outcomes[name]);
    const probabilities = probabilitiesOf(results);
    return arms.map(({ arm }, at): Cell[] => {
      const result = results[at];
      const value = result === undefined ? '–' : name === revenueName ? money(result.value) : decimal(result.value);
      const rowMetric = rowMetricOf(name);
      return [
        at === 0 ? metricName(name) : '',
        arm,
        result === undefined || rowMetric === null ? value : rowsOf([arm], rowMetric, value),
        at === 0 ? t('experiments.isControl') : liftText(result?.lift ?? null),
        probabilities === null ? '–' : probabilityText(probabilities[at] ?? 0),
      ];
    });
  });
  const columns = [
    ...[{ text: t('experiments.metric') }, { text: t('experiments.armKey') }],
    ...[{ text: t('experiments.value'), numeric: true }, { text: t('experiments.against') }],
    { text: t('experiments.best'), numeric: true },
  ];
  return table(t('experiments.allMetrics'), columns, rows);
}

const revenueName = 'revenue_per_1000_sessions';

const metricNames = ['revenue', 'perks', 'clicks', 'conversions'] as const;

function metricName(name: string): string {
  const knownName = metricNames.find((metric) => name === `${metric}_per_1000_sessions`);
  return knownName === undefined ? t('experiments.perUser', { name }) : t(`experiments.${knownName}`);
}

/** Returns the metric of the rows behind a value. Outcomes that the publisher reports have no rows. */
function rowMetricOf(name: string): string | null {
  const knownName = metricNames.find((metric) => name === `${metric}_per_1000_sessions`);
  if (knownName === undefined) return isOwnKind(name) ? 'own_events' : null;
  return knownName === 'perks' ? 'selections' : knownName;
}
