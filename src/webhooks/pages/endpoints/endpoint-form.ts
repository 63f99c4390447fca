import type { Condition } from '../../../catalog/conditions.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { Problem } from '../../../platform/problem.ts';
import type { Fields, FormValues } from '../../../shell/context.ts';
import { chosenOf, columns, type FormBuilder, moreFields } from '../../../shell/forms.ts';
import { versionField } from '../../../shell/row-list.ts';
import { type DestinationKind, kindOf } from '../../destinations/kinds.ts';
import { isCustomHeader } from '../../destinations/settings.ts';
import { defaultSteps } from '../../dispatcher/settle/retry-schedule.ts';
import type { Endpoint } from '../../endpoint-store.ts';
import { requireUsableFilter } from '../../endpoints/filter.ts';
import { maxSteps } from '../../endpoints/schemas.ts';
import type { EventTypes } from '../../events.ts';
import type { Transformation } from '../../transformations/evaluators.ts';
import { maxExpressionLength } from '../../transformations/transform.ts';
import {
  destinationChoice,
  destinationInput,
  destinationToForm,
  type FoundEndpoint,
  storedDestination,
  typedDestination,
} from './destination-fields.ts';

/** Returns the title of an event as shown in the dashboard. */
export const eventTitle = (name: string): string => t(`events.${name.replaceAll('.', '_')}` as MessageKey);

/** Returns the description of an event as shown in the dashboard. */
export const eventLead = (name: string): string => t(`events.${name.replaceAll('.', '_')}_lead` as MessageKey);

/** Group of the sections of the form, of which one is open at a time. */
export const sectionGroup = 'endpoint';

/**
 * Renders the fields for an endpoint. `events` are the event types to choose from. It is null for a default endpoint,
 * which receives only its own event by HTTP. `stored` is null for a new endpoint, whose destination can be chosen.
 */
export const endpointFields = (
  form: FormBuilder,
  events: EventTypes | null,
  stored: Endpoint | null,
  transformation: Html,
): Html => html`
  ${events !== null && eventFields(form, events, stored)}
  ${targetFields(form, events !== null && stored === null, stored)}
  ${form.checkbox('enabled', {
    label: t('webhooks.enabled'),
    hint: t('webhooks.enabledHint'),
  })}
  ${moreFields(t('webhooks.descriptionAndFilter'), filterFields(form), { group: sectionGroup })}
  ${!isPulled(stored) && transformation}
  ${moreFields(t('webhooks.headersAndSignature'), headerFields(form, isPulled(stored)), { group: sectionGroup })}
  ${!isPulled(stored) && moreFields(t('webhooks.retriesAndLimits'), limitFields(form), { group: sectionGroup })}`;

/** Renders the event types to choose from. Those of an existing endpoint are in a closed section that names them. */
function eventFields(form: FormBuilder, events: EventTypes, stored: Endpoint | null): Html {
  const label = t('webhooks.events');
  const boxes = form.checkboxes('events', {
    label,
    choices: [...events.values()].map(({ name }) => ({ value: name, text: `${eventTitle(name)} (${name})` })),
  });
  const names = chosenOf(form.values, 'events').map((name) => (events.has(name) ? eventTitle(name) : name));
  return stored === null ? boxes : moreFields(`${label}: ${names.join(', ')}`, boxes);
}

const isPulled = (stored: Endpoint | null): boolean => stored !== null && kindOf(stored.url) === 'pull';

/** Renders the URL of an endpoint, or its destination. The kind can be chosen only for a new endpoint. */
function targetFields(form: FormBuilder, isChoice: boolean, stored: Endpoint | null): Html {
  const kind = stored === null ? 'http' : kindOf(stored.url);
  if (stored !== null && kind !== 'http') return storedDestination(form, kind, stored);
  const http = columns(
    [
      form.select('method', {
        label: t('webhooks.method'),
        choices: ['POST', 'GET'].map((value) => ({ value, text: value })),
      }),
      // The browser would also require a URL while the fields of another destination are shown.
      form.input('url', { label: t('webhooks.url'), type: 'url', required: !isChoice, placeholder: 'https://' }),
    ],
    'method',
  );
  return isChoice ? destinationChoice(form, http) : http;
}

