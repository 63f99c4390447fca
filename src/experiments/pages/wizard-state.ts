import type { PublisherContext } from '../../catalog/pages.ts';
import type { Values } from '../../management/resource.ts';
import { t } from '../../platform/i18n/messages.ts';
import { problem, wordProblem } from '../../platform/problem.ts';
import { type FieldErrors, type Fields, type FormValues, fieldsOf } from '../../shell/context.ts';
import { keySchema, labelNames } from '../configuration/changes.ts';
import { changeKinds } from './fields.ts';
import { armNames, percentIn, readForm, shareBounds, times } from './form.ts';

/** Steps of the wizard for a new experiment, in order. */
export const steps = ['learn', 'arms', 'traffic', 'check'] as const;
export type Step = (typeof steps)[number];

/** Question that an experiment answers: the effect of one kind of change, of the offers, or of something else. */
export const questions = [...changeKinds, 'holdout', 'other'] as const;
export type Question = (typeof questions)[number];

/** Name of the hidden field with the step of a submitted form, and of its buttons, which contain the next step. */
export const stepField = '_step';
export const goField = '_go';

/**
 * Name of the hidden field that is set once a user without scripts has asked for the expected duration. With scripts,
 * the browser loads it, because the calculation takes longer than the page.
 */
export const estimateField = 'estimate';

/** Whether a form was submitted by the wizard, and not by the form for an existing experiment. */
export const isWizard = (fields: Fields): boolean => fields.text(stepField) !== '';

const changeNames = [
  ...['key', 'offers_per_response', 'theme_id', 'ranking', 'floor', 'texts'],
  ...labelNames.map((label) => `labels.${label}`),
];

/**
 * Fields of the wizard. Apart from `question` and `traffic`, they have the names of the form for an existing
 * experiment.
 */
const names = [
  ...[
    estimateField,
    'question',
    'name',
    'key',
    'campaign_id',
    'traffic',
    'holdout',
    'smallest_lift',
    'control',
    'layer',
    'ramp',
  ],
  ...times,
  ...armNames.flatMap((name) => [...changeNames, 'share'].map((field) => `${name}.${field}`)),
];

/** Entered values. Empty fields are absent and have their defaults. */
export type WizardState = Readonly<Record<string, string | readonly string[]>>;

/** Returns the values of the wizard's fields from a form or a query string. */
export function stateOf(fields: Fields): WizardState {
  const placements = fields.all('placements').filter((name) => name !== '');
  const texts = names.map((name) => [name, fields.text(name)] as const).filter(([, value]) => value !== '');
  return { ...Object.fromEntries(texts), ...(placements.length > 0 && { placements }) };
}

/** Returns the URL of a step with the entered values, below the path of the wizard. */
export function queryOf(state: WizardState, step: Step): string {
  const pairs = Object.entries(state).flatMap(([name, value]) => [value].flat().map((text) => [name, text]));
  return `?${new URLSearchParams([['step', step], ...pairs])}`;
}

export const questionOf = (state: WizardState): Question =>
  questions.find((question) => question === state.question) ?? 'offers';

/** Names of the arms of which a field is filled in. */
export const armsIn = (state: WizardState): string[] =>
  armNames.filter((name) =>
    Object.keys(state).some((field) => field.startsWith(`${name}.`) && !/\.share$/.test(field)),
  );

/** Key of an arm whose name is left empty: b, c, d or e. */
export const defaultKey = (name: string): string => 'bcde'.charAt(armNames.indexOf(name));

const keyPattern = new RegExp(String(keySchema.pattern));

/** Converts a name in words to a key, such as `one-offer` for "One offer". Empty if it has no Latin letter or digit. */
export const keyFrom = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 56)
    .replaceAll(/^-|-$/g, '');

/** Returns the values to show in the fields, including the defaults of empty ones. */
export function shownValues(state: WizardState): FormValues {
  const question = questionOf(state);
  const isRanking = question === 'ranking' && armsIn(state).length === 0;
  return {
    traffic: '100',
    smallest_lift: '5',
    ...(question === 'holdout' && { holdout: '10' }),
    ...(isRanking && { 'arm1.ranking': 'fixed' }),
    ...state,
    ...(question === 'holdout' && { traffic: '100' }),
    question,
  };
}

