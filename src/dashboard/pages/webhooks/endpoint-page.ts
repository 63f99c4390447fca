import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { endpointName, maxEndpoints } from '../../../webhooks/endpoints/store.ts';
import { viewOfState } from '../../../webhooks/endpoints/view.ts';
import type { EventType, EventTypes } from '../../../webhooks/events.ts';
import { hasRole } from '../../auth/users.ts';
import { readOnlyFields, saveForm } from '../../shell/actions.ts';
import {
  badge,
  card,
  codeBlock,
  copyable,
  link,
  linkButton,
  notice,
  strongLink,
  table,
  tabs,
} from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import type { FieldErrors } from '../../shell/fields.ts';
import { createForm, type FormValues, moreFields } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { endpointFields, endpointToForm, type FoundEndpoint } from './endpoint-form.ts';
import { statusCard, statusTone } from './status-card.ts';

export const basePath = '/settings/webhooks';

export type EndpointPageState = {
  typed?: FormValues;
  errors?: FieldErrors;
  /** A signing secret that was just created. */
  secret?: string;
  /** Result of a test. */
  result?: Html;
};

/** An endpoint's page: the default endpoint of an event, one by its id, or a new one (`ref` is `new`). */
export type EndpointTarget = {
  /** The last part of the page's path. */
  ref: string;
  /** null: no default endpoint. */
  event: EventType | null;
  found: FoundEndpoint | null;
  /** What each of its events looks like, as JSON. */
  samples: readonly { title: string; payload: string }[];
  /** Charts of its attempts. */
  activity: Html;
};

const lead = 'Postbacks and webhooks to your servers. Requests are signed according to Standard Webhooks.';

export function endpointPage(
  context: PublisherContext,
  events: EventTypes,
  { ref, event, found, samples, activity }: EndpointTarget,
  state: EndpointPageState,
): Page {
  const at = context.path(`${basePath}/${ref}`);
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  const form = endpointForm(context, { at, found, canEdit, events: event === null ? events : null }, state);
  const title = found === null ? 'Add endpoint' : event === null ? endpointName(found.endpoint) : 'Endpoint';
  return {
    title: 'Webhooks',
    lead,
    nav: 'webhooks',
    status: (state.errors ?? []).length > 0 ? 422 : 200,
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    body: html`
      ${endpointTabs(context, events, event?.name ?? null)}
      ${state.secret !== undefined && secretNotice(state.secret)}
      ${found !== null && statusCard(context, found, at)}
      ${card(title, form, { lead: event?.description ?? 'Gets the checked events, beside other endpoints.' })}
      ${activity}
      ${samples.length > 0 && sampleCard(samples)}`,
  };
}

/** All endpoints of the publisher. */
export function endpointListPage(context: PublisherContext, events: EventTypes, all: readonly FoundEndpoint[]): Page {
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  const rows = all.map(({ endpoint, health }) => {
    const state = viewOfState(endpoint, health);
    return [
      strongLink(context.path(`${basePath}/${endpoint.event ?? endpoint.id}`), endpointName(endpoint)),
      html`<code>${endpoint.url}</code>`,
      endpoint.events.join(', '),
      badge(state.status, statusTone(state)),
      state.pending,
      state.held,
    ];
  });
  const add = linkButton(context.path(`${basePath}/new`), 'Add endpoint', 'main');
  return {
    title: 'Webhooks',
    lead,
    nav: 'webhooks',
    body: html`
      ${endpointTabs(context, events, null)}
      ${card('All endpoints', rows.length === 0 ? noEndpoints : table('Endpoints', listColumns, rows), {
        lead: `Several endpoints may get the same event; up to ${maxEndpoints} in all.`,
        ...(canEdit && { actions: add }),
      })}`,
  };
}

const noEndpoints = html`<p class="hint">No endpoints yet.</p>`;

const listColumns = [
  { text: 'Endpoint' },
  { text: 'URL' },
  { text: 'Events' },
  { text: 'Status' },
  { text: 'Pending', numeric: true },
  { text: 'Held', numeric: true },
];

/** One tab for the default endpoint of each event, and one for all. */
function endpointTabs({ path }: PublisherContext, events: EventTypes, current: string | null): Html {
  return tabs('Events', [
    ...[...events.values()].flatMap(({ name, title, isOperational }) =>
      isOperational && name !== current
        ? []
        : [
            {
              text: title,
              href: path(`${basePath}/${name}`),
              current: name === current,
            },
          ],
    ),
    { text: 'All endpoints', href: path(`${basePath}/all`), current: current === null },
  ]);
}

const sampleCard = (samples: EndpointTarget['samples']): Html =>
  card(
    'Sample payload',
    html`${samples.map(({ title, payload }) =>
      moreFields(title, codeBlock(`Sample payload of ${title}`, JSON.stringify(JSON.parse(payload), null, 2))),
    )}`,
    { lead: html`Made-up values, as “Test Endpoint” sends them. ${link('/docs/events', 'Schemas of all events')}.` },
  );

const secretNotice = (secret: string): Html =>
  notice(
    'done',
    html`
      <p><strong>Signing secret created.</strong> Your server verifies signatures with it. It is not shown again.</p>
      ${copyable(secret, 'signing secret')}`,
  );

type FormTarget = { at: string; found: FoundEndpoint | null; canEdit: boolean; events: EventTypes | null };

function endpointForm(
  context: PublisherContext,
  { at, found, canEdit, events }: FormTarget,
  { typed, errors, result = nothing }: EndpointPageState,
): Html {
  const form = createForm(typed ?? endpointToForm(found), errors);
  const fields = endpointFields(form, events);
  if (!canEdit) return readOnlyFields(fields);
  const testButton = html`
    <button class="button" formaction="${at}/test" hx-post="${at}/test" hx-target="#test-result" hx-swap="innerHTML"
      hx-disabled-elt="this">Test Endpoint</button>`;
  return html`
    ${saveForm(context, at, html`${form.summary()}${fields}`, { extra: testButton })}
    <div id="test-result" class="below" aria-live="polite">${result}</div>`;
}
