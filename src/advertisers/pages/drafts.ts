import { changesTable, draftPreview, offerIdOf } from '../../drafts/comparison.ts';
import { type DraftDetails, readDetails } from '../../drafts/details.ts';
import { type Draft, draftImageFile, getDraft } from '../../drafts/draft.ts';
import { draftNotice, kindText, reasonNotices, stateBadge, withPreview } from '../../drafts/views.ts';
import { AppError } from '../../platform/errors.ts';
import { html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, badge, card, emptyState, linkButton, pager, strongLink, table } from '../../shell/components.ts';
import { keyIn, queryText } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { ownRows } from '../scope.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

/** Renders the page with an advertiser's drafts and their states. Marks the listed decisions as seen. */
export async function draftsPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management, kinds } = services;
  const cursor = queryText(context, 'cursor');
  const query = { limit: '50', ...(cursor !== '' && { cursor }) };
  const { rows, nextCursor } = await management.list(context, ownRows(kinds, context.advertiser).drafts, query);
  const newIds = await markSeen(services, context, rows as Draft[]);
  const path = context.path('/drafts');
  const columns = [
    t('drafts.subject'),
    t('drafts.kind'),
    t('drafts.proposedAt'),
    t('common.status'),
    t('drafts.comment'),
  ];
  const list = () =>
    table(
      t('nav.drafts'),
      columns.map((text) => ({ text })),
      (rows as Draft[]).map((draft) => [
        strongLink(`${path}/${draft.id}`, draft.subject || `#${draft.id}`),
        kindText(draft),
        moment(zoneOf(services, context), draft.created_at),
        html`${stateBadge(draft.state)}${newIds.has(draft.id) && html` ${badge(t('alerts.new'), 'info')}`}`,
        draft.reason,
      ]),
    );
  return {
    title: t('nav.drafts'),
    lead: t('advertiser.draftsLead'),
    nav: 'advertiser-drafts',
    body: html`
      ${rows.length === 0 ? emptyState('drafts', t('drafts.noneOf'), t('advertiser.draftsNone')) : list()}
      ${pager(
        cursor === '' ? null : path,
        nextCursor === null ? null : `${path}?cursor=${encodeURIComponent(nextCursor)}`,
      )}`,
  };
}

const markSeen = ({ drafts }: PageServices, { advertiser, viewer }: AdvertiserContext, rows: readonly Draft[]) =>
  drafts.markSeen(
    { advertiserId: advertiser.id, userId: viewer.user.id },
    rows.map(({ id }) => id),
  );

/** Reads a draft of the advertiser, with the data that its page needs. */
export function readDraft(
  { management, kinds }: PageServices,
  context: AdvertiserContext,
  id = keyIn(context),
): Promise<DraftDetails> {
  const own = ownRows(kinds, context.advertiser);
  return management.read(context, (work) => readDetails({ ...kinds, ...own }, work, id, own.drafts));
}

/** Whether the advertiser can change a draft and propose it again. */
export const isRevisable = ({ draft, revisionId }: DraftDetails): boolean =>
  (draft.state === 'waiting' || draft.state === 'refused') && revisionId === null;

/** Renders the page of a draft: the decision, the changes and a preview. Marks the decision as seen. */
export async function draftPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const details = await readDraft(services, context);
  const { draft } = details;
  await markSeen(services, context, [draft]);
  const isOpen = draft.state === 'waiting' || draft.state === 'scheduled';
  const path = context.path(`/drafts/${draft.id}`);
  const { publishers, offers } = services.catalog.current();
  const publisher = publishers.get(context.advertiser.publisherId);
  const imageUrl = draft.has_picture ? `${path}/picture` : '';
  const editText = t(draft.state === 'refused' ? 'advertiser.reviseRefused' : 'advertiser.revise');
  return {
    title: draft.subject || `#${draft.id}`,
    lead: html`${kindText(draft)} ${stateBadge(draft.state)}`,
    nav: 'advertiser-drafts',
    trail: [{ text: t('nav.drafts'), href: context.path('/drafts') }],
    assets: ['preview.js'],
    actions: html`
      ${isRevisable(details) && linkButton(`${path}/edit`, editText, 'main')}
      ${isOpen && actionButton(context, { to: `${path}/withdraw`, text: t('drafts.withdraw'), kind: 'quiet' })}`,
    body: html`
      ${reasonNotices(details, (id) => context.path(`/drafts/${id}`))}
      ${draftNotice(draft)}
      ${withPreview(
        card(t('drafts.changes'), changesTable({ ...details, imageUrl, zone: zoneOf(services, context) })),
        publisher === undefined
          ? nothing
          : draftPreview(
              { ...details, advertiserName: context.advertiser.name },
              {
                publisher,
                publicUrl: services.publicUrl,
                imageUrl,
                frameUrl: context.path('/preview'),
                offer: isOwnRow(details) ? offers.get(offerIdOf(draft) ?? 0) : undefined,
              },
            ),
      )}`,
  };
}

/** Whether the offer of a draft still belongs to the advertiser. A publisher can move a campaign to another one. */
const isOwnRow = ({ draft, current, offerTexts }: DraftDetails): boolean =>
  draft.resource === 'creatives' ? Object.keys(offerTexts).length > 0 : current !== null;

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