const headerFields = (form: FormBuilder, onlySignature: boolean): Html => html`
  ${
    !onlySignature &&
    form.textarea('headers', {
      label: t('webhooks.headers'),
      rows: 3,
      code: true,
      secret: true,
      placeholder: 'x-team: perks',
      hint: t('webhooks.headersHint'),
    })
  }
  ${form.checkbox('signature_v1a', {
    label: t('webhooks.signV1a'),
    hint: t('webhooks.signV1aHint'),
  })}`;

const filterFields = (form: FormBuilder): Html => html`
  ${form.input('description', {
    label: t('webhooks.description'),
    maxLength: 200,
    placeholder: t('webhooks.descriptionExample'),
  })}
  ${form.textarea('filter', {
    label: t('webhooks.filter'),
    rows: 5,
    code: true,
    placeholder: '{ "key": "body.selected", "op": "equals", "value": 1 }',
    hint: t('webhooks.filterHint'),
  })}`;

const limitFields = (form: FormBuilder): Html => html`
  ${form.input('retry_steps_s', {
    label: t('webhooks.retrySchedule'),
    placeholder: defaultSteps.join(' '),
    hint: t('webhooks.retryScheduleHint'),
  })}
  ${columns(
    [
      form.input('deadline_s', {
        label: t('webhooks.timeout'),
        type: 'number',
        min: 1,
        max: 30,
        step: 'any',
        hint: t('webhooks.timeoutHint'),
      }),
      form.input('max_in_flight', { label: t('webhooks.concurrency'), type: 'number', min: 1, max: 100 }),
      form.input('rate_limit_per_s', {
        label: t('webhooks.rate'),
        type: 'number',
        min: 0.01,
        step: 'any',
        hint: t('webhooks.rateHint'),
      }),
    ],
    'tight',
  )}
  ${form.checkbox('strict_order', {
    label: t('webhooks.strictOrder'),
    hint: t('webhooks.strictOrderHint'),
  })}`;

export const endpointToForm = (stored: FoundEndpoint | null): FormValues => ({
  events: stored?.endpoint.events ?? [],
  description: stored?.endpoint.description,
  filter: stored?.endpoint.filter ? JSON.stringify(stored.endpoint.filter, null, 1) : '',
  url: stored?.endpoint.url,
  method: stored?.endpoint.method ?? 'POST',
  enabled: stored?.endpoint.enabled ?? true,
  deadline_s: (stored?.endpoint.deadlineMs ?? 15_000) / 1000,
  max_in_flight: stored?.endpoint.maxInFlight ?? 4,
  rate_limit_per_s: stored?.endpoint.rateLimitPerS,
  strict_order: stored?.endpoint.strictOrder ?? false,
  signature_v1a: stored?.endpoint.signatureV1a ?? false,
  'transformation.body': stored?.endpoint.transformation?.body ?? '',
  'transformation.headers': stored?.endpoint.transformation?.headers ?? '',
  retry_steps_s: stored?.endpoint.retryStepsS?.join(' ') ?? '',
  headers: Object.keys(stored?.endpoint.headers ?? {})
    .filter(isCustomHeader)
    .map((name) => `${name}:`)
    .join('\n'),
  ...destinationToForm(stored?.endpoint),
});

/** Returns the values entered in a rejected form, so that the form can be shown again. */
export const typedEndpoint = (fields: Fields): FormValues => ({
  events: fields.all('events'),
  description: fields.text('description'),
  filter: fields.text('filter'),
  url: fields.text('url'),
  method: fields.text('method'),
  enabled: fields.checked('enabled'),
  deadline_s: fields.text('deadline_s'),
  max_in_flight: fields.text('max_in_flight'),
  rate_limit_per_s: fields.text('rate_limit_per_s'),
  strict_order: fields.checked('strict_order'),
  signature_v1a: fields.checked('signature_v1a'),
  'transformation.body': fields.text('transformation.body'),
  'transformation.headers': fields.text('transformation.headers'),
  preview_of: fields.text('preview_of'),
  template: fields.text('template'),
  retry_steps_s: fields.text('retry_steps_s'),
  headers: fields.text('headers'),
  [versionField]: fields.text(versionField),
  ...typedDestination(fields),
});

