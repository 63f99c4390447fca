import type { Publisher } from '../../../catalog/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { isUuid7 } from '../../../platform/lib/uuid7.ts';
import type { FieldErrors } from '../../../shell/context.ts';
import { localToInstant } from '../../../shell/format.ts';
import type { Choice, FormBuilder } from '../../../shell/forms.ts';
import { type DeliveryFilter, type DeliveryStatus, deliveryStatuses } from '../../deliveries/filter.ts';
import type { EndpointLabel } from '../../endpoint-store.ts';
import type { EventTypes } from '../../events.ts';

export const filterNames = ['status', 'event', 'endpoint', 'from', 'to', 'pub_user_id', 'session_id'] as const;

const maxUserIdLength = 256;

/** Choices for the status filter: each single status, and `waiting`, which selects both `held` and `pending`. */
const statusChoices: Readonly<Record<string, readonly DeliveryStatus[]>> = {
  waiting: ['held', 'pending'],
  ...Object.fromEntries(deliveryStatuses.map((status) => [status, [status]])),
};

/** Filter values as entered by the user. Times are in the publisher's time zone. */
export type TypedFilter = Partial<Record<(typeof filterNames)[number], string>>;

/**
 * Reads the filter that the user entered. Returns it without invalid values, together with the errors for these values.
 */
export function readFilter(
  typed: TypedFilter,
  { id, timeZone }: Publisher,
  nowMs: number,
  events: EventTypes,
): { filter: DeliveryFilter; errors: FieldErrors } {
  const errors: { path: string; message: string }[] = [];
  const { status = '', event = '', endpoint = '', pub_user_id: pubUserId = '', session_id: sessionId = '' } = typed;
  const time = (name: 'from' | 'to'): number | null => {
    const text = typed[name] ?? '';
    if (text === '') return null;
    const atMs = Date.parse(localToInstant(text, timeZone));
    if (Number.isNaN(atMs)) errors.push({ path: `/${name}`, message: t('deliveries.mustBeTime') });
    return Number.isNaN(atMs) ? null : Math.min(Math.max(atMs, 0), nowMs + dayMs);
  };
  const statuses = Object.hasOwn(statusChoices, status) ? statusChoices[status] : undefined;
  const session = sessionId.toLowerCase();
  if (session !== '' && !isUuid7(session))
    errors.push({ path: '/session_id', message: t('deliveries.mustBeSessionId') });
  return {
    filter: {
      publisherId: id,
      event: events.has(event) ? event : null,
      endpointId: /^[1-9]\d{0,8}$/.test(endpoint) ? Number(endpoint) : null,
      statuses: statuses ?? null,
      fromMs: time('from'),
      toMs: time('to'),
      sessionId: isUuid7(session) ? session : null,
      pubUserId: pubUserId === '' ? null : pubUserId.replaceAll('\0', '').toWellFormed().slice(0, maxUserIdLength),
    },
    errors,
  };
}

const choices = <V extends string>(values: readonly V[], textOf: (value: V) => string): Choice[] => [
  { value: '', text: t('deliveries.any') },
  ...values.map((value) => ({ value, text: textOf(value) })),
];

/** Filter options: event types, and endpoint names by ID. */
export type FilterChoices = { events: EventTypes; endpoints: ReadonlyMap<number, EndpointLabel> };

export const filterFields = (form: FormBuilder, timeZone: string, { events, endpoints }: FilterChoices): Html => html`
  ${form.select('status', {
    label: t('deliveries.status'),
    choices: choices(['waiting', ...deliveryStatuses], (status) => t(`deliveryStatus.${status}`)),
  })}
  ${form.select('event', { label: t('deliveries.event'), choices: choices([...events.keys()], String) })}
  ${form.select('endpoint', {
    label: t('deliveries.endpoint'),
    choices: choices([...endpoints.keys()].map(String), (id) => `${endpoints.get(Number(id))?.name} (${id})`),
  })}
  ${form.input('from', { label: t('deliveries.from', { timeZone }), type: 'datetime-local' })}
  ${form.input('to', { label: t('deliveries.to'), type: 'datetime-local' })}
  ${form.input('pub_user_id', { label: t('deliveries.userId') })}
  ${form.input('session_id', { label: t('deliveries.sessionId') })}`;
