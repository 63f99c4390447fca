import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { createEventStreams, type StreamEvent } from '../../../platform/http/event-streams.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { asReader, type Reader, reader } from '../../../platform/i18n/reader.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import type { App } from '../../../platform/ports.ts';
import { card, emptyState } from '../../../shell/components.ts';
import type { PublisherContext } from '../../../shell/context.ts';
import { type PageServices, publisherPages } from '../../../shell/pages.ts';
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
      title: t('nav.live'),
      lead: t('live.lead'),
      nav: 'live',
      body: html`
        ${liveCard(context)}
        ${card(
          t('live.notices'),
          notices.length === 0
            ? emptyState('check', t('live.noNotices'), t('live.noNoticesText'))
            : noticeTable(notices, context),
          { lead: t('live.noticesLead') },
        )}`,
    };
  });
  app.get('/dashboard/p/:publisherId/live/stream', { schema: { hide: true } }, (request, reply) => {
    const publisher = request.viewedPublisher;
    if (publisher === null) return reply.callNotFound();
    streams.open(reply, { owner: `user ${request.viewer?.user.id}`, next: opened(services, publisher, reader()) });
  });
}

/** The first answer tells the page that calls are recorded from now on. */
function opened({ deps }: PageServices, publisher: Publisher, who: Reader): () => Promise<StreamEvent[]> {
  const next = watchCalls(deps, publisher);
  let isOpen = false;
  return async () => {
    const events = await asReader(who, next);
    if (isOpen) return events;
    isOpen = true;
    return [{ name: 'watching', data: '' }, ...events];
  };
}

const kinds = [
  ['', 'live.allCalls'],
  ['refused', 'live.kindRefused'],
  ['partly', 'live.kindPartly'],
  ['answered', 'live.kindAnswered'],
] as const satisfies readonly (readonly [string, MessageKey])[];

/** The list that fills itself; also on the integration page. */
export const liveCard = ({ path }: PublisherContext): Html =>
  card(
    t('live.calls'),
    html`
      <div class="stream-tools">
        <select data-stream-kind aria-label="${t('live.kind')}">
          ${kinds.map(([value, text]) => html`<option value="${value}">${t(text)}</option>`)}
        </select>
        <input type="search" data-stream-filter aria-label="${t('live.filter')}"
          placeholder="${t('live.filterExample')}">
        <button type="button" class="button" data-stream-pause aria-pressed="false">${t('live.pause')}</button>
      </div>
      <p class="waiting" data-waiting>
        <span class="live-dot"></span><span data-waiting-text>${t('live.connecting')}</span>
      </p>
      <ol class="stream" data-stream="${path('/live/stream')}" aria-live="polite"
        aria-label="${t('live.list')}"></ol>`,
    { lead: t('live.callsLead') },
  );
