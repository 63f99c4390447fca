import type { PublisherContext } from '../../catalog/publisher-pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton } from '../../shell/actions.ts';
import { drawnChart } from '../../shell/chart.ts';
import { type Cell, card, table } from '../../shell/components.ts';
import { hasRole } from '../../shell/context.ts';
import { count, momentText, percent, utc } from '../../shell/format.ts';
import { adoptableArms } from '../configuration/adopt.ts';
import type { ExperimentView } from '../configuration/view.ts';
import type { ExperimentReport } from '../report/report.ts';
import { liftText, sentenceOf } from './words.ts';

type OfExperiment = { experiment: ExperimentView; href: string };

/** What each arm does, and for admins what makes it permanent. */
export function reportCard(context: PublisherContext, report: ExperimentReport, of: OfExperiment): Html {
  const adoptable = canAdopt(context, of.experiment) ? adoptableArms(of.experiment) : [];
  const names = Object.keys(report.arms[0]?.metrics ?? {});
  const outcomes = [...new Set(report.arms.flatMap((arm) => Object.keys(arm.outcomes)))];
  const rows = report.arms.flatMap((arm, at) => [
    [
      html`<strong>${arm.arm}</strong>`,
      t('experiments.users', { users: count(arm.users), sessions: count(arm.sessions) }),
      t('experiments.wouldSee', { users: count(arm.would_have_seen.users) }),
      adoptable.includes(arm.arm) ? adoptButton(context, arm.arm, of) : '',
      '',
    ],
    ...[
      ...names.map((name) => [name, arm.metrics[name]] as const),
      ...outcomes.map((name) => [name, arm.outcomes[name]] as const),
    ].map(([name, found]): Cell[] => [
      '',
      metricName(name),
      found === undefined ? '–' : found.value.toFixed(2),
      at === 0 ? t('experiments.isControl') : liftText(found?.lift ?? null),
      found === undefined ? '–' : percent(found.probability_best),
    ]),
  ]);
  const columns = [
    ...[
      { text: t('experiments.armKey') },
      { text: t('experiments.metric') },
      { text: t('experiments.value'), numeric: true },
    ],
    ...[
      { text: t('experiments.against', { control: report.control }) },
      { text: t('experiments.best'), numeric: true },
    ],
  ];
  const needed = report.users_needed;
  return card(
    t('experiments.report'),
    html`
      <p><strong>${sentenceOf(report)}</strong></p>
      <p class="hint">
        ${t(report.population === 'all' ? 'experiments.ofAll' : 'experiments.ofThose')} ${t('experiments.intervals')}
        ${needed !== null && t('experiments.needed', { users: count(needed), lift: percent(report.smallest_lift) })}
        ${report.erased_users > 0 && t('experiments.erased', { count: report.erased_users })}
      </p>
      ${table(t('experiments.report'), columns, rows)}`,
  );
}

const canAdopt = ({ viewer }: PublisherContext, { adopted, versions, state }: ExperimentView): boolean =>
  hasRole(viewer.user.role, 'admin') && adopted === null && versions.length > 0 && state !== 'scheduled';

const adoptButton = (context: PublisherContext, arm: string, { href }: OfExperiment): Html =>
  actionButton(context, {
    ...{ to: `${href}/adopt`, values: { arm }, small: true },
    text: t('experiments.makePermanent', { arm }),
  });

const metricNames = ['revenue', 'perks', 'clicks', 'conversions'] as const;

function metricName(name: string): string {
  const known = metricNames.find((metric) => name === `${metric}_per_1000_sessions`);
  return known === undefined ? name : t(`experiments.${known}`);
}

/** The lift in revenue of each arm as it stood day by day, between the ends of its interval. */
export function overTimeCard({ over_time: days, arms }: ExperimentReport): Html {
  const charts = arms.slice(1).flatMap(({ arm }) => chartOf(arm, days));
  return charts.length === 0
    ? nothing
    : card(t('experiments.overTime'), html`${charts}`, { lead: t('experiments.narrows') });
}

function chartOf(arm: string, days: ExperimentReport['over_time']): Html[] {
  const points = days.flatMap(({ day, arms }) => {
    const lift = arms.find((one) => one.arm === arm)?.lift ?? null;
    return lift === null ? [] : [{ day, lift }];
  });
  // A line has two ends.
  if (points.length < 2) return [];
  const chart = drawnChart({
    caption: t('experiments.overTimeOf', { arm }),
    heading: t('layout.day'),
    times: points.map(({ day }) => ({ text: momentText(utc, Date.parse(day), 'day'), atMs: Date.parse(day) })),
    series: [
      { label: t('experiments.lift'), values: points.map(({ lift }) => lift.estimate) },
      { label: t('experiments.low'), values: points.map(({ lift }) => lift.low), isDashed: true },
      { label: t('experiments.high'), values: points.map(({ lift }) => lift.high), isDashed: true },
    ],
    style: 'rate',
    format: percent,
  });
  return [html`<h3>${arm}</h3>${chart}`];
}
