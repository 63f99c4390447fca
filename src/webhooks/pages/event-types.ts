import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import { createFailFast } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import {
  badge,
  type Cell,
  card,
  copyable,
  csrfField,
  descriptionList,
  hiddenField,
  link,
  linkButton,
  noMatches,
  notice,
  strongLink,
  table,
} from '../../shell/components.ts';
import { type Fields, hasRole, pathText, queryText, reasonOf } from '../../shell/context.ts';
import { count, moment } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { isFragmentRequest, type PageResult } from '../../shell/pages.ts';
import { kindOf } from '../destinations/kinds.ts';
import {
  type Endpoint,
  endpointName,
  type LastSent,
  listEndpoints,
  readLastSent,
  recentDeliveries,
} from '../endpoint-store.ts';
import { testEndpoint } from '../endpoints/test-endpoint.ts';
import { readTarget } from '../endpoints/test-routes.ts';
import { viewOfState } from '../endpoints/view.ts';
import { eventGroupOf, eventGroups } from '../event-groups.ts';
import { type EventType, schemaVersion } from '../events.ts';
import { takeTestToken } from '../test-limit.ts';
import { urlRulesOf } from '../url-rules.ts';
import type { FoundEndpoint } from './endpoints/destination-fields.ts';
import { eventLead, eventTitle } from './endpoints/endpoint-form.ts';
import { basePath } from './endpoints/endpoint-page.ts';
import { statusBadge } from './endpoints/status-card.ts';
import { testResult } from './endpoints/test-result.ts';
import type { PageServices } from './services.ts';

/** URL path of the event catalogue in the dashboard. */
export const eventTypesPath = '/event-types';

type Scope = PageServices & { failFast: ReturnType<typeof createFailFast> };

/** Endpoints of a publisher, and when each event was last sent to each of them. */
type Subscriptions = { endpoints: readonly FoundEndpoint[]; lastSent: readonly LastSent[] };

/**
 * Registers the event catalogue pages: the list of event types with the endpoints that receive them, and a page for
 * each event type, from which users can send a test.
 */
export function eventTypePages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  const scope: Scope = { ...services, failFast: createFailFast(services.deps.dbHealth) };
  pages.get(eventTypesPath, 'analyst', async (context) => listPage(scope, context, await readAll(scope, context)));
  pages.get(`${eventTypesPath}/:event`, 'analyst', (context) => eventPage(scope, context, nothing));
  pages.post(`${eventTypesPath}/:event/test`, 'admin', (context, fields) => sendTest(scope, context, fields));
}

const readAll = ({ deps, failFast }: Scope, { publisher }: PublisherContext): Promise<Subscriptions> =>
  failFast(async () => {
    const endpoints = await listEndpoints(deps.pool, publisher.id, null);
    return {
      endpoints,
      lastSent: await readLastSent(
        deps.pool,
        endpoints.map(({ endpoint }) => endpoint.id),
      ),
    };
  });

const receiversOf = ({ endpoints }: Subscriptions, { name }: EventType): FoundEndpoint[] =>
  endpoints.filter(({ endpoint }) => endpoint.events.includes(name));

/** Returns when an event was last sent to any of the endpoints, or to one of them. */
function lastSentOf({ lastSent }: Subscriptions, { name }: EventType, endpointId: number | null): Date | null {
  const times = lastSent.filter(
    ({ event, endpoint_id: id }) => event === name && (endpointId === null || id === endpointId),
  );
  return times.length === 0 ? null : new Date(Math.max(...times.map(({ at }) => at.getTime())));
}

function listPage({ deps }: Scope, context: PublisherContext, subscriptions: Subscriptions): Page {
  const { path } = context;
  const search = queryText(context, 'q').trim();
  const onlyReceived = queryText(context, 'received') === 'on';
  const isMatch = (type: EventType): boolean => {
    const text = `${type.name} ${eventTitle(type.name)} ${eventLead(type.name)}`.toLowerCase();
    return text.includes(search.toLowerCase()) && (!onlyReceived || receiversOf(subscriptions, type).length > 0);
  };
  const matches = [...deps.events.values()].filter(isMatch);
  const form = createForm({ q: search, received: onlyReceived });
  const groups = eventGroups.flatMap((group) => {
    const types = matches.filter((type) => eventGroupOf(type) === group);
    const title = t(`eventTypes.group_${group}`);
    return types.length === 0
      ? []
      : [html`<h2 class="section">${title}</h2>${typeTable(context, title, types, subscriptions)}`];
  });
  return {
    title: t('eventTypes.title'),
    lead: t('eventTypes.lead'),
    nav: 'event-types',
    actions: linkButton('/docs/events', t('eventTypes.reference'), 'quiet'),
    body: html`
      <form class="filters" method="get" action="${path(eventTypesPath)}" role="search">
        ${form.input('q', { label: t('eventTypes.search'), autocomplete: 'off' })}
        ${form.checkbox('received', { label: t('eventTypes.onlyReceived') })}
        <button class="button">${t('common.apply')}</button>
      </form>
      ${groups.length === 0 ? noMatches() : groups}`,
  };
}

function typeTable(
  { publisher, path }: PublisherContext,
  caption: string,
  types: readonly EventType[],
  subscriptions: Subscriptions,
): Html {
  const hint = t('eventTypes.lastSentHint', { count: recentDeliveries });
  const columns = [
    { text: t('deliveries.event') },
    { text: t('eventTypes.received'), numeric: true },
    { text: t('eventTypes.lastSent'), hint },
  ];
  const cellsOf = (type: EventType): Cell[] => {
    const page = path(`${eventTypesPath}/${type.name}`);
    const receivers = receiversOf(subscriptions, type).length;
    const at = lastSentOf(subscriptions, type, null);
    return [
      html`${strongLink(page, eventTitle(type.name))} <code>${type.name}</code>
        <br><span class="hint">${eventLead(type.name)}</span>`,
      receivers === 0 ? '' : link(page, count(receivers)),
      at === null ? '' : link(path(`/deliveries?event=${type.name}`), moment(publisher, at)),
    ];
  };
  return table(caption, columns, types.map(cellsOf));
}

