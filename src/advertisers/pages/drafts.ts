import { changesTable, handedIn } from '../../drafts/comparison.ts';
import { type Draft, draftImageFile, getDraft } from '../../drafts/draft.ts';
import { draftNotice, kindText, stateBadge } from '../../drafts/views.ts';
import { AppError } from '../../platform/errors.ts';
import { html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, card, emptyState, notice, pager, strongLink, table } from '../../shell/components.ts';
import { keyIn, queryText } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { ownRows } from '../scope.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

/** Renders the page with an advertiser's drafts and their states. */
export async function draftsPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management, kinds } = services;
  const cursor = queryText(context, 'cursor');
  const query = { limit: '50', ...(cursor !== '' && { cursor }) };
  const { rows, nextCursor } = await management.list(context, ownRows(kinds, context.advertiser).drafts, query);
  const path = context.path('/drafts');
  const columns = [
    t('drafts.subject'),
    t('drafts.kind'),
    t('drafts.proposedAt'),
    t('common.status'),
    t('drafts.reason'),
  ];
  const list = () =>
    table(
      t('nav.drafts'),
      columns.map((text) => ({ text })),
      (rows as Draft[]).map((draft) => [
        strongLink(`${path}/${draft.id}`, draft.subject || `#${draft.id}`),
        kindText(draft),
        moment(zoneOf(services, context), draft.created_at),
        stateBadge(draft.state),
        draft.reason,
      ]),
    );
  return {
    title: t('nav.drafts'),
    lead: t('advertiser.draftsLead'),
    nav: 'advertiser-drafts',
    body: html`
      ${rows.length === 0 ? emptyState('drafts', t('drafts.noneOf'), t('advertiser.draftsLead')) : list()}
      ${pager(
        cursor === '' ? null : path,
        nextCursor === null ? null : `${path}?cursor=${encodeURIComponent(nextCursor)}`,
      )}`,
  };
}

export async function draftPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management, kinds } = services;
  const own = ownRows(kinds, context.advertiser);
  const draft = await management.read(context, (work) => getDraft(work, keyIn(context), own.drafts));
  const isOpen = draft.state === 'waiting' || draft.state === 'scheduled';
  const path = context.path(`/drafts/${draft.id}`);
  const imageView = isOpen && draft.has_picture && handedIn(`${path}/picture`);
  return {
    title: draft.subject || `#${draft.id}`,
    lead: html`${kindText(draft)} ${stateBadge(draft.state)}`,
    nav: 'advertiser-drafts',
    trail: [{ text: t('nav.drafts'), href: context.path('/drafts') }],
    body: html`
      ${
        draft.state === 'refused' &&
        notice('failed', html`<p>${t('advertiser.refusedBecause', { reason: draft.reason })}</p>`)
      }
      ${draftNotice(draft)}
      ${card(t('drafts.changes'), html`${changesTable(draft, zoneOf(services, context))}${imageView}`)}
      ${isOpen && actionButton(context, { to: `${path}/withdraw`, text: t('drafts.withdraw'), kind: 'quiet' })}`,
  };
}

/** Returns the image that was uploaded for a draft. */
export const draftImage = ({ management, kinds }: PageServices, context: AdvertiserContext): Promise<PageResult> => {
  const own = ownRows(kinds, context.advertiser);
  return management.read(context, async (work) =>
    draftImageFile(work, await getDraft(work, keyIn(context), own.drafts)),
  );
};

export async function withdrawDraft(
  { management, kinds, drafts }: PageServices,
  context: AdvertiserContext,
): Promise<PageResult> {
  const own = ownRows(kinds, context.advertiser);
  const to = context.path(`/drafts/${keyIn(context)}`);
  try {
    await management.write(context, (work) => drafts.withdraw(work, keyIn(context), own.drafts));
    return { to, done: t('drafts.withdrawnDone') };
  } catch (err) {
    if (err instanceof AppError && err.code === 'conflict') return { to, failed: t('drafts.decidedAlready') };
    throw err;
  }
}
