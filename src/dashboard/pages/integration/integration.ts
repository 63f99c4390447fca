import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, card, copyable, facts, tabs } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { createStreams, type StreamEvent } from '../../shell/event-streams.ts';
import { moment, plural } from '../../shell/format.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { type Call, callsOf, sessionIdAt, sessionsAfter } from './recent-calls.ts';
import { type Snippet, snippetsFor } from './snippets.ts';

/** Calls a stream keeps up to date (count), and how far back it begins (milliseconds). */
const watched = 30;
const backMs = 60_000;

/** Snippets with the publisher's own id, and below them what arrives, as it arrives. */
export function integrationPages(app: App, tools: Tools): void {
  const { pool, config, now, logger, dbHealth } = tools.deps;
  const pages = publisherPages(app, tools);
  const streams = createStreams(logger);
  app.addHook('preClose', async () => streams.close());

  pages.get('/integration', 'analyst', (context) => {
    const { publisher, path, request } = context;
    const snippets = snippetsFor(publisher, config.publicUrl);
    const wanted = (request.query as { with?: unknown }).with;
    const current = snippets.find(({ key }) => key === wanted) ?? (snippets[0] as Snippet);
    return {
      title: 'Integration',
      lead: 'Paste a snippet, call it, and watch the call arrive below.',
      nav: 'integration',
      body: html`${card(
        'Your ids',
        facts([
          ['SDK id', html`<code>${publisher.sdkId}</code>`],
          ['Service', html`<code>${config.publicUrl}</code>`],
          ['Offers per answer', publisher.offersPerResponse],
        ]),
        {
          lead: html`The SDK id is public: it fetches offers and nothing else. For everything else, make an <a href="${path('/settings/keys')}">API key</a>.`,
        },
      )}
${tabs(
  'Snippets',
  snippets.map(({ key, title }) => ({
    text: title,
    href: `${path('/integration')}?with=${key}`,
    current: key === current.key,
  })),
)}
${copyable(current.text, `${current.title} snippet`)}
${current.guide === null ? nothing : html`<p class="hint below">More in <code>docs/guides/${current.guide}.md</code>.</p>`}
${liveCard(context)}`,
    };
  });

  app.get('/dashboard/p/:publisherId/integration/stream', { schema: { hide: true } }, (request, reply) => {
    const publisher = request.viewedPublisher;
    if (publisher === null) return reply.callNotFound();
    const startId = sessionIdAt(now() - backMs);
    const known = new Map<string, string>();
    let last = startId;
    streams.open(request, reply, {
      next: async () => {
        if (!dbHealth.isUp()) return [];
        const fresh = await sessionsAfter(pool, publisher.id, last, 200);
        last = fresh.at(-1) ?? last;
        const ids = [...new Set([...known.keys(), ...fresh])].slice(-watched);
        const changed: StreamEvent[] = [];
        for (const call of (await callsOf(pool, publisher.id, ids)).reverse()) {
          const markup = callItem(call, publisher).markup;
          if (known.get(call.sessionId) === markup) continue;
          known.set(call.sessionId, markup);
          changed.push({ name: 'item', data: markup });
        }
        for (const id of [...known.keys()].slice(0, -watched)) known.delete(id);
        return changed;
      },
    });
  });
}

const liveCard = ({ path }: PublisherContext): Html =>
  card(
    'Live',
    html`<p class="waiting" data-waiting><span class="pulse"></span>Waiting for your first call…</p><ol class="stream" data-stream="${path('/integration/stream')}" aria-live="polite" aria-label="Calls, newest first"></ol>`,
    {
      lead: 'Calls for offers of the last minute and from now on, with their beacons. Development calls are shown and counted nowhere else.',
    },
  );

const kinds = { impression: 'impression', click: 'click', no_thanks: 'no thanks', close: 'close' } as const;

function callItem(call: Call, publisher: { timeZone: string }): Html {
  const events = Object.entries(kinds).flatMap(([kind, text]) => {
    const count = call.events[kind] ?? 0;
    return count === 0 ? [] : [badge(`${count} ${text}`, kind === 'click' ? 'good' : 'info')];
  });
  return html`<li id="call-${call.sessionId}">${moment(publisher, call.at, 'second')}<strong>${call.placement}</strong><span>${plural(call.offers, 'offer')}</span>${call.country === null ? nothing : html`<span>${call.country}</span>`}${call.dev ? badge('dev', 'warn') : nothing}${events}${call.wrappedAt === null ? nothing : badge(`confirmed, ${plural(call.selected ?? 0, 'perk')}`, 'good')}<code class="hint">${call.sessionId}</code></li>`;
}
