import type { SessionCheck } from '../../../accounts/sessions.ts';
import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Publisher } from '../../../catalog/types.ts';
import type { App } from '../../../platform/http/app.ts';
import { createEventStreams, type StreamEvent } from '../../../platform/http/event-streams.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { asReader, type Reader, reader } from '../../../platform/i18n/reader.ts';
import type { Logger } from '../../../platform/logger.ts';
import { card, emptyState, linkButton } from '../../../shell/components.ts';
import type { Shell } from '../../../shell/layout.ts';
import { publisherPrefix } from '../../../shell/pages.ts';
import { liveCard } from '../../live-card.ts';
import { countRefused, findNotices } from '../../request-log/store.ts';
import { dashboardLinks, type LinkTo, withoutLinks } from './advice.ts';
import { noticeTable } from './notices.ts';
import { type LiveSources, watchCalls } from './watch.ts';

type LiveDeps = LiveSources & { logger: Logger; checkSession: SessionCheck };

/**
 * Registers the pages for live calls, which show requests and responses with advice
 * (docs/reference/debugging.md#live-calls).
 */
export function livePages(app: App, shell: Shell, { logger, checkSession, ...sources }: LiveDeps): void {
  const { pool, now } = sources;
  const streams = createEventStreams(logger);
  app.addHook('preClose', async () => streams.close());
  const pages = publisherPages(app, shell);
  const noticeList = async (context: PublisherContext): Promise<Html> => {
    const [notices, refused] = await Promise.all([
      findNotices(pool, context.publisher.id, now()),
      countRefused(pool, context.publisher.id, now()),
    ]);
    return html`
      <div hx-get="${context.path('/live/notices')}" hx-trigger="every 5s" hx-swap="outerHTML">
        ${notices.length === 0 ? noProblems(refused) : noticeTable(notices, context)}
      </div>`;
  };
  pages.get('/live/notices', 'analyst', async (context) => ({ fragment: await noticeList(context) }));
  pages.get('/live', 'analyst', async (context) => {
    return {
      title: t('nav.live'),
      lead: t('live.lead'),
      nav: 'live',
      body: html`
        ${liveCard(context)}
        ${card(t('live.notices'), await noticeList(context), {
          lead: t('live.noticesLead'),
          ...(shell.isPortal !== true && { actions: linkButton(context.path('/api-log'), t('nav.apiLog')) }),
        })}`,
    };
  });
  app.get(`${publisherPrefix(shell)}/live/stream`, { schema: { hide: true } }, (request, reply) => {
    const publisher = request.viewedPublisher as Publisher | null;
    const { viewer, portal } = request;
    if (publisher === null || viewer === null) return reply.callNotFound();
    const isAllowed = () => checkSession(viewer);
    streams.open(reply, {
      owner: portal === null ? `user ${viewer.user.id}` : `portal ${portal.id}`,
      publisherId: publisher.id,
      next: opened(sources, publisher, portal === null ? dashboardLinks(publisher) : withoutLinks, reader()),
      isAllowed,
    });
    request.endReader();
  });
}

/** Renders the text for a list without notices. Requests can still be refused for reasons other than their fields. */
const noProblems = (refused: number): Html =>
  refused === 0
    ? emptyState('check', t('live.noNotices'), t('live.noNoticesText'))
    : emptyState('alert', t('live.noFieldProblems'), t('live.otherProblems', { count: refused }));

/**
 * Creates the source of the page's event stream. The first response tells the page that calls are now being recorded.
 */
function opened(sources: LiveSources, publisher: Publisher, linkTo: LinkTo, who: Reader): () => Promise<StreamEvent[]> {
  const next = watchCalls(sources, publisher, linkTo);
  let isOpen = false;
  return async () => {
    const events = await asReader(who, next);
    if (isOpen) return events;
    isOpen = true;
    return [{ name: 'watching', data: '' }, ...events];
  };
}
