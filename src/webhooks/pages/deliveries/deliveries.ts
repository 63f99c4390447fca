import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { readCursor, writeCursor } from '../../../platform/http/uuid7-cursor.ts';
import { t } from '../../../platform/i18n/messages.ts';
import {
  actionButton,
  badge,
  type Cell,
  card,
  emptyState,
  linkButton,
  noMatches,
  pager,
  strongLink,
  table,
} from '../../../shell/components.ts';
import { hasRole, pathText, queryText } from '../../../shell/context.ts';
import { moment } from '../../../shell/format.ts';
import { createForm } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import { viewOfDelivery, viewOfWholeDelivery } from '../../deliveries/view.ts';
import { findPage } from '../../deliveries/walk.ts';
import { readDeliveryId } from '../../delivery-filter.ts';
import { findAttempts, findDelivery, readDeliveries } from '../../delivery-store.ts';
import { type EndpointLabel, readEndpointLabels } from '../../endpoint-store.ts';
import type { PageServices } from '../services.ts';
import { deliveryPage } from './delivery-page.ts';
import { filterFields, filterNames, readFilter, type TypedFilter } from './filter.ts';
import { statusBadge } from './timeline.ts';

const rowsPerPage = 50;

type DeliveryView = ReturnType<typeof viewOfDelivery>;
type Scope = { deps: PageServices['deps']; failFast: ReturnType<typeof createFailFast> };

/** Registers the pages that show a publisher's deliveries with their attempts. */
export function deliveryPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  const scope: Scope = { deps: services.deps, failFast: createFailFast(services.deps.dbHealth) };
  pages.get('/deliveries', 'analyst', (context) => listPage(scope, context));
  pages.get('/deliveries/:id', 'analyst', async (context) => deliveryPage(context, await deliveryOf(scope, context)));
}

/**
 * Returns the delivery ID in the page path.
 * @throws AppError `not_found`
 */
export function deliveryIdOf(context: PublisherContext, nowMs: number): string {
  const id = readDeliveryId(pathText(context, 'id'), nowMs);
  if (id === null) throw new AppError('not_found');
  return id;
}

async function deliveryOf({ deps, failFast }: Scope, context: PublisherContext) {
  const id = deliveryIdOf(context, deps.now());
  const row = await failFast(() => findDelivery(deps.pool, context.publisher.id, id));
  if (row === null) throw new AppError('not_found');
  const endpoints = await failFast(() => readEndpointLabels(deps.pool, context.publisher.id));
  const delivery = viewOfWholeDelivery(row, await failFast(() => findAttempts(deps.pool, row.id)));
  return { ...delivery, endpoint: labelOf(endpoints, delivery.endpoint_id) };
}

async function listPage({ deps, failFast }: Scope, context: PublisherContext): Promise<Page> {
  const { publisher } = context;
  const typed: TypedFilter = Object.fromEntries(filterNames.map((name) => [name, queryText(context, name)]));
  const { filter, errors } = readFilter(typed, publisher, deps.now(), deps.events);
  const cursor = queryText(context, 'cursor');
  const below = cursor === '' ? null : readCursor(cursor, deps.now());
  const { rows, next, endpoints } = await failFast(async () => {
    const page = await findPage(deps.pool, filter, below, rowsPerPage);
    const rows = (await readDeliveries(deps.pool, page.keys)).map(viewOfDelivery);
    return { rows, next: page.next, endpoints: await readEndpointLabels(deps.pool, publisher.id) };
  });
  const query = new URLSearchParams(Object.entries(typed).filter(([, value]) => value !== ''));
  const at = context.path('/deliveries');
  const isEmpty = rows.length === 0 && query.size === 0 && cursor === '' && next === null;
  const nextUrl = next && `${at}?${new URLSearchParams([...query, ['cursor', writeCursor(next)]])}`;
  const canRedeliver = hasRole(context.viewer.user.role, 'manager');
  return {
    title: t('deliveries.title'),
    lead: t('deliveries.lead'),
    nav: 'deliveries',
    status: errors.length > 0 ? 422 : 200,
    body: isEmpty
      ? noDeliveries(context)
      : html`
        <form class="filters" method="get" action="${at}" role="search">
          ${filterFields(createForm(typed, errors), publisher.timeZone, { events: deps.events, endpoints })}
          <button class="button">${t('common.apply')}</button>
        </form>
        ${deliveryTable(context, rows, endpoints, next !== null)}
        ${pager(cursor === '' ? null : `${at}?${query}`, nextUrl)}
        ${canRedeliver && (rows.length > 0 || next !== null) ? redeliverCard(context, typed) : nothing}`,
  };
}

const noDeliveries = ({ path }: PublisherContext): Html =>
  emptyState(
    'deliveries',
    t('deliveries.none'),
    t('deliveries.noneLead'),
    linkButton(path('/settings/webhooks'), t('webhooks.add'), 'main'),
  );

const columns = () => [
  { text: t('deliveries.created') },
  { text: t('deliveries.event') },
  { text: t('deliveries.endpoint') },
  { text: t('deliveries.status') },
  { text: t('deliveries.attempts'), numeric: true },
  { text: t('deliveries.lastResponse') },
  { text: t('deliveries.userId') },
];

/**
 * Renders the table of deliveries. A page can be empty although more deliveries follow, because a filtered query reads
 * only a limited number of rows.
 */
function deliveryTable(
  context: PublisherContext,
  rows: readonly DeliveryView[],
  endpoints: ReadonlyMap<number, EndpointLabel>,
  hasNext: boolean,
): Html {
  if (rows.length > 0)
    return table(
      t('deliveries.title'),
      columns(),
      rows.map((row) => deliveryCells(context, row, labelOf(endpoints, row.endpoint_id))),
    );
  return hasNext ? html`<p class="hint">${t('deliveries.noMatchesHere')}</p>` : noMatches();
}

/** Returns the label of an endpoint. If the endpoint has been deleted with its last delivery, the label is its ID. */
const labelOf = (endpoints: ReadonlyMap<number, EndpointLabel>, id: number): EndpointLabel =>
  endpoints.get(id) ?? { name: String(id), status: 'removed', isPulled: false };

const deliveryCells = ({ publisher, path }: PublisherContext, row: DeliveryView, endpoint: EndpointLabel): Cell[] => [
  html`
    ${strongLink(path(`/deliveries/${row.id}`), moment(publisher, row.created_at, 'second'))}
    ${row.dev && badge(t('live.dev'), 'warn')}`,
  row.event,
  html`${endpoint.name} ${endpoint.status !== 'active' && badge(t(`endpointStatus.${endpoint.status}`), 'warn')}`,
  statusBadge(row.status),
  row.tries,
  row.last_status === null ? (row.last_error ?? '–') : String(row.last_status),
  row.pub_user_id ?? '–',
];

/** Renders a card with the form that redelivers all deliveries matching the list filter. */
function redeliverCard(context: PublisherContext, typed: TypedFilter): Html {
  const status = typed.status || 'all';
  const text = status === 'delivered' ? t('deliveries.redeliverMatches') : t('deliveries.retryMatches');
  const button = actionButton(context, {
    to: context.path('/deliveries/replay'),
    text,
    values: typed,
    once: true,
    confirm: t('deliveries.redeliverConfirm', { status }),
  });
  return card(text, button, {
    lead: t('deliveries.redeliverLead', { status }),
  });
}