/** Returns the entered values as those of the form for an existing experiment, with a key and shares for each arm. */
export function formValues(state: WizardState): FormValues {
  const complete = stateOf(fieldsOf(shownValues(state)));
  const used = questionOf(state) === 'holdout' ? [] : armsIn(complete);
  const isUsed = (name: string): boolean => !name.startsWith('arm') || used.some((arm) => name.startsWith(`${arm}.`));
  const values = Object.fromEntries(Object.entries(complete).filter(([name]) => isUsed(name)));
  const keys = used.map((name) => [`${name}.key`, armKey(String(values[`${name}.key`] ?? ''), name)]);
  return { ...values, ...Object.fromEntries(keys), ...sharesOf(values, used) };
}

const armKey = (typed: string, name: string): string =>
  keyPattern.test(typed) ? typed : keyFrom(typed) || defaultKey(name);

/** Returns the entered shares. If there are none, the control and the arms get equal shares. */
function sharesOf(values: FormValues, used: readonly string[]): FormValues {
  const shareNames = ['control', ...used.map((name) => `${name}.share`)];
  const isEntered = shareNames.some((name) => Object.hasOwn(values, name));
  if (isEntered) return {};
  const fields = fieldsOf(values);
  const part = (percentIn(fields, 'traffic') - percentIn(fields, 'holdout')) / shareNames.length;
  const share = part > 0 ? Math.floor(part * 100) / 100 : 0;
  return Object.fromEntries(shareNames.map((name) => [name, String(share)]));
}

/** Returns the values of the new experiment. `key` is used if the user has entered no key. */
export function experimentValues(state: WizardState, key: string, context: PublisherContext): Values {
  return { key, ...readForm(fieldsOf(formValues(state)), context) };
}

/** Returns the step that contains a field, from the path of its error. */
export function stepOf(path: string, state: WizardState): Step {
  const name = path.slice(1);
  if (['question', 'name', 'key'].includes(name)) return 'learn';
  const isArm = /^arm\d\.(?!share$)/.test(name) || (name === 'campaign_id' && questionOf(state) === 'holdout');
  return isArm ? 'arms' : 'traffic';
}

/** Returns the errors that only the wizard checks: the name, an arm without changes, and the share of users. */
export function ownErrors(state: WizardState): FieldErrors {
  const values = stateOf(fieldsOf(shownValues(state)));
  const question = questionOf(state);
  const fields = fieldsOf(values);
  const [traffic, holdout] = [percentIn(fields, 'traffic'), percentIn(fields, 'holdout')];
  const isChange = (field: string, arm: string): boolean =>
    field.startsWith(`${arm}.`) && !/\.(key|share)$/.test(field);
  const used = armsIn(values);
  const unchanged = (used.length === 0 ? ['arm1'] : used).filter(
    (arm) => !Object.keys(values).some((field) => isChange(field, arm)),
  );
  const checks: readonly (readonly [boolean, string, string])[] = [
    [values.name === undefined, 'name', wordProblem(problem('isRequired'))],
    ...(question === 'holdout' ? [] : unchanged).map(
      (arm) => [true, `${arm}.${firstField(question)}`, t('experimentWizard.noChange')] as const,
    ),
    [!(traffic > 0 && traffic <= shareBounds.max), 'traffic', t('experiments.mustBePercent', trafficBounds)],
    [question === 'holdout' && holdout === 0, 'holdout', t('experiments.mustBePercent', trafficBounds)],
    [holdout >= traffic, question === 'holdout' ? 'holdout' : 'traffic', t('experimentWizard.noControl')],
  ];
  return checks.flatMap(([isWrong, name, message]) => (isWrong ? [{ path: `/${name}`, message }] : []));
}

/** Bounds of the share of users who take part, in percent. */
const trafficBounds = { min: 0.01, max: 100 };

function firstField(question: Question): string {
  if (question === 'theme') return 'theme_id';
  if (question === 'ranking' || question === 'floor') return question;
  return question === 'labels' ? `labels.${labelNames[0]}` : 'offers_per_response';
}
