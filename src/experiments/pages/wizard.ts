import type { PublisherContext } from '../../catalog/pages.ts';
import type { Crud } from '../../management/crud-definition.ts';
import { createRow } from '../../management/rows.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { problem, wordProblem } from '../../platform/problem.ts';
import { hiddenField, notice, saveForm } from '../../shell/components.ts';
import { type FieldErrors, type Fields, type FormValues, fieldsOf } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { defaultButton } from '../../shell/row-list.ts';
import { draftErrors, freeKey } from '../configuration/draft.ts';
import { experiments } from '../configuration/experiments.ts';
import { startExperiment } from '../configuration/state.ts';
import type { ExperimentValues } from '../configuration/view.ts';
import { errorsToForm } from './form.ts';
import { durationOf, type PlanDeps, planBox, planning, planOfDesign } from './plan.ts';
import {
  estimateField,
  experimentValues,
  formValues,
  goField,
  keyFrom,
  ownErrors,
  queryOf,
  questionOf,
  type Step,
  shownValues,
  stateOf,
  stepField,
  stepOf,
  steps,
  type WizardState,
} from './wizard-state.ts';
import { armsFields, checkSummary, learnFields, trafficFields } from './wizard-steps.ts';

/** Path of the experiment pages, to which all steps are submitted. */
const path = '/experiments';

/** Formats the reasons why an experiment was not created or started. */
type RefusalOf = (err: unknown) => string;

/** Name of the hidden field with the key that the last step shows, so that a repeated submission creates nothing. */
const keyField = '_key';

/** Maximum length of a redirect to a step. With more input, the step is rendered without a redirect. */
const maxUrlLength = 4000;

/**
 * Creates the wizard for a new experiment. Each step is a form whose values are in the URL of the next step, so the
 * browser's Back button works. Nothing is stored before the last step.
 */
export function createWizard(deps: PlanDeps, refusalOf: RefusalOf): NonNullable<Crud<PublisherContext>['creation']> {
  return {
    show: async (context) => {
      const fields = fieldsOf(context.request.query as FormValues);
      const state = stateOf(fields);
      const step = stepIn(fields.text('step'));
      return stepPage(deps, context, state, (await findErrors(deps, context, state, step)) ?? { step });
    },
    submit: async (context, fields) => {
      const isEstimate = fields.text(goField) === estimateField;
      const state = { ...stateOf(fields), ...(isEstimate && { [estimateField]: '1' }) };
      const step = stepIn(fields.text(stepField));
      const target = isEstimate ? step : steps.find((candidate) => candidate === fields.text(goField));
      if (step === 'check' && target === undefined) return create(deps, context, fields, refusalOf);
      const next = target ?? steps[steps.indexOf(step) + 1] ?? 'check';
      const wrong = await findErrors(deps, context, state, next);
      if (wrong !== null) return stepPage(deps, context, state, wrong);
      const to = context.path(`${path}/new${queryOf(state, next)}`);
      return to.length <= maxUrlLength ? { to } : stepPage(deps, context, state, { step: next });
    },
  };
}

const stepIn = (name: string): Step => steps.find((step) => step === name) ?? 'learn';

/** Step to render, with the errors of its fields, or with the reason why the experiment was not created. */
type StepView = { step: Step; errors?: FieldErrors; failed?: string };

/** Returns the first step before `step` with errors, or null if all earlier steps are valid. */
async function findErrors(
  { management }: PlanDeps,
  context: PublisherContext,
  state: WizardState,
  step: Step,
): Promise<StepView | null> {
  const before = steps.slice(0, steps.indexOf(step));
  if (before.length === 0) return null;
  const values = experimentValues(state, keyOf(state), context);
  const details = await management.read(context, async (work) => {
    const isTaken = state.key !== undefined && (await freeKey(work, String(state.key))) !== state.key;
    return [...(isTaken ? [{ path: '/key', message: problem('taken') }] : []), ...(await draftErrors(work, values))];
  });
  const worded = details.map(({ path: at, message }) => ({ path: at, message: wordProblem(message) }));
  const errors = [...ownErrors(state), ...errorsToForm(worded, fieldsOf(formValues(state)))];
  for (const reached of before) {
    const own = errors.filter((error) => stepOf(error.path, state) === reached);
    if (own.length > 0) return { step: reached, errors: own };
  }
  return null;
}

/** Returns the key that an experiment without an entered key gets from its name. */
const keyOf = ({ name = '' }: WizardState): string => keyFrom(String(name)) || 'experiment';

