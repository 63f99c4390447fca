import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Figures } from '../../management/crud-definition.ts';
import { crudPages } from '../../management/crud-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { getRow, updateRow } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { wordProblem } from '../../platform/problem.ts';
import { actionButton, type Cell, strongLink } from '../../shell/components.ts';
import { type Fields, fieldErrorsOf, hasRole, keyIn, queryText } from '../../shell/context.ts';
import { fieldName, moment } from '../../shell/format.ts';
import type { Shell } from '../../shell/layout.ts';
import type { PageResult, Pages } from '../../shell/pages.ts';
import { adoptArm, adoptableArms, undoAdoption } from '../configuration/adopt.ts';
import { experiments } from '../configuration/experiments.ts';
import { startExperiment, stopExperiment } from '../configuration/state.ts';
import type { ExperimentView } from '../configuration/view.ts';
import { reportFor } from '../report/find.ts';
import type { ReportOptions } from '../report/report.ts';
import { segments } from '../report/sums.ts';
import { adoptPage } from './adopt-page.ts';
import { formFields } from './fields.ts';
import { errorsToForm, readForm, toForm } from './form.ts';
import { historyCard } from './history-card.ts';
import { type PlanDeps, planPanel, typedPlan } from './plan.ts';
import { canAdopt, designCard, overTimeCard, reportCard, rowsOfArms, stateBadge } from './report-card.ts';
import { segmentsCard } from './segments-card.ts';
import { createWizard } from './wizard.ts';
import { headlineOf, inWords } from './words.ts';

const path = '/experiments';

/** Registers the experiment pages: the list, the wizard, and a page per experiment with its report and actions. */
export function experimentPages(app: App, shell: Shell, deps: PlanDeps): void {
  const { management } = deps;
  const pages = publisherPages(app, shell);
  const figures: Figures<PublisherContext> = {
    columns: () => [{ text: t('experiments.report') }],
    cells: async (context, rows) => {
      const texts = new Map<unknown, string>();
      for (const { key, state } of rows)
        if (state === 'running') {
          const report = await management.read(context, (work) => reportFor(work, String(key), defaults));
          texts.set(key, headlineOf(report, state));
        }
      return ({ key }) => [texts.get(key) ?? '–'];
    },
    card: async () => nothing,
  };
  crudPages(pages, management, {
    resource: experiments,
    path,
    nav: 'experiments',
    icon: 'experiments',
    title: 'experiments.title',
    lead: 'experiments.lead',
    writes: 'admin',
    columns: () => [
      ...[{ text: t('common.name') }, { text: t('experiments.does') }, { text: t('common.status') }],
      { text: t('experiments.since') },
    ],
    cells: (context, row) => cells(context, row as ExperimentView),
    empty: { title: 'experiments.none', text: 'experiments.noneText' },
    nameOf: (row) => String(row.name || row.key),
    toForm,
    read: readForm,
    errorsToForm,
    fields: formFields,
    creation: createWizard(deps, refusalOf),
    // An experiment that has run is measured by its own users, so an estimate from other traffic would contradict it.
    beside: (context, { view }) => (hasResults(view as ExperimentView) ? nothing : planPanel(context)),
    figures,
    actions: (context, view) => actions(context, view as ExperimentView),
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    notice: (context, view) => findings(management, context, view as ExperimentView),
    below: (context, view) =>
      historyCard(context, { experiment: view as ExperimentView, href: hrefOf(context, view.key) }),
  });
  pages.post(`${path}/new/plan`, 'admin', async (context, fields) => ({
    fragment: await typedPlan(deps, context, fields),
  }));
  pages.get(`${path}/:key/adopt`, 'admin', (context) => confirmAdoption(management, context));
  registerActions(pages, management);
}

/** Returns the page that asks for confirmation before an arm is made permanent. */
async function confirmAdoption(management: ManagementClient, context: PublisherContext): Promise<PageResult> {
  const experiment = (await management.get(context, experiments, keyIn(context))) as ExperimentView;
  const arm = queryText(context, 'arm');
  const href = hrefOf(context, experiment.key);
  if (!canAdopt(context, experiment) || !adoptableArms(experiment).includes(arm)) return { to: href };
  const report = await management.read(context, (work) => reportFor(work, experiment.key, defaults));
  return adoptPage(context, { experiment, report, arm, href });
}

/** Whether an experiment has run. One that is scheduled has a version, but no results yet. */
const hasResults = ({ state, versions }: ExperimentView): boolean => versions.length > (state === 'scheduled' ? 1 : 0);

