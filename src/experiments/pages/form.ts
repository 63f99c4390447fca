import type { PublisherContext } from '../../catalog/pages.ts';
import type { Values } from '../../management/resource.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { FieldErrors, Fields, FormValues } from '../../shell/context.ts';
import { editedInstant, instantToLocal } from '../../shell/format.ts';
import { type ArmInput, labelNames, maxArms, percentOf } from '../configuration/changes.ts';
import type { RampStep } from '../configuration/ramp.ts';

/** Field name prefixes of all arms except the control, which has separate fields. */
export const armNames = Array.from({ length: maxArms }, (_, at) => `arm${at + 1}`);

export const percentIn = (fields: Fields, name: string): number => Number(fields.text(name).replace(',', '.') || 0);
const shareOf = (fields: Fields, name: string): number => percentIn(fields, name) / 100;
const hasControl = (fields: Fields): boolean => shareOf(fields, 'control') !== 0;

/** Bounds of percentage fields. The API uses fractions from 0 to 1 instead. */
export const shareBounds = { min: 0, max: 100 };
export const liftBounds = { min: 0.1, max: 1000 };

const isControl = ({ changes }: ArmInput): boolean => Object.keys(changes).length === 0;

/** Fields for the start and end times. A field with the suffix `.was` contains the stored time. */
export const times = ['start_at', 'end_at'] as const;

export function toForm(
  { arms = [], holdout, placements, ramp, smallest_lift, ...values }: Values,
  { publisher }: PublisherContext,
): FormValues {
  const all = arms as ArmInput[];
  const control = all.find(isControl);
  const others = all.filter((arm) => arm !== control);
  return {
    ...(values as Record<string, string>),
    ...Object.assign(
      {},
      ...times.map((name) => {
        const was = String(values[name] ?? '');
        return { [name]: instantToLocal(was, publisher.timeZone), [`${name}.was`]: was };
      }),
    ),
    holdout: percentOf(Number(holdout ?? 0)),
    smallest_lift: percentOf(Number(smallest_lift ?? 0.05)),
    ramp: ((ramp ?? []) as RampStep[])
      .map(({ after_hours: hours, share }) => `${hours} ${percentOf(share)}`)
      .join('\n'),
    control: percentOf(control?.share ?? 0),
    control_key: control?.key ?? 'control',
    placements: Array.isArray(placements) ? placements.map(String) : [],
    ...Object.assign({}, ...others.map((arm, at) => armToForm(arm, `arm${at + 1}`))),
  };
}

function armToForm({ key, share, changes }: ArmInput, name: string): FormValues {
  const { offers_per_response, theme_id, ranking, floor, labels = {}, ...texts } = changes;
  return {
    [`${name}.key`]: key,
    [`${name}.share`]: percentOf(share),
    [`${name}.offers_per_response`]: offers_per_response === undefined ? '' : String(offers_per_response),
    [`${name}.theme_id`]: theme_id === undefined ? '' : String(theme_id),
    [`${name}.ranking`]: ranking ?? '',
    [`${name}.floor`]: floor === undefined ? '' : String(floor),
    ...Object.fromEntries(Object.entries(labels).map(([label, text]) => [`${name}.labels.${label}`, text])),
    [`${name}.texts`]: Object.keys(texts).length === 0 ? '' : JSON.stringify(texts, null, 2),
  };
}

const readTime = (fields: Fields, name: string, timeZone: string): string | null =>
  editedInstant(fields.text(name), fields.text(`${name}.was`), timeZone) || null;

export function readForm(fields: Fields, { publisher }: PublisherContext): Values {
  const control = { key: fields.text('control_key') || 'control', share: shareOf(fields, 'control'), changes: {} };
  const placements = fields.all('placements');
  const key = fields.text('key');
  return {
    // The key can't be changed, so the form for an existing experiment has no key field.
    ...(key !== '' && { key }),
    name: fields.text('name'),
    placements: placements.length === 0 ? null : placements,
    campaign_id: fields.text('campaign_id') === '' ? null : Number(fields.text('campaign_id')),
    layer: fields.text('layer') || null,
    holdout: shareOf(fields, 'holdout'),
    smallest_lift: shareOf(fields, 'smallest_lift'),
    ramp: readRamp(fields.text('ramp')),
    ...Object.fromEntries(times.map((name) => [name, readTime(fields, name, publisher.timeZone)])),
    arms: [...(hasControl(fields) ? [control] : []), ...usedArms(fields).map((name) => readArm(fields, name))],
  };
}