const methodOf = (fields: Fields): 'GET' | 'POST' => (fields.text('method') === 'GET' ? 'GET' : 'POST');

/**
 * Reads the endpoint settings in a form.
 * @throws AppError `invalid_endpoint` with the values that are out of range
 */
export function readSettings(fields: Fields, kind: DestinationKind | 'http') {
  const bounded = (name: string, label: string, min: number, max: number, whole: boolean): number => {
    const value = fields.number(name);
    if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
    throw invalid(name, new Problem('webhooks.mustBeBetween', { label, min, max }));
  };
  const common = {
    enabled: fields.checked('enabled'),
    description: fields.text('description').slice(0, 200),
    filter: readFilter(fields.text('filter').trim()),
    transformation: readTransformation(fields),
  };
  if (kind === 'pull') return common;
  return {
    ...common,
    deadlineMs: Math.round(bounded('deadline_s', t('webhooks.timeoutName'), 1, 30, false) * 1000),
    maxInFlight: bounded('max_in_flight', t('webhooks.concurrency'), 1, 100, true),
    rateLimitPerS:
      fields.text('rate_limit_per_s') === ''
        ? null
        : bounded('rate_limit_per_s', t('webhooks.rate'), 0.01, 10_000, false),
    strictOrder: fields.checked('strict_order'),
  };
}

/** Returns the URL or the destination in a form, in the format of the API. */
export const readTarget = (fields: Fields, kind: DestinationKind | 'http') =>
  kind === 'http'
    ? { url: fields.text('url'), method: methodOf(fields) }
    : { destination: destinationInput(fields, kind), method: 'POST' as const };

/**
 * Reads the transformation in a form, or null if both expressions are empty.
 * @throws AppError `invalid_endpoint` if an expression is too long
 */
export function readTransformation(fields: Fields): Transformation | null {
  const [body, headers] = (['body', 'headers'] as const).map((part) => {
    const text = fields.text(`transformation.${part}`).replaceAll('\r\n', '\n').trim();
    if (text.length > maxExpressionLength)
      throw invalid(`transformation.${part}`, new Problem('webhooks.expressionTooLong', { max: maxExpressionLength }));
    return text === '' ? undefined : text;
  });
  if (body === undefined && headers === undefined) return null;
  return { ...(body !== undefined && { body }), ...(headers !== undefined && { headers }) };
}

/**
 * Reads the headers and the retry schedule from a form, in the format of the API. A null schedule means the default. A
 * null header value means the stored value.
 * @throws AppError `invalid_endpoint`
 */
export const readLists = (fields: Fields) => ({
  headers: readHeaderLines(fields.text('headers')),
  retry_steps_s: readSteps(fields.text('retry_steps_s')),
});

function readHeaderLines(text: string): Record<string, string | null> {
  const entries = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): [string, string | null] => {
      const [name = '', ...rest] = line.split(':');
      if (rest.length === 0) throw invalid('headers', new Problem('webhooks.headerForm', { line: line.trim() }));
      return [name.trim(), rest.join(':').trim() || null];
    });
  return Object.fromEntries(entries);
}

function readSteps(text: string): number[] | null {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length === 0) return null;
  if (parts.length > maxSteps || parts.some((part) => !/^\d{1,6}$/.test(part)))
    throw invalid('retry_steps_s', new Problem('webhooks.mustBeSteps', { max: maxSteps }));
  return parts.map(Number);
}

function readFilter(text: string): Condition | null {
  if (text === '') return null;
  let filter: unknown;
  try {
    filter = JSON.parse(text);
  } catch {
    throw invalid('filter', new Problem('webhooks.mustBeJson'));
  }
  requireUsableFilter(filter);
  return filter as Condition;
}

const invalid = (name: string, message: Problem): AppError =>
  new AppError('invalid_endpoint', { details: [{ path: `/${name}`, message }] });
