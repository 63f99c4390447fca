import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { viewOfState } from '../../../webhooks/endpoints/view.ts';
import type { EventType, EventTypes } from '../../../webhooks/events.ts';
import { hasRole } from '../../auth/users.ts';
import { actionButton, readOnlyFields, saveForm } from '../../shell/actions.ts';
import { badge, card, copyable, descriptionList, link, notice, type Tone, tabs } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import type { FieldErrors } from '../../shell/fields.ts';
import { momentOr, plural } from '../../shell/format.ts';
import { createForm, type FormValues } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { endpointFields, endpointToForm, type FoundEndpoint } from './endpoint-form.ts';

export const basePath = '/settings/webhooks';

export type EndpointPageState = {
  typed?: FormValues;
  errors?: FieldErrors;
  /** A signing secret that was just created. */
  secret?: string;
  /** Result of a test. */
  result?: Html;
};

export function endpointPage(
  context: PublisherContext,
  events: EventTypes,
  event: EventType,
  found: FoundEndpoint | null,
  state: EndpointPageState,
): Page {
  const { path } = context;
  const at = path(`${basePath}/${event.name}`);
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  const tabEntries = [...events.values()].map(({ name, title }) => ({
    text: title,
    href: path(`${basePath}/${name}`),
    current: name === event.name,
  }));
  return {
    title: 'Webhooks',
    lead: 'Postbacks and webhooks to your servers. Requests are signed according to Standard Webhooks.',
    nav: 'webhooks',
    status: (state.errors ?? []).length > 0 ? 422 : 200,
    body: html`
      ${tabs('Events', tabEntries)}
      ${state.secret !== undefined && secretNotice(state.secret)}
      ${found !== null && statusCard(context, found, at, canEdit)}
      ${card(found === null ? 'Add endpoint' : 'Endpoint', endpointForm(context, at, found, state, canEdit), {
        lead: event.description,
      })}`,
  };
}

const secretNotice = (secret: string): Html =>
  notice(
    'done',
    html`
      <p><strong>Signing secret created.</strong> Your server verifies signatures with it. It is not shown again.</p>
      ${copyable(secret, 'signing secret')}`,
  );

function endpointForm(
  context: PublisherContext,
  at: string,
  found: FoundEndpoint | null,
  { typed, errors, result = nothing }: EndpointPageState,
  canEdit: boolean,
): Html {
  const form = createForm(typed ?? endpointToForm(found), errors);
  if (!canEdit) return readOnlyFields(endpointFields(form));
  const testButton = html`
    <button class="button" formaction="${at}/test" hx-post="${at}/test" hx-target="#test-result" hx-swap="innerHTML"
      hx-disabled-elt="this">Test Endpoint</button>`;
  return html`
    ${saveForm(context, at, html`${form.summary()}${endpointFields(form)}`, { extra: testButton })}
    <div id="test-result" class="below" aria-live="polite">${result}</div>`;
}

type EndpointState = ReturnType<typeof viewOfState>;

function statusTone({ status, warning }: EndpointState): Tone {
  if (status === 'active') return warning === null ? 'good' : 'bad';
  return status === 'paused' ? 'warn' : 'bad';
}

function statusCard(
  context: PublisherContext,
  { endpoint, health }: FoundEndpoint,
  at: string,
  canEdit: boolean,
): Html {
  const { publisher, path } = context;
  const state = viewOfState(endpoint, health);
  const deliveries = (status: string, count: number) =>
    link(path(`/deliveries?status=${status}&event=${endpoint.event}`), plural(count, 'delivery', 'deliveries'));
  const reason = endpoint.disabledReason;
  const status = html`
    ${badge(state.status, statusTone(state))}
    ${reason !== null && html`<span class="hint">${reason}</span>`}
    ${state.breaker === 'open' && badge('circuit breaker open', 'bad')}`;
  return card(
    'Status',
    descriptionList([
      ['Status', status],
      ['Pending', deliveries('pending', state.pending)],
      ['Held', deliveries('held', state.held)],
      ['Last success', momentOr(publisher, state.last_success_at, 'none')],
      ['Consecutive failures', state.failures],
    ]),
    canEdit ? { actions: endpointActions(context, endpoint, at) } : {},
  );
}

function endpointActions(context: PublisherContext, endpoint: FoundEndpoint['endpoint'], at: string): Html {
  const action = (name: string, text: string): Html =>
    actionButton(context, { to: `${at}/${name}`, text, small: true });
  return html`
    ${!endpoint.enabled && action('enable', 'Enable')}
    ${endpoint.pausedAt === null ? action('pause', 'Pause') : action('resume', 'Resume')}
    ${actionButton(context, {
      to: `${at}/rotate`,
      text: 'Rotate secret',
      small: true,
      confirm: 'A new signing secret is created and shown once. The current one stays valid for 24 hours.',
    })}`;
}
