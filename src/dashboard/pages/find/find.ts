import { type PublisherContext, publisherPages, searchPublishers } from '../../../catalog/pages.ts';
import { type SearchedKind, searchedKinds } from '../../../catalog-admin/kinds.ts';
import type { View } from '../../../management/resource.ts';
import { findDecision } from '../../../offers/re-decide.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { isPossibleUuid7 } from '../../../platform/lib/uuid7.ts';
import { noMatches } from '../../../shell/components.ts';
import { type PageContext, publisherPath, queryText } from '../../../shell/context.ts';
import { isSection, type ListedPage, pagesFor } from '../../../shell/navigation.ts';
import { commonPages } from '../../../shell/pages.ts';
import { readDeliveryId } from '../../../webhooks/delivery-filter.ts';
import { findDelivery } from '../../../webhooks/delivery-store.ts';
import { readEndpointLabels } from '../../../webhooks/endpoint-store.ts';
import type { FindStory } from '../../story/find.ts';
import { storyPath } from '../../story/page.ts';
import type { Match } from '../../story/resolve.ts';
import type { PageServices } from '../services.ts';

/** Maximum number of search results per kind. */
const maxOfKind = 5;
const maxPublishers = 20;
const maxLength = 200;

type FindServices = PageServices & { findStory: FindStory };

type Scope = FindServices & { failFast: ReturnType<typeof createFailFast> };

/**
 * Registers the search over all rows that the viewer may open. Its results are shown in the search dialog on every page
 * (finder.js).
 */
export function findPages(app: App, services: FindServices): void {
  const scope: Scope = { ...services, failFast: createFailFast(services.deps.dbHealth) };
  publisherPages(app, services).get('/find', 'analyst', async (context) => {
    const text = textIn(context);
    if (queryText(context, 'only') === 'publishers')
      return { fragment: foundList([publisherGroup(scope, context, text)]) };
    return { fragment: foundList(await everything(scope, context, text)) };
  });
  commonPages(app, services).get('/find', 'operator', async (context) => {
    const text = textIn(context);
    return { fragment: foundList([pageGroup(scope, context, null, text), publisherGroup(scope, context, text)]) };
  });
}

const textIn = (context: PageContext): string => {
  const text = queryText(context, 'q').trim();
  return text.length > maxLength || text.includes('\0') || !text.isWellFormed() ? '' : text;
};

async function everything(scope: Scope, context: PublisherContext, text: string): Promise<FoundGroup[]> {
  const pages = pageGroup(scope, context, context.publisher.id, text);
  if (text === '') return [pages];
  const [rows, endpoints, ids] = await Promise.all([
    Promise.all(searchedKinds.map((kind) => rowGroup(scope, context, kind, text))),
    endpointGroup(scope, context, text),
    idGroup(scope, context, text),
  ]);
  const isRecord = ids.entries.length > 0 && isPossibleUuid7(text.toLowerCase(), scope.deps.now());
  const users = isRecord ? [] : [userGroup(context, text)];
  const others = [publisherGroup(scope, context, text), requestGroup(context, text), ...users];
  // Enter opens the first result. If the text is the beginning of a page's name, this is the page.
  const isPage = pages.entries[0] !== undefined && startsWith(pages.entries[0].text, text);
  return isPage ? [pages, ids, ...rows, endpoints, ...others] : [ids, ...rows, endpoints, pages, ...others];
}

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
const startsWith = (text: string, part: string): boolean => text.toLowerCase().startsWith(part.toLowerCase());

/**
 * Lists the pages whose names and search terms contain all words of the text, in any language of the dashboard. Pages
 * whose names begin with the text come first, then those whose names contain it.
 */
function pageGroup(
  { navigation }: Scope,
  { viewer }: PageContext,
  publisherId: number | null,
  text: string,
): FoundGroup {
  const words = text.split(/\s+/);
  const isMatch = ({ names }: ListedPage): boolean => words.every((word) => names.some((name) => contains(name, word)));
  const score = (name: string): number => Number(contains(name, text)) + Number(startsWith(name, text));
  const pages = pagesFor(navigation, publisherId, viewer)
    .filter((page) => (text === '' ? page.inNavigation : isMatch(page)))
    .sort((a, b) => score(b.text) - score(a.text));
  return { title: t('common.pages'), entries: pages.map(({ text, href, area }) => ({ text, href, detail: area })) };
}

/** Lists the publishers that the viewer may open. Each links to the current page for that publisher. */
function publisherGroup({ deps, navigation }: Scope, context: PageContext, text: string): FoundGroup {
  const section = queryText(context, 'section');
  const page = isSection(navigation, section) ? section : '/overview';
  const { user, publisherIds } = context.viewer;
  const { publishers } = deps.catalog.current();
  const memberOf = publisherIds.length > 1 ? publisherIds.flatMap((id) => publishers.get(id) ?? []) : [];
  const matches = searchPublishers(user.role === 'operator' ? publishers.values() : memberOf, text, maxPublishers);
  return {
    title: t('nav.publishers'),
    entries: matches.map(({ id, name }) => ({
      text: name,
      detail: t('find.publisher', { id }),
      href: publisherPath(id, page),
    })),
  };
}