/**
 * Returns the event type in the page path.
 * @throws AppError `not_found`
 */
function typeIn({ deps }: Scope, context: PublisherContext): EventType {
  const type = deps.events.get(pathText(context, 'event'));
  if (type === undefined) throw new AppError('not_found');
  return type;
}

async function eventPage(scope: Scope, context: PublisherContext, result: Html): Promise<Page> {
  const { deps } = scope;
  const { publisher, path } = context;
  const type = typeIn(scope, context);
  const subscriptions = await readAll(scope, context);
  const receivers = receiversOf(subscriptions, type);
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  const sample = type.sample({ publisher, publicUrl: deps.config.publicUrl, nowMs: deps.now() }).toString();
  const add = linkButton(path(`${basePath}/new?event=${type.name}`), t('webhooks.add'), 'main');
  return {
    title: eventTitle(type.name),
    lead: eventLead(type.name),
    nav: 'event-types',
    trail: [{ text: t('eventTypes.title'), href: path(eventTypesPath) }],
    actions: linkButton(path(`/deliveries?event=${type.name}`), t('nav.deliveries'), 'quiet'),
    body: html`
      ${card(
        t('eventTypes.received'),
        html`
          ${
            receivers.length === 0
              ? html`<p class="hint">${t('eventTypes.notReceived')}</p>`
              : receiverTable(context, type, receivers, subscriptions, canEdit)
          }
          <div id="test-result" class="below" aria-live="polite">${result}</div>`,
        { ...(canEdit && { actions: add }) },
      )}
      ${card(
        t('eventTypes.payload'),
        html`
          ${descriptionList([
            [t('common.name'), html`<code>${type.name}</code>`],
            [t('eventTypes.group'), t(`eventTypes.group_${eventGroupOf(type)}`)],
            [t('eventTypes.version'), count(schemaVersion)],
            [
              t('eventTypes.schema'),
              html`
                ${link(`/docs/events/${type.name}.v${schemaVersion}.json`, t('eventTypes.jsonSchema'))} ·
                ${link(`/docs/events#${type.name}`, t('eventTypes.fields'))}`,
            ],
          ])}
          <h3>${t('webhooks.sample')}</h3>
          ${copyable(JSON.stringify(JSON.parse(sample), null, 2), t('webhooks.sample'))}`,
        { lead: t('eventTypes.versionLead') },
      )}`,
  };
}

function receiverTable(
  context: PublisherContext,
  type: EventType,
  receivers: readonly FoundEndpoint[],
  subscriptions: Subscriptions,
  canEdit: boolean,
): Html {
  const { publisher, path } = context;
  const columns = [
    { text: t('webhooks.endpoint') },
    { text: t('webhooks.status') },
    { text: t('eventTypes.lastSent'), hint: t('eventTypes.lastSentHint', { count: recentDeliveries }) },
    { text: t('common.actions'), hidden: true },
  ];
  const cellsOf = ({ endpoint, health }: FoundEndpoint): Cell[] => {
    const at = lastSentOf(subscriptions, type, endpoint.id);
    const deliveries = path(`/deliveries?event=${type.name}&endpoint=${endpoint.id}`);
    return [
      strongLink(path(`${basePath}/${endpoint.event ?? endpoint.id}`), endpointName(endpoint)),
      statusBadge(viewOfState(endpoint, health)),
      at === null ? '–' : link(deliveries, moment(publisher, at)),
      canEdit ? testButton(context, type, endpoint) : nothing,
    ];
  };
  return table(t('eventTypes.received'), columns, receivers.map(cellsOf));
}

/** Renders the button that sends a test, or why the endpoint cannot be tested. */
function testButton({ path, viewer }: PublisherContext, { name }: EventType, endpoint: Endpoint): Html {
  if (kindOf(endpoint.url) === 'pull') return html`<div class="row-actions">${badge(t('eventTypes.isPulled'))}</div>`;
  const to = path(`${eventTypesPath}/${name}/test`);
  return html`
    <form class="row-actions" method="post" action="${to}" hx-post="${to}" hx-target="#test-result"
      hx-swap="innerHTML" hx-disabled-elt="find button">
      ${csrfField(viewer)}${hiddenField('endpoint', endpoint.id)}
      <button class="button small">${t('webhooks.test')}</button>
    </form>`;
}

/** Sends a test of the event to a saved endpoint that receives it. */
async function sendTest(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { deps, failFast } = scope;
  const { publisher, request } = context;
  const type = typeIn(scope, context);
  const receiver = receiversOf(await readAll(scope, context), type).find(
    ({ endpoint }) => String(endpoint.id) === fields.text('endpoint'),
  );
  if (receiver === undefined) throw new AppError('not_found');
  const answer = (result: Html): Promise<PageResult> | PageResult =>
    isFragmentRequest(request) ? { fragment: result } : eventPage(scope, context, result);
  try {
    await failFast(() => takeTestToken(deps.pool, publisher.id, deps.now()));
    const target = readTarget(type, {}, receiver.endpoint, { ...deps, rules: urlRulesOf(deps.config) });
    const tools = { ...deps, publisher, publicUrl: deps.config.publicUrl };
    return answer(testResult(await testEndpoint(target, tools)));
  } catch (err) {
    if (!(err instanceof AppError)) throw err;
    return answer(notice('failed', html`<p>${reasonOf(err)}</p>`));
  }
}