/** Parses a ramp from lines such as `24 50`: the hours since the start, and the percentage of users. */
function readRamp(text: string): Values[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const steps = lines.map((line) => line.replaceAll(',', '.').replaceAll('%', '').trim().split(/\s+/));
  return lines.length === 0
    ? null
    : steps.map(([hours = '', percent = '', ...rest]) => ({
        after_hours: rest.length > 0 ? Number.NaN : Number(hours || Number.NaN),
        share: Number(percent || Number.NaN) / 100,
      }));
}

/**
 * Returns the arms for which a key or a share was entered. A share without a key is reported as an error on the key
 * field.
 */
const usedArms = (fields: Fields): string[] =>
  armNames.filter((name) => fields.text(`${name}.key`) !== '' || fields.text(`${name}.share`) !== '');

function readArm(fields: Fields, name: string): Values {
  const changes: Values = readTexts(fields.text(`${name}.texts`));
  for (const field of ['offers_per_response', 'theme_id', 'floor']) {
    const value = fields.text(`${name}.${field}`);
    if (value !== '') changes[field] = Number(value.replace(',', '.'));
  }
  const labels = labelNames.flatMap((label) => {
    const text = fields.text(`${name}.labels.${label}`);
    return text === '' ? [] : [[label, text] as const];
  });
  if (labels.length > 0) changes.labels = { ...(changes.labels as object | undefined), ...Object.fromEntries(labels) };
  if (fields.text(`${name}.ranking`) !== '') changes.ranking = fields.text(`${name}.ranking`);
  return { key: fields.text(`${name}.key`), share: shareOf(fields, `${name}.share`), changes };
}

/** Parses a JSON object. Any other text is left for the field's validation to reject. */
function readTexts(text: string): Values {
  if (text === '') return {};
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return { ...read };
  } catch {}
  return { settings: text };
}

type FieldError = FieldErrors[number];

/**
 * Maps validation errors of arms to the form fields of each arm. Shares in error messages are converted to percentages.
 */
export function errorsToForm(errors: FieldErrors, fields: Fields): FieldErrors {
  const arms = [...(hasControl(fields) ? ['control'] : []), ...usedArms(fields)];
  return errors.map((error) => inPercent(inBlock(error, arms), fields));
}

function inBlock({ path, message }: FieldError, arms: readonly string[]): FieldError {
  if (path === '/arms') return { path: '/holdout', message };
  const [, step, part] = /^\/ramp\/(\d+)(\/share)?/.exec(path) ?? [];
  if (step !== undefined) {
    const problem = part === undefined ? message : t('experiments.mustBePercent', shareBounds);
    return { path: '/ramp', message: t('forms.line', { line: Number(step) + 1, message: problem }) };
  }
  const [, at = '', rest = ''] = /^\/arms\/(\d+)\/(.*)$/.exec(path) ?? [];
  const name = arms[Number(at)];
  if (rest === '' || name === undefined) return { path, message };
  if (name === 'control') return { path: '/control', message };
  const field = rest.replace(/^changes\//, '');
  if (field === 'settings') return { path: `/${name}.texts`, message: t('experiments.mustBeObject') };
  return { path: `/${name}.${/^settings/.test(field) ? 'texts' : field.replaceAll('/', '.')}`, message };
}

function inPercent({ path, message }: FieldError, fields: Fields): FieldError {
  const name = path.slice(1);
  if (!/^(control|holdout|smallest_lift|arm\d\.share)$/.test(name)) return { path, message };
  const bounds = name === 'smallest_lift' ? liftBounds : shareBounds;
  const percent = percentIn(fields, name);
  const isWithin = percent >= bounds.min && percent <= bounds.max;
  return { path, message: isWithin ? message : t('experiments.mustBePercent', bounds) };
}