async function rowGroup(
  { management }: Scope,
  context: PublisherContext,
  { title, resource, path, nameOf }: SearchedKind,
  text: string,
): Promise<FoundGroup> {
  const { rows } = await management.list(context, resource, { q: text, limit: String(maxOfKind) });
  const byId = /^[1-9]\d{0,8}$/.test(text) && resource.key === 'id' ? await rowOf(text) : [];
  const others = rows.filter(({ id }) => byId[0] === undefined || id !== byId[0].id);
  return {
    title: t(title),
    entries: [...byId, ...others].map((row) => ({
      text: String(nameOf(row)),
      detail: String(row[resource.key]),
      href: context.path(`${path}/${encodeURIComponent(String(row[resource.key]))}`),
    })),
  };

  async function rowOf(id: string): Promise<View[]> {
    try {
      return [await management.get(context, resource, id)];
    } catch (err) {
      if (err instanceof AppError && err.status === 404) return [];
      throw err;
    }
  }
}

async function endpointGroup({ deps, failFast }: Scope, { publisher, path }: PublisherContext, text: string) {
  const labels = await failFast(() => readEndpointLabels(deps.pool, publisher.id));
  const matches = [...labels].filter(
    ([id, { name, status }]) => status !== 'removed' && (contains(name, text) || String(id) === text),
  );
  const entries = matches.slice(0, maxOfKind).map(([id, { name, status }]) => ({
    text: name,
    detail:
      status === 'active'
        ? t('find.endpoint', { id })
        : t('find.endpointIs', { id, status: t(`endpointStatus.${status}`) }),
    href: path(`/deliveries?endpoint=${id}`),
  }));
  return { title: t('find.endpoints'), entries };
}

/** Entry for the story of a session that an ID leads to. An ID with several sessions opens their list. */
function storyEntry(
  { path }: PublisherContext,
  { kind, sessionIds }: Match,
  text: string,
): FoundGroup['entries'][number] {
  const [sessionId = ''] = sessionIds;
  const isList = sessionIds.length > 1;
  return {
    text: t(`story.match_${kind}`),
    detail: isList ? t('story.matchLead', { count: sessionIds.length }) : t('find.session', { id: sessionId }),
    href: path(isList ? `${storyPath}?id=${encodeURIComponent(text)}` : `${storyPath}/${sessionId}`),
  };
}

/**
 * Finds what an ID belongs to: the story of a session, click, transaction, coupon code or user, the decision of a
 * session, or a delivery.
 */
async function idGroup({ deps, failFast, findStory }: Scope, context: PublisherContext, text: string) {
  const { publisher, path } = context;
  const { pool, now } = deps;
  const matches = await failFast(() => findStory.resolve(publisher.id, text));
  const group: FoundGroup = { title: t('find.byId'), entries: [] };
  const id = readDeliveryId(text, now());
  const delivery = id === null ? null : await failFast(() => findDelivery(pool, publisher.id, id));
  if (delivery !== null)
    group.entries.push({
      text: t('find.delivery', { event: delivery.event }),
      detail: text,
      href: path(`/deliveries/${delivery.id}`),
    });
  group.entries.push(...matches.map((match) => storyEntry(context, match, text)));
  const session = text.toLowerCase();
  if (!isPossibleUuid7(session, now())) return group;
  const isKnown = await failFast(() => findDecision(pool, publisher.id, session)).then(
    () => true,
    (err: unknown) => {
      if (err instanceof AppError && err.status === 404) return err.code !== 'session_not_found';
      throw err;
    },
  );
  if (isKnown)
    group.entries.push({
      text: t('find.whyShown'),
      detail: t('find.session', { id: session }),
      href: path(`/why?session=${session}`),
    });
  return group;
}

/** Returns a link to the API log if the text looks like the `request_id` of a response. */
const requestGroup = ({ path }: PublisherContext, text: string): FoundGroup => ({
  title: t('nav.apiLog'),
  entries: /^[0-9a-z]{6}-[0-9a-z]{1,9}$/.test(text)
    ? [{ text: t('find.request', { id: text }), detail: 'request_id', href: path(`/api-log?request_id=${text}`) }]
    : [],
});

/**
 * Links to the pages that accept a user ID instead of searching for users, because only the publisher knows its user
 * IDs.
 */
function userGroup({ path }: PublisherContext, text: string): FoundGroup {
  const user = encodeURIComponent(text);
  return {
    title: t('find.user'),
    entries: [
      {
        text: t('find.deliveriesOf', { user: text }),
        detail: 'pub_user_id',
        href: path(`/deliveries?pub_user_id=${user}`),
      },
      {
        text: t('find.whyOf', { user: text }),
        detail: t('find.userIds'),
        href: path(`/why?user=${user}`),
      },
    ],
  };
}

type FoundGroup = { title: string; entries: { text: string; detail: string; href: string }[] };

/** Renders the results as grouped options for the list box of the search dialog. */
function foundList(groups: readonly FoundGroup[]): Html {
  const nonEmpty = groups.filter(({ entries }) => entries.length > 0);
  if (nonEmpty.length === 0) return noMatches();
  let option = 0;
  const entry = ({ text, detail, href }: FoundGroup['entries'][number]): Html => html`
    <a role="option" aria-selected="false" tabindex="-1" id="found-${option++}" href="${href}">
      <span>${text}</span>${detail !== '' && html` <small>${detail}</small>`}
    </a>`;
  return html`${nonEmpty.map(
    ({ title, entries }, index) => html`
      <div role="group" aria-labelledby="found-group-${index}">
        <p id="found-group-${index}">${title}</p>
        ${entries.map(entry)}
      </div>`,
  )}`;
}
