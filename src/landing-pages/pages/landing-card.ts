import type pg from 'pg';
import type { Card, PageExtensions, PublisherContext } from '../../catalog/pages.ts';
import type { createFailFast } from '../../platform/db/health.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { badge, collapsedCard, descriptionList, notice } from '../../shell/components.ts';
import { moment, momentText } from '../../shell/format.ts';
import { findLandingPages, type LandingPageOf, type LandingPageView } from '../view.ts';
import { checksToPause } from '../watch.ts';

/** Renders cards with the latest landing page checks, for campaign and offer pages. */
export function landingCards(
  pool: pg.Pool,
  failFast: ReturnType<typeof createFailFast>,
): Pick<PageExtensions, 'campaignCards' | 'offerCards'> {
  const cardOf = async (context: PublisherContext, kind: LandingPageOf, id: number): Promise<Html> => {
    const pageById = await findLandingPages(pool, kind, [id]);
    const isOn = await areChecksOn(pool, context.publisher.id);
    return landingCard(context, kind, pageById.get(id) ?? null, isOn);
  };
  const campaignCard: Card = (context, id) => failFast(() => cardOf(context, 'campaign', id));
  const offerCard: Card = (context, id) =>
    failFast(async () => {
      const { rows } = await pool.query<{ campaign_id: number; has_action: boolean }>(
        "select campaign_id, coalesce(useraction_url, '') <> '' as has_action from offers where id = $1",
        [id],
      );
      if (rows[0] === undefined) return nothing;
      const { campaign_id: campaignId, has_action: hasAction } = rows[0];
      const action = hasAction ? await cardOf(context, 'offer', id) : nothing;
      return html`${await cardOf(context, 'campaign', campaignId)}${action}`;
    });
  return { campaignCards: [campaignCard], offerCards: [offerCard] };
}

/** Whether the publisher's landing pages are checked. */
export async function areChecksOn(pool: pg.Pool, publisherId: number): Promise<boolean> {
  const { rows } = await pool.query<{ is_on: boolean }>(
    'select landing_pages_checked as is_on from publishers where id = $1',
    [publisherId],
  );
  return rows[0]?.is_on ?? true;
}

/** Renders a card for the latest check of a landing page. `page` is null if the page has not been checked yet. */
function landingCard(
  { publisher }: PublisherContext,
  kind: LandingPageOf,
  page: LandingPageView | null,
  isOn: boolean,
): Html {
  const off = isOn ? nothing : html`<p class="hint">${t('landingPages.switchedOff')}</p>`;
  const body =
    page === null ? isOn && html`<p class="hint">${t('landingPages.notYet')}</p>` : resultPart(publisher, kind, page);
  const title = t(kind === 'offer' ? 'landingPages.actionTitle' : 'landingPages.title');
  const lead = t('landingPages.lead');
  const content = html`${off}${body}`;
  const isOpen = page !== null && page.result !== 'found';
  return collapsedCard(title, content, { lead, isOpen });
}

const tones = { found: 'good', gone: 'bad', moved: 'bad', unreachable: 'warn' } as const;

function resultPart(publisher: PublisherContext['publisher'], kind: LandingPageOf, page: LandingPageView): Html {
  const { result, problem, status, redirects, leads_to: to, led_to: from, paused_at: pausedAt } = page;
  const answer = problem === null ? String(status) : t('landingPages.problem', { problem });
  const lost = result === 'gone' || result === 'moved';
  const values = { kind, at: momentText(publisher, new Date(pausedAt ?? 0)), reason: result, to, from: from ?? '' };
  return html`
    ${pausedAt !== null && lost && notice('warn', html`<p>${tHtml('landingPages.paused', values)}</p>`)}
    ${
      pausedAt === null &&
      lost &&
      notice('warn', html`<p>${t('landingPages.confirming', { kind, looks: checksToPause })}</p>`)
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
