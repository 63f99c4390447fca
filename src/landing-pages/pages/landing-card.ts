import type pg from 'pg';
import type { PublisherContext } from '../../catalog/publisher-pages.ts';
import type { Catalog } from '../../catalog/room.ts';
import type { createFailFast } from '../../platform/db/health.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { badge, card, descriptionList, notice } from '../../shell/components.ts';
import { moment, momentText } from '../../shell/format.ts';
import { findLandingPages, type LandingPageView } from '../view.ts';
import { looksToPause } from '../watch.ts';

/** Puts what the last look came to on the pages of campaigns, and of their offers. */
export function addLandingCards(
  { extensions, store }: Pick<Catalog, 'extensions' | 'store'>,
  pool: pg.Pool,
  failFast: ReturnType<typeof createFailFast>,
): void {
  const cardOf = (context: PublisherContext, campaignId: number) =>
    failFast(async () => {
      const found = await findLandingPages(pool, [campaignId]);
      const { rows } = await pool.query<{ is_on: boolean }>(
        'select landing_pages_checked as is_on from publishers where id = $1',
        [context.publisher.id],
      );
      return landingCard(context, found.get(campaignId) ?? null, rows[0]?.is_on ?? true);
    });
  extensions.campaignCards.push(cardOf);
  extensions.offerCards.push(async (context, id) => {
    const campaignId = store.current().offers.get(id)?.campaign.id;
    return campaignId === undefined ? nothing : cardOf(context, campaignId);
  });
}

/** When a landing page was last looked at, and what came. `page` null: it was not looked at yet. */
function landingCard({ publisher }: PublisherContext, page: LandingPageView | null, isOn: boolean): Html {
  const off = isOn ? nothing : html`<p class="hint">${t('landingPages.switchedOff')}</p>`;
  const body = page === null ? isOn && html`<p class="hint">${t('landingPages.notYet')}</p>` : found(publisher, page);
  return card(t('landingPages.title'), html`${off}${body}`, { lead: t('landingPages.lead') });
}

const tones = { found: 'good', gone: 'bad', moved: 'bad', unreachable: 'warn' } as const;

function found(publisher: PublisherContext['publisher'], page: LandingPageView): Html {
  const { result, problem, status, redirects, leads_to: to, led_to: from, paused_at: pausedAt } = page;
  const answer = problem === null ? String(status) : t('landingPages.problem', { problem });
  const lost = result === 'gone' || result === 'moved';
  const values = { at: momentText(publisher, new Date(pausedAt ?? 0)), reason: result, to, from: from ?? '' };
  return html`
    ${pausedAt !== null && lost && notice('warn', html`<p>${tHtml('landingPages.paused', values)}</p>`)}
    ${
      pausedAt === null && lost && notice('warn', html`<p>${t('landingPages.confirming', { looks: looksToPause })}</p>`)
    }
    ${descriptionList([
      [t('landingPages.found'), badge(t('landingPages.result', { result }), tones[result])],
      [t('landingPages.status'), answer],
      [t('landingPages.leadsTo'), html`${to} · ${t('landingPages.redirects', { count: redirects })}`],
      [t('landingPages.lookedAt'), moment(publisher, page.looked_at)],
      ...(page.failing_since === null
        ? []
        : [[t('landingPages.since'), moment(publisher, page.failing_since)] as const]),
      [t('landingPages.next'), moment(publisher, page.next_look_at)],
    ])}`;
}
