import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { createEventStreams, type StreamEvent } from '../../../platform/http/event-streams.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { hourMs, minuteMs } from '../../../platform/lib/time.ts';
import type { App, PlatformDeps } from '../../../platform/ports.ts';
import { badge, card, copyable, descriptionList, link, tabs } from '../../shell/components.ts';
import { type PublisherContext, publisherPath, queryText } from '../../shell/context.ts';
import { moment, plural } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';
import { setupChecklist } from '../setup/checklist.ts';
import { findNotices, noticeItem } from './live-notices.ts';
import { findRequests, type LiveRequest, sessionIdAt, sessionsAfter } from './live-requests.ts';
import { type Snippet, snippetsFor } from './snippets.ts';

/** Requests a stream keeps up to date. */
const maxWatched = 30;
/** New requests read at once. */
const maxNew = 200;
/** How far back a stream begins (milliseconds). */
const lookbackMs = minuteMs;
const noticeLookbackMs = hourMs;

/** Code snippets with the publisher's SDK id, and incoming requests live. */
export function integrationPages(app: App, services: PageServices): void {
  const { deps } = services;
  const pages = publisherPages(app, services);
  const failFast = createFailFast(deps.dbHealth);
  const streams = createEventStreams(deps.logger);
  app.addHook('preClose', async () => streams.close());
  pages.get('/integration', 'analyst', async (context) =>
    integrationPage(context, deps.config.publicUrl, await setupChecklist({ services, failFast }, context)),
  );
  app.get('/dashboard/p/:publisherId/integration/stream', { schema: { hide: true } }, (request, reply) => {
    const publisher = request.viewedPublisher;
    if (publisher === null) return reply.callNotFound();
    const requests = watchRequests(deps, publisher);
    const notices = watchNotices(deps, publisher);
    const owner = `user ${request.viewer?.user.id}`;
    streams.open(reply, { owner, next: async () => [...(await notices()), ...(await requests())] });
  });
}

function integrationPage(context: PublisherContext, publicUrl: string, checklist: Html): Page {
  const { publisher, path } = context;
  const snippets = snippetsFor(publisher, publicUrl);
  const wanted = queryText(context, 'with');
  const current = snippets.find(({ key }) => key === wanted) ?? (snippets[0] as Snippet);
  const snippetTabs = snippets.map(({ key, title }) => ({
    text: title,
    href: `${path('/integration')}?with=${key}`,
    current: key === current.key,
  }));
  const { guide } = current;
  return {
    title: 'Integration',
    lead: 'Add a snippet to your site or app. Requests appear below as they arrive.',
    nav: 'integration',
    body: html`
      ${checklist}
      ${credentialsCard(context, publicUrl)}
      ${tabs('Snippets', snippetTabs)}
      ${copyable(current.text, `${current.title} snippet`)}
      ${guide !== null && html`<p class="hint below">Guide: <code>docs/guides/${guide}.md</code></p>`}
      ${liveCard(context)}`,
  };
}

function credentialsCard({ publisher, path }: PublisherContext, publicUrl: string): Html {
  const apiKeys = link(path('/settings/keys'), 'API key');
  return card(
    'Credentials',
    descriptionList([
      ['SDK id', html`<code>${publisher.sdkId}</code>`],
      ['Base URL', html`<code>${publicUrl}</code>`],
      ['Offers per response', publisher.offersPerResponse],
    ]),
    { lead: html`The SDK id is public and only fetches offers. For everything else, create an ${apiKeys}.` },
  );
}

const liveCard = ({ path }: PublisherContext): Html =>
  card(
    'Live requests',
    html`
      <div class="stream-tools">
        <input type="search" data-stream-filter aria-label="Filter live requests" placeholder="Filter, such as refused">
        <button type="button" class="button" data-stream-pause aria-pressed="false">Pause</button>
      </div>
      <p class="waiting" data-waiting><span class="live-dot"></span>Waiting for the first request…</p>
      <ol class="stream" data-stream="${path('/integration/stream')}" aria-live="polite"
        aria-label="Requests, newest first"></ol>`,
    {
      lead:
        'Offer requests of the last minute and new ones, with their events, and what of them was ignored, dropped or ' +
        'refused in the last hour. Development requests appear only here.',
    },
  );

/** @returns a function that returns new and changed requests each time it is called */
function watchRequests({ pool, now, dbHealth }: PlatformDeps, publisher: Publisher): () => Promise<StreamEvent[]> {
  const known = new Map<string, string>();
  let lastId = sessionIdAt(now() - lookbackMs);
  return async () => {
    if (!dbHealth.isUp()) return [];
    const fresh = await sessionsAfter(pool, publisher.id, lastId, maxNew);
    lastId = fresh.at(-1) ?? lastId;
    const ids = [...new Set([...known.keys(), ...fresh])].slice(-maxWatched);
    const changed: StreamEvent[] = [];
    for (const request of (await findRequests(pool, publisher.id, ids)).reverse()) {
      const { markup } = requestItem(request, publisher);
      if (known.get(request.sessionId) === markup) continue;
      known.set(request.sessionId, markup);
      changed.push({ name: 'item', data: markup });
    }
    for (const id of [...known.keys()].slice(0, -maxWatched)) known.delete(id);
    return changed;
  };
}

/** @returns a function that returns new and repeated notices each time it is called */
function watchNotices({ pool, now, dbHealth }: PlatformDeps, publisher: Publisher): () => Promise<StreamEvent[]> {
  let known = new Map<string, string>();
  return async () => {
    if (!dbHealth.isUp()) return [];
    const notices = await findNotices(pool, publisher.id, now() - noticeLookbackMs);
    const current = new Map(
      notices.map((notice) => [`${notice.path} ${notice.message}`, noticeItem(notice, publisher).markup]),
    );
    const changed = [...current].filter(([name, markup]) => known.get(name) !== markup);
    known = current;
    return changed.map(([, data]) => ({ name: 'item', data }));
  };
}

const eventTexts = { impression: 'impression', click: 'click', no_thanks: 'no thanks', close: 'close' } as const;

function requestItem(request: LiveRequest, publisher: Publisher): Html {
  const why = publisherPath(publisher.id, `/why?session=${request.sessionId}`);
  const { sessionId, country, wrappedAt } = request;
  const events = Object.entries(eventTexts).flatMap(([kind, text]) => {
    const count = request.events[kind] ?? 0;
    return count === 0 ? [] : [badge(`${count} ${text}`, kind === 'click' ? 'good' : 'info')];
  });
  return html`<li id="request-${sessionId}">
    ${moment(publisher, request.at, 'second')}
    <strong>${request.placement}</strong>
    <span>${plural(request.offers, 'offer')}</span>
    ${country !== null && html`<span>${country}</span>`}
    ${request.dev && badge('dev', 'warn')}
    ${events}
    ${wrappedAt !== null && badge(`confirmed, ${plural(request.selected ?? 0, 'perk')}`, 'good')}
    <code class="hint">${link(why, sessionId)}</code>
  </li>`;
}
