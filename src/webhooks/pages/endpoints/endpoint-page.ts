import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import {
  card,
  codeBlock,
  copyable,
  link,
  linkButton,
  notice,
  readOnlyFields,
  saveForm,
  strongLink,
  table,
  tabs,
  warningNotice,
} from '../../../shell/components.ts';
import { type FieldErrors, type FormValues, hasRole } from '../../../shell/context.ts';
import { createForm, moreFields } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import { storedVersion } from '../../../shell/row-list.ts';
import { kindOf } from '../../destinations/kinds.ts';
import { endpointName, maxEndpoints } from '../../endpoint-store.ts';
import { warnOfUrl } from '../../endpoints/url-warnings.ts';
import { viewOfState } from '../../endpoints/view.ts';
import type { EventType, EventTypes } from '../../events.ts';
import { destinationText, type FoundEndpoint } from './destination-fields.ts';
import { endpointFields, endpointToForm, eventLead, eventTitle } from './endpoint-form.ts';
import { statusBadge, statusCard } from './status-card.ts';
import { type RecentDelivery, transformationFields } from './transformation-fields.ts';

export const basePath = '/settings/webhooks';

export type EndpointPageState = {
  typed?: FormValues;
  errors?: FieldErrors;
  /** Newly generated signing secret, if any. */
  secret?: string;
  /** Result of a test call, if any. */
  result?: Html;
  /** Preview of the transformation, if any. */
  preview?: Html;
};

/**
 * Endpoint that a page shows: the default endpoint of an event, an endpoint by ID, or a new endpoint (`ref` is `new`).
 */
export type EndpointTarget = {
  /** Last segment of the page path. */
  ref: string;
  /** Event of a default endpoint, or null for other endpoints. */
  event: EventType | null;
  stored: FoundEndpoint | null;
  /** Sample payloads as JSON, one for each event that the endpoint receives. */
  samples: readonly { event: string; payload: string }[];
  /** Charts of the endpoint's attempts. */
  activity: Html;
  /** Latest deliveries, newest first. */
  recent: readonly RecentDelivery[];
  /** Instructions for pulling events. */
  pull: Html;
};

export function endpointPage(
  context: PublisherContext,
  events: EventTypes,
  { ref, event, stored, samples, activity, recent, pull }: EndpointTarget,
  state: EndpointPageState,
): Page {
  const at = context.path(`${basePath}/${ref}`);
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  const eventNames = event === null ? [...events.keys()] : [event.name];
  const fields = { at, stored, canEdit, events: event === null ? events : null, eventNames, recent };
  const form = endpointForm(context, fields, state);
  const title =
    stored === null ? t('webhooks.add') : event === null ? endpointName(stored.endpoint) : t('webhooks.endpoint');
  return {
    title: t('webhooks.title'),
    lead: t('webhooks.lead'),
    nav: 'webhooks',
    status: (state.errors ?? []).length > 0 ? 422 : 200,
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    body: html`
      ${endpointTabs(context, events, event?.name ?? null)}
      ${state.secret !== undefined && secretNotice(state.secret)}
      ${stored !== null && warningNotice(warnOfUrl(stored.endpoint, events))}
      ${stored !== null && statusCard(context, stored, at)}
      ${pull}
      ${card(title, form, { lead: event === null ? t('webhooks.ownLead') : eventLead(event.name) })}
      ${activity}
      ${samples.length > 0 && sampleCard(samples)}`,
  };
}

/** Builds the page that lists the publisher's endpoints. */
export function endpointListPage(context: PublisherContext, events: EventTypes, all: readonly FoundEndpoint[]): Page {
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  const rows = all.map(({ endpoint, health }) => {
    const state = viewOfState(endpoint, health);
    return [
      strongLink(context.path(`${basePath}/${endpoint.event ?? endpoint.id}`), endpointName(endpoint)),
      destinationText(endpoint),
      endpoint.events.join(', '),
      statusBadge(state),
      state.pending,
      state.held,
    ];
  });
  const add = linkButton(context.path(`${basePath}/new`), t('webhooks.add'), 'main');
  return {
    title: t('webhooks.title'),
    lead: t('webhooks.lead'),
    nav: 'webhooks',
    body: html`
      ${endpointTabs(context, events, null)}
      ${card(
        t('webhooks.all'),
        rows.length === 0 ? noEndpoints() : table(t('webhooks.endpoints'), listColumns(), rows),
        {
          lead: t('webhooks.allLead', { max: maxEndpoints }),
          ...(canEdit && { actions: add }),
        },
      )}`,
  };
}

const noEndpoints = (): Html => html`<p class="hint">${t('webhooks.none')}</p>`;

const listColumns = () => [
  { text: t('webhooks.endpoint') },
  { text: t('destinations.label') },
  { text: t('webhooks.events') },
  { text: t('webhooks.status') },
  { text: t('webhooks.pending'), numeric: true },
  { text: t('webhooks.held'), numeric: true },
];

/** Renders the tabs: one for the default endpoint of each event, and one for the list of all endpoints. */
function endpointTabs({ path }: PublisherContext, events: EventTypes, current: string | null): Html {
  return tabs(t('webhooks.events'), [
    ...[...events.values()].flatMap(({ name, isOperational }) =>
      isOperational && name !== current
        ? []
        : [
            {
              text: eventTitle(name),
              href: path(`${basePath}/${name}`),
              current: name === current,
            },
          ],
    ),
    { text: t('webhooks.all'), href: path(`${basePath}/all`), current: current === null },
  ]);
}

const sampleCard = (samples: EndpointTarget['samples']): Html =>
  card(
    t('webhooks.sample'),
    html`${samples.map(({ event, payload }) => {
      const label = t('webhooks.sampleOf', { event: eventTitle(event) });
      return moreFields(eventTitle(event), codeBlock(label, JSON.stringify(JSON.parse(payload), null, 2)));
    })}`,
    { lead: tHtml('webhooks.sampleLead', { link: (text) => link('/docs/events', text) }) },
  );

const secretNotice = (secret: string): Html =>
  notice(
    'done',
    html`
      <p>${tHtml('webhooks.secretCreated')}</p>
      ${copyable(secret, t('webhooks.signingSecret'))}`,
  );

type FormTarget = {
  at: string;
  stored: FoundEndpoint | null;
  canEdit: boolean;
  events: EventTypes | null;
  eventNames: readonly string[];
  recent: readonly RecentDelivery[];
};

function endpointForm(
  context: PublisherContext,
  { at, stored, canEdit, events, eventNames, recent }: FormTarget,
  { typed, errors, result = nothing, preview = nothing }: EndpointPageState,
): Html {
  const storedValues = endpointToForm(stored);
  const form = createForm(typed ?? storedValues, errors);
  const version = storedVersion(storedValues, errors === undefined ? typed : {});
  const transformation = transformationFields(context, form, { at, events: eventNames, recent, canEdit, preview });
  const fields = endpointFields(form, events, stored?.endpoint ?? null, transformation);
  if (!canEdit) return readOnlyFields(fields);
  const isPulled = stored !== null && kindOf(stored.endpoint.url) === 'pull';
  const testButton = html`
    <button class="button" formaction="${at}/test" hx-post="${at}/test" hx-target="#test-result" hx-swap="innerHTML"
      hx-disabled-elt="this">${t('webhooks.test')}</button>`;
  return html`
    ${saveForm(context, at, html`${form.summary()}${version}${fields}`, {
      once: stored === null,
      extra: isPulled ? nothing : testButton,
    })}
    <div id="test-result" class="below" aria-live="polite">${result}</div>`;
}