async function stepPage(
  deps: PlanDeps,
  context: PublisherContext,
  state: WizardState,
  { step, errors = [], failed }: StepView,
): Promise<Page> {
  const form = createForm(shownValues(state), errors);
  const question = questionOf(state);
  const body = await contentOf(step);
  const isStart = step === 'check' && state.start_at === undefined;
  const previous = steps[steps.indexOf(step) - 1];
  const fields = html`
    ${defaultButton()}
    ${stepList(step)}
    ${form.summary()}
    ${failed !== undefined && notice('failed', html`<p>${failed}</p>`)}
    ${hiddenField(stepField, step)}
    ${Object.entries(state).map(([name, value]) => hiddenFields(name, value, body))}
    <h2>${t(`experimentWizard.${step}Title`)}</h2>
    ${body}`;
  const card = saveForm(context, context.path(path), fields, {
    button: t(
      step !== 'check' ? 'experimentWizard.next' : isStart ? 'experimentWizard.start' : 'experimentWizard.schedule',
    ),
    cancel: context.path(path),
    once: step === 'check',
    page: context.path(`${path}/new${queryOf(state, step)}`),
    extra: html`
      ${isStart && goButton('draft', t('experimentWizard.saveDraft'))}
      ${previous !== undefined && goButton(previous, t('experimentWizard.back'), 'quiet')}`,
  });
  return {
    title: t('crud.new', { noun: t('nouns.experiment', { count: 1 }) }),
    nav: 'experiments',
    trail: [{ text: t('experiments.title'), href: context.path(path) }],
    status: errors.length > 0 || failed !== undefined ? 422 : 200,
    body: html`<section class="card wizard">${card}</section>`,
  };

  async function contentOf(current: Step): Promise<Html> {
    if (current === 'learn') return learnFields(form);
    if (current === 'arms') return armsFields(form, context, question);
    const values = experimentValues(state, keyOf(state), context) as ExperimentValues;
    const isEstimated = state[estimateField] !== undefined;
    if (current === 'traffic') {
      const plan = isEstimated ? await planOfDesign(deps, context, values) : planning();
      return trafficFields(form, context, {
        question,
        plan: planBox(context, 'form', html`${plan}${estimateButton()}`),
      });
    }
    const key = await deps.management.read(context, (work) => freeKey(work, values.key));
    const duration = html`
      <span hx-post="${context.path(`${path}/new/plan`)}" hx-include="closest form" hx-trigger="load">
        ${isEstimated ? await durationOf(deps, context, values) : html`${t('experiments.planning')}${estimateButton()}`}
      </span>`;
    return html`${hiddenField(keyField, key)}${checkSummary(context, { values, duration, key })}`;
  }
}

/** Renders the values of fields that the step does not show. */
const hiddenFields = (name: string, value: WizardState[string], body: Html): Html =>
  body.markup.includes(` name="${name}"`) ? nothing : html`${[value].flat().map((text) => hiddenField(name, text))}`;

const goButton = (
  target: Step | 'draft' | typeof estimateField,
  text: string,
  kind: 'quiet' | 'small' | '' = '',
): Html => html`<button class="button ${kind}" name="${goField}" value="${target}" formnovalidate>${text}</button>`;

/** Without scripts, the duration is estimated on request only. */
const estimateButton = (): Html =>
  html`<noscript>${goButton(estimateField, t('experimentWizard.recalculate'), 'small')}</noscript>`;

/** Renders the steps. The earlier ones are buttons, which keep the input of the current step. */
function stepList(current: Step): Html {
  const at = steps.indexOf(current);
  const entries = steps.map((step, index) => {
    const text = t(`experimentWizard.${step}Step`);
    if (index >= at) return html`<li${index === at && html` aria-current="step"`}>${text}</li>`;
    return html`<li><button name="${goField}" value="${step}" formnovalidate>${text}</button></li>`;
  });
  return html`<ol class="wizard-steps" aria-label="${t('experimentWizard.steps')}">${entries}</ol>`;
}

/** Creates the experiment and, unless it stays a draft or starts later, starts it in the same transaction. */
async function create(
  deps: PlanDeps,
  context: PublisherContext,
  fields: Fields,
  refusalOf: RefusalOf,
): Promise<PageResult> {
  const state = stateOf(fields);
  const wrong = await findErrors(deps, context, state, 'check');
  if (wrong !== null) return stepPage(deps, context, state, wrong);
  const isStart = fields.text(goField) !== 'draft' && state.start_at === undefined;
  const values = experimentValues(state, fields.text(keyField) || keyOf(state), context);
  try {
    const { key } = await deps.management.write(context, async (work) => {
      const draft = await createRow(experiments, work, values);
      return isStart ? startExperiment(work, String(draft.key)) : draft;
    });
    const done = t(isStart ? 'experiments.started' : 'experimentWizard.created');
    return { to: context.path(`${path}/${encodeURIComponent(String(key))}`), done };
  } catch (err) {
    return stepPage(deps, context, state, { step: 'check', failed: refusalOf(err) });
  }
}