/** Renders the state of the experiment and the results so far, which are shown above the form. */
async function findings(management: ManagementClient, context: PublisherContext, experiment: ExperimentView) {
  if (!hasResults(experiment)) return designCard(context, experiment);
  const options = readOptions(context.request.query as Record<string, unknown>, experiment);
  const report = await management.read(context, (work) => reportFor(work, experiment.key, options));
  const href = hrefOf(context, experiment.key);
  return html`
    ${reportCard(context, report, { experiment, href })} ${overTimeCard(report)}
    ${segmentsCard(report, href, rowsOfArms(context, experiment))}`;
}

/** Parses the report options in the query string. Invalid options are ignored. */
function readOptions(query: Record<string, unknown>, { versions }: ExperimentView): ReportOptions {
  return {
    version: versions.find(({ version }) => String(version) === query.version)?.version ?? null,
    population: (['all', 'would_have_seen'] as const).find((population) => population === query.population) ?? null,
    segment: segments.find((by) => by === query.segment) ?? null,
  };
}

/** Registers the start, stop and adoption actions. If an action is rejected, the experiment's page shows the reason. */
function registerActions(pages: Pages<PublisherContext>, management: ManagementClient): void {
  const act = (action: string, run: (work: Work, key: string, fields: Fields) => Promise<unknown>, done: Done): void =>
    pages.post(`${path}/:key/${action}`, 'admin', async (context, fields) => {
      const key = keyIn(context);
      const to = hrefOf(context, key);
      try {
        await management.write(context, (work) => run(work, key, fields));
        return { to, ...done(to, fields) };
      } catch (err) {
        return { to, failed: refusalOf(err) };
      }
    });
  act('start', startAgain, () => ({ done: t('experiments.started') }));
  act('stop', stopExperiment, () => ({ done: t('experiments.stopped') }));
  act(
    'adopt',
    (work, key, fields) => adoptArm(work, key, fields.text('arm')),
    (to, fields) => ({ done: t('experiments.adopted', { arm: fields.text('arm') }), undo: { to: `${to}/undo` } }),
  );
  act('undo', undoAdoption, () => ({ done: t('experiments.undone') }));
}

/** Starts an experiment. Removes an end time that has passed, because it would prevent the start. */
async function startAgain(work: Work, key: string): Promise<unknown> {
  const { end_at: end } = (await getRow(experiments, work, key)) as ExperimentView;
  if (end !== null && Date.parse(end) <= work.nowMs)
    await updateRow(experiments, work, key, { end_at: null }, { ifMatch: null, replace: false });
  return startExperiment(work, key);
}

type Done = (to: string, fields: Fields) => { done: string; undo?: { to: string } };

/**
 * Returns the error message of a rejected action.
 * @throws any other error unchanged
 */
function refusalOf(err: unknown): string {
  const details = fieldErrorsOf(err).map(({ path: at, message }) => {
    const name = at.split('/').at(-1) ?? '';
    return name === '' ? message : `${fieldName(name)}: ${message}`;
  });
  const message = wordProblem((err as AppError).problem);
  return details.includes(message) ? details.join(' ') : [message, ...details].join(' ');
}

const defaults = { version: null, population: null, segment: null };

const hrefOf = (context: PublisherContext, key: unknown): string =>
  context.path(`${path}/${encodeURIComponent(String(key))}`);

const cells = (context: PublisherContext, row: ExperimentView): Cell[] => [
  strongLink(hrefOf(context, row.key), row.name || row.key),
  inWords(row, context.publisher),
  stateBadge(row),
  row.versions.length === 0 ? '–' : moment(context.publisher, row.versions.at(-1)?.at ?? ''),
];

function actions(context: PublisherContext, view: ExperimentView): Html {
  if (!hasRole(context.viewer.user.role, 'admin')) return nothing;
  const to = (action: string): string => `${hrefOf(context, view.key)}/${action}`;
  if (view.state === 'running') return actionButton(context, { to: to('stop'), text: t('experiments.stop') });
  const does = inWords(view, context.publisher);
  if (view.state === 'draft' || view.state === 'scheduled') {
    const confirm = t('experiments.confirmStart', { does });
    return actionButton(context, { to: to('start'), text: t('experiments.start'), kind: 'main', confirm });
  }
  const confirm = t('experiments.confirmAgain', { does, adopted: view.adopted === null ? 'no' : 'yes' });
  return actionButton(context, { to: to('start'), text: t('experiments.startAgain'), confirm });
}
