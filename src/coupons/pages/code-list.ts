import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { badge, type Cell, emptyState, link, pager, strongLink, table, tabs } from '../../shell/components.ts';
import { keyIn, queryText } from '../../shell/context.ts';
import { moment, momentOr } from '../../shell/format.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import { requireOffer } from '../pools.ts';
import { readStock } from '../stock.ts';
import { type CodeStatus, cardId, codeStatuses, codesUrl, poolsPath } from './paths.ts';

const codesPerPage = 50;

/** Code of a user. The code itself is not read, because it is a secret of the user. */
type CodeRow = {
  session_id: string;
  given_at: Date;
  expires_at: Date | null;
  held_until: Date | null;
  redeemed_at: Date | null;
  cancelled_at: Date | null;
};

/** Position after which a page of the list starts. */
type Cursor = { givenAt: Date; sessionId: string };

const conditions: Record<CodeStatus, string> = {
  given: 'held_until is null',
  held: 'held_until > $2::timestamptz',
  redeemed: 'redeemed_at is not null and cancelled_at is null',
  cancelled: 'cancelled_at is not null',
};

/** Reads codes of an offer, newest first. A page contains one row more than it shows if another page follows. */
async function readCodes(
  executor: Executor,
  { offerId, status, after }: { offerId: number; status: CodeStatus; after: Cursor | null },
  nowMs: number,
): Promise<CodeRow[]> {
  const { rows } = await executor.query<CodeRow>(
    `select session_id, given_at, expires_at, held_until, redeemed_at, cancelled_at from coupons
    where offer_id = $1 and $2::timestamptz is not null and ${conditions[status]}
      and ($3::timestamptz is null or (given_at, session_id) < ($3::timestamptz, $4::uuid))
    order by given_at desc, session_id desc limit ${codesPerPage + 1}`,
    [offerId, new Date(nowMs), after?.givenAt ?? null, after?.sessionId ?? null],
  );
  return rows;
}

/** Registers the page with the codes behind the numbers of a pool. */
export function codePages(app: App, shell: Shell & { management: ManagementClient }): void {
  publisherPages(app, shell).get('/offers/:key/coupons/codes', 'analyst', (context) =>
    codesPage(shell.management, context),
  );
}

async function codesPage(management: ManagementClient, context: PublisherContext): Promise<Page> {
  const { publisher, path } = context;
  const status = codeStatuses.find((name) => name === queryText(context, 'status')) ?? 'given';
  const after = readCursor(queryText(context, 'after'));
  const nowMs = management.now();
  const { offerId, title, stock, rows } = await management.read(context, async (work) => {
    const { executor } = work;
    const offerId = await requireOffer(work, keyIn(context));
    const { rows: offers } = await executor.query<{ title: string }>(
      "select coalesce(nullif(title, ''), short_headline, '') as title from offers where id = $1",
      [offerId],
    );
    const [stock] = await readStock(executor, { offerId }, nowMs);
    const rows = await readCodes(executor, { offerId, status, after }, nowMs);
    return { offerId, title: offers[0]?.title ?? '', stock: stock?.view, rows };
  });
  const offer = title || t('offers.unnamed', { id: String(offerId) });
  const url = codesUrl(context, offerId, status);
  const last = rows[codesPerPage - 1];
  const isMore = rows.length > codesPerPage && last !== undefined;
  const next = isMore ? `${url}&after=${last.given_at.toISOString()}_${last.session_id}` : null;
  const tabOf = (name: CodeStatus) => ({
    text: t('couponPools.tab', {
      state: t(name === 'held' ? 'couponCodes.isHeld' : `coupons.${name}`),
      count: stock?.[name] ?? 0,
    }),
    href: codesUrl(context, offerId, name),
    current: name === status,
  });
  const cellsOf = (row: CodeRow): Cell[] => [
    strongLink(path(`/story/${row.session_id}`), moment(publisher, row.given_at, 'second')),
    html`<code>${row.session_id}</code>`,
    statusCell(context, row),
    momentOr(publisher, row.expires_at),
  ];
  const time = t(status === 'held' ? 'couponCodes.heldAt' : 'couponCodes.givenAt');
  const columns = [time, t('rows.kind_session'), t('common.status')];
  return {
    title: t('couponCodes.title'),
    lead: html`${t('couponCodes.lead')} ${link(path(`/offers/${offerId}#${cardId}`), offer)}`,
    nav: 'coupons',
    trail: [{ text: t('couponPools.title'), href: path(poolsPath) }],
    body: html`
      ${tabs(t('common.status'), codeStatuses.map(tabOf))}
      ${
        rows.length === 0
          ? emptyState('coupons', t('couponCodes.none'), t('couponCodes.noneText'))
          : table(
              t('couponCodes.title'),
              [...columns, t('coupons.expiresAt')].map((text) => ({ text })),
              rows.slice(0, codesPerPage).map(cellsOf),
            )
      }
      ${pager(after === null ? null : url, next)}
      <p class="hint">${t('couponCodes.deleted')}</p>`,
  };
}

function statusCell({ publisher }: PublisherContext, row: CodeRow): Html {
  const { held_until: heldUntil, redeemed_at: redeemedAt, cancelled_at: cancelledAt } = row;
  const changed = (text: string, tone: 'good' | 'bad' | 'info', at: Date): Html =>
    html`${badge(text, tone)} <small>${moment(publisher, at, 'second')}</small>`;
  if (cancelledAt !== null) return changed(t('coupons.cancelled'), 'bad', cancelledAt);
  if (redeemedAt !== null) return changed(t('coupons.redeemed'), 'good', redeemedAt);
  if (heldUntil === null) return badge(t('coupons.given'));
  return html`${badge(t('couponCodes.isHeld'), 'info')}
    <small>${t('couponCodes.until')} ${moment(publisher, heldUntil, 'second')}</small>`;
}

/** Parses the position from the URL of a page. Any other text starts at the first page. */
function readCursor(text: string): Cursor | null {
  const [, givenAt, sessionId] =
    /^(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(
      text,
    ) ?? [];
  const atMs = Date.parse(givenAt ?? '');
  return sessionId === undefined || Number.isNaN(atMs) ? null : { givenAt: new Date(atMs), sessionId };
}
