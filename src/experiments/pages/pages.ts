import { type PublisherContext, publisherPages } from '../../catalog/publisher-pages.ts';
import { crudPages } from '../../management/crud-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { View } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { App } from '../../platform/ports.ts';
import { actionButton } from '../../shell/actions.ts';
import { badge, type Cell, card, strongLink, type Tone, table } from '../../shell/components.ts';
import { hasRole, keyIn } from '../../shell/context.ts';
import { count, momentOr, percent } from '../../shell/format.ts';
import type { Shell } from '../../shell/layout.ts';
import { type ExperimentView, experiments } from '../configuration/experiments.ts';
import { startExperiment, stopExperiment } from '../configuration/state.ts';
import { reportFor } from '../report/find.ts';
import type { ExperimentReport } from '../report/report.ts';
import { errorsToForm, formFields, readForm, toForm } from './form.ts';
import { inWords, liftText, sentenceOf } from './words.ts';

const path = '/experiments';

const tones: Record<ExperimentView['state'], Tone> = {
  ...{ draft: 'plain', scheduled: 'info', running: 'good', stopped: 'plain', ended: 'plain' },
};

/** Experiments: the list, a form in words, and the report of each with what starts and stops it. */
export function experimentPages(app: App, shell: Shell, management: ManagementClient): void {
  const pages = publisherPages(app, shell);
  crudPages(pages, management, {
    resource: experiments,
    path,
    nav: 'experiments',
    icon: 'activity',
    get title() {
      return t('experiments.title');
    },
    get lead() {
      return t('experiments.lead');
    },
    writes: 'admin',
    get columns() {
      return [
        ...[{ text: t('experiments.title') }, { text: t('experiments.does') }, { text: t('common.status') }],
        { text: t('experiments.since') },
      ];
    },
    cells: (context, row) => cells(context, row as ExperimentView),
    get empty() {
      return { title: t('experiments.none'), text: t('experiments.noneText') };
    },
    nameOf: (row) => String(row.name || row.key),
    toForm,
    read: readForm,
    errorsToForm,
    fields: (form, context, { view }) => formFields(form, context, view === null),
    initial: () => ({ holdout: 0, arms: [{ key: 'control', share: 0.5, changes: {} }] }),
    actions: (context, view) => actions(context, view as ExperimentView),
    below: async (context, view) =>
      reportCard(await management.read(context, (work) => reportFor(work, String(view.key), defaults))),
  });
  for (const [action, run] of [['start', startExperiment] as const, ['stop', stopExperiment] as const])
    pages.post(`${path}/:key/${action}`, 'admin', async (context) => {
      const view = await management.write(context, (work) => run(work, keyIn(context)));
      return { to: hrefOf(context, view), done: t(action === 'start' ? 'experiments.started' : 'experiments.stopped') };
    });
}

const defaults = { version: null, population: null };

const hrefOf = (context: PublisherContext, { key }: View): string =>
  context.path(`${path}/${encodeURIComponent(String(key))}`);

const cells = (context: PublisherContext, row: ExperimentView): Cell[] => [
  strongLink(hrefOf(context, row), row.name || row.key),
  inWords(row),
  badge(t(`experiments.${row.state}State`), tones[row.state]),
  momentOr(context.publisher, row.versions.at(-1)?.at ?? null),
];

function actions(context: PublisherContext, view: ExperimentView): Html {
  if (!hasRole(context.viewer.user.role, 'admin')) return nothing;
  const to = (action: string): string => `${hrefOf(context, view)}/${action}`;
  const confirm = t('experiments.confirmStart', { does: inWords(view) });
  return view.state === 'running'
    ? actionButton(context, { to: to('stop'), text: t('experiments.stop') })
    : actionButton(context, { to: to('start'), text: t('experiments.start'), kind: 'main', confirm });
}

function reportCard(report: ExperimentReport): Html {
  const names = Object.keys(report.arms[0]?.metrics ?? {});
  const outcomes = [...new Set(report.arms.flatMap((arm) => Object.keys(arm.outcomes)))];
  const rows = report.arms.flatMap((arm, at) => [
    [
      html`<strong>${arm.arm}</strong>`,
      t('experiments.users', { users: count(arm.users), sessions: count(arm.sessions) }),
      t('experiments.wouldSee', { users: count(arm.would_have_seen.users) }),
      '',
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
        ${needed !== null && t('experiments.needed', { users: count(needed) })}
        ${report.erased_users > 0 && t('experiments.erased', { count: report.erased_users })}
      </p>
      ${table(t('experiments.report'), columns, rows)}`,
  );
}

const metricNames = ['revenue', 'perks', 'clicks', 'conversions'] as const;

function metricName(name: string): string {
  const known = metricNames.find((metric) => name === `${metric}_per_1000_sessions`);
  return known === undefined ? name : t(`experiments.${known}`);
}
