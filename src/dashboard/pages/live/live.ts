import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { createEventStreams, type StreamEvent } from '../../../platform/http/event-streams.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import type { App } from '../../../platform/ports.ts';
import { card, emptyState } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';
import { findNotices, noticeTable } from './notices.ts';
import { watchCalls } from './watch.ts';

const noticesLookbackMs = dayMs;

/** Calls as they come, with request, answer and what to do (docs/interface.md#live-calls). */
export function livePages(app: App, services: PageServices): void {
  const { pool, now, logger } = services.deps;
  const streams = createEventStreams(logger);
  app.addHook('preClose', async () => streams.close());
  publisherPages(app, services).get('/live', 'analyst', async (context) => {
    const notices = await findNotices(pool, context.publisher.id, now() - noticesLookbackMs);
    return {
      title: 'Live',
      lead: 'Every call with one of your keys as it comes, refused ones too.',
      nav: 'live',
      body: html`
        ${liveCard(context)}
        ${card(
          'Ignored, dropped or refused',
          notices.length === 0
            ? emptyState('check', 'Nothing', 'All requests of the last 24 hours were taken as they came.')
            : noticeTable(notices, context),
          { lead: 'Offer requests of the last 24 hours: the field and the reason, never its value.' },
        )}`,
    };
  });
  app.get('/dashboard/p/:publisherId/live/stream', { schema: { hide: true } }, (request, reply) => {
    const publisher = request.viewedPublisher;
    if (publisher === null) return reply.callNotFound();
    streams.open(reply, { owner: `user ${request.viewer?.user.id}`, next: opened(services, publisher) });
  });
}

/** The first answer tells the page that calls are recorded from now on. */
function opened({ deps }: PageServices, publisher: Publisher): () => Promise<StreamEvent[]> {
  const next = watchCalls(deps, publisher);
  let isOpen = false;
  return async () => {
    const events = await next();
    if (isOpen) return events;
    isOpen = true;
    return [{ name: 'watching', data: '' }, ...events];
  };
}

const kinds = [
  ['', 'All calls'],
  ['refused', 'Refused'],
  ['partly', 'Accepted in part'],
  ['answered', 'Answered'],
] as const;

/** The list that fills itself; also on the integration page. */
export const liveCard = ({ path }: PublisherContext): Html =>
  card(
    'Live calls',
    html`
      <div class="stream-tools">
        <select data-stream-kind aria-label="Kind of calls">
          ${kinds.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
        </select>
        <input type="search" data-stream-filter aria-label="Filter live calls" placeholder="Filter, such as checkout">
        <button type="button" class="button" data-stream-pause aria-pressed="false">Pause</button>
      </div>
      <p class="waiting" data-waiting><span class="live-dot"></span><span data-waiting-text>Connecting…</span></p>
      <ol class="stream" data-stream="${path('/live/stream')}" aria-live="polite"
        aria-label="Calls, newest first"></ol>`,
    {
      lead:
        'Offer requests of the last minute and every call from now on, with request and answer while this page is ' +
        'open. Secrets and identifiers of users are masked. Development requests appear only here.',
    },
  );
