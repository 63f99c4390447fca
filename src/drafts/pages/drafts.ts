import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Snapshot } from '../../catalog/types.ts';
import { mayApprove } from '../../catalog-admin/approval.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { link, notice } from '../../shell/components.ts';
import { type Fields, fieldErrorsOf, keyIn, queryText } from '../../shell/context.ts';
import { localToInstant } from '../../shell/format.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { DraftConflict, type ReviewedKinds } from '../apply.ts';
import { decideAll } from '../bulk.ts';
import { offerIdOf } from '../comparison.ts';
import { approve, refuse, undo, withdraw } from '../decide.ts';
import { readDetails } from '../details.ts';
import { type Draft, type DraftState, draftImageFile, draftStates, drafts, getDraft } from '../draft.ts';
import type { DraftReader, NewDecision } from '../seen.ts';
import { stateBadge } from '../views.ts';
import { type DraftView, draftPage } from './draft.ts';
import { type DraftAuthor, draftList } from './list.ts';
import { proposeAgain, revisePage } from './revise.ts';

type Services = Shell & {
  management: ManagementClient;
  kinds: ReviewedKinds;
  catalog: { current: () => Snapshot };
  /** Marks decisions as seen by a user. */
  markSeen: (reader: DraftReader, draftIds: readonly number[]) => Promise<unknown>;
  /** Returns the user's own drafts with decisions that the user has not seen. */
  listNewDecisions: (reader: DraftReader) => Promise<readonly NewDecision[]>;
};

const readerOf = ({ publisher, viewer }: PublisherContext): DraftReader => ({
  publisherId: publisher.id,
  userId: viewer.user.id,
});

const path = '/drafts';
const rowsPerPage = 50;

/** Registers the pages for a publisher's drafts: the list, and a page per draft for approving and rejecting it. */
export function draftPages(app: App, services: Services): void {
  const pages = publisherPages(app, services);
  const { management, kinds } = services;
  pages.get(path, 'analyst', (context) => listPage(services, context));
  pages.get(`${path}/:key`, 'analyst', async (context) => {
    const view = await read(services, context);
    await services.markSeen(readerOf(context), [view.draft.id]);
    return draftPage(context, view);
  });
  pages.get(`${path}/:key/picture`, 'analyst', async (context) =>
    management.read(context, async (work) => draftImageFile(work, await getDraft(work, keyIn(context)))),
  );
  pages.get(`${path}/:key/edit`, 'manager', (context) => revisePage(services, context));
  pages.post(`${path}/:key/edit`, 'manager', (context, fields, upload) =>
    proposeAgain(services, context, fields, upload),
  );
  pages.post(`${path}/decide`, 'admin', (context, fields) => decideMany(services, context, fields));
  pages.post(`${path}/:key/approve`, 'admin', (context, fields) => approveOne(services, context, fields));
  pages.post(`${path}/:key/refuse`, 'admin', async (context, fields) => {
    try {
      await management.write(context, (work) => refuse(work, keyIn(context), fields.text('reason')));
      return decided(context, t('drafts.refusedDone'));
    } catch (err) {
      return shownAgain(services, context, fields, err);
    }
  });
  pages.post(`${path}/:key/withdraw`, 'manager', async (context, fields) => {
    try {
      await management.write(context, (work) => withdraw(work, keyIn(context)));
      return { to: context.path(path), done: t('drafts.withdrawnDone') };
    } catch (err) {
      return shownAgain(services, context, fields, err);
    }
  });
  pages.post(`${path}/:key/undo`, 'admin', async (context, fields) => {
    try {
      await management.write(context, (work) => undo(kinds, work, keyIn(context)));
      return { to: context.path(`${path}/${keyIn(context)}`), done: t('drafts.undoneDone') };
    } catch (err) {
      return shownAgain(services, context, fields, err);
    }
  });
}

async function listPage({ management, listNewDecisions }: Services, context: PublisherContext): Promise<Page> {
  const requested = queryText(context, 'state');
  const state: DraftState = draftStates.find((name) => name === requested) ?? 'waiting';
  const cursor = queryText(context, 'cursor');
  const requestedAdvertiser = queryText(context, 'advertiser_id');
  const advertiserId = /^[1-9]\d{0,8}$/.test(requestedAdvertiser) ? requestedAdvertiser : '';
  const isOldestFirst = queryText(context, 'order') === 'oldest';
  const { rows, nextCursor } = await management.list(context, drafts, {
    state,
    limit: String(rowsPerPage),
    sort: isOldestFirst ? 'id' : '-id',
    ...(advertiserId !== '' && { advertiser_id: advertiserId }),
    ...(cursor !== '' && { cursor }),
  });
  return {
    title: t('nav.drafts'),
    lead: t('drafts.lead'),
    nav: 'drafts',
    body: html`
      ${newDecisions(context, await listNewDecisions(readerOf(context)))}
      ${draftList(context, {
        path: context.path(path),
        query: { state, advertiserId, isOldestFirst },
        rows: rows as Draft[],
        advertisers: await management.read(context, listAuthors),
        nextCursor,
        isFirstPage: cursor === '',
        decides: mayApprove(management.actorOf(context)),
        nowMs: management.now(),
      })}`,
  };
}

/** Returns the advertisers that have proposed drafts, by name. */
async function listAuthors({ executor, publisherId }: Work): Promise<DraftAuthor[]> {
  const { rows } = await executor.query<DraftAuthor>(
    `select id, name from advertisers a
    where publisher_id = $1 and exists (select from drafts d where d.publisher_id = $1 and d.advertiser_id = a.id)
    order by name, id limit 1000`,
    [publisherId],
  );
  return rows;
}

/** Renders links to the user's own drafts that were decided. */
const newDecisions = (context: PublisherContext, decisions: readonly NewDecision[]): Html =>
  decisions.length === 0
    ? nothing
    : notice(
        'info',
        html`
          <p>${t('drafts.decidedForYou')}</p>
          <ul>
            ${decisions.map(
              ({ id, subject, state }) => html`
                <li>${link(context.path(`${path}/${id}`), subject || `#${id}`)} ${stateBadge(state)}</li>`,
            )}
          </ul>`,
      );

const read = ({ management, kinds, catalog, publicUrl }: Services, context: PublisherContext): Promise<DraftView> =>
  management.read(context, async (work) => {
    const details = await readDetails(kinds, work, keyIn(context));
    const offer = catalog.current().offers.get(offerIdOf(details.draft) ?? 0);
    return { ...details, offer, publicUrl, actor: work.actor, nowMs: work.nowMs };
  });

const decided = (context: PublisherContext, done: string): PageResult => ({
  to: context.path(path),
  done,
  undo: { to: context.path(`${path}/${keyIn(context)}/undo`) },
});

async function approveOne(services: Services, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { management, kinds } = services;
  const liveAt = localToInstant(fields.text('live_at'), context.publisher.timeZone) || null;
  const rowEtag = fields.text('row_etag') || undefined;
  try {
    const draft = await management.write(context, (work) =>
      approve(kinds, work, keyIn(context), {
        reason: fields.text('comment'),
        liveAt,
        ...(rowEtag !== undefined && { rowEtag }),
      }),
    );
    return decided(context, t(draft.state === 'live' ? 'drafts.liveDone' : 'drafts.scheduledDone'));
  } catch (err) {
    return shownAgain(services, context, fields, err);
  }
}

/** Shows the draft page again with the reason why the approval or rejection failed. */
async function shownAgain(
  services: Services,
  context: PublisherContext,
  fields: Fields,
  err: unknown,
): Promise<PageResult> {
  const typed = { live_at: fields.text('live_at'), comment: fields.text('comment'), reason: fields.text('reason') };
  if (err instanceof DraftConflict)
    return draftPage(context, { ...(await read(services, context)), differences: err.differences, typed });
  if (err instanceof AppError && err.status === 403)
    return { to: context.path(`${path}/${keyIn(context)}`), failed: t('drafts.notYours') };
  // The form of an approval calls the reason a comment.
  const isApproval = context.request.url.endsWith('/approve');
  const errors = fieldErrorsOf(err).map(({ path: at, message }) => ({
    path: isApproval && at === '/reason' ? '/comment' : at,
    message,
  }));
  if (err instanceof AppError && err.code === 'conflict')
    return { to: context.path(`${path}/${keyIn(context)}`), failed: t('drafts.decidedAlready') };
  return draftPage(context, { ...(await read(services, context)), errors, typed });
}

async function decideMany(
  { management, kinds }: Services,
  context: PublisherContext,
  fields: Fields,
): Promise<PageResult> {
  const ids = fields.all('key').filter((key) => /^[1-9]\d{0,8}$/.test(key));
  const to = context.path(path);
  const action = fields.text('action') === 'approve' ? 'approve' : 'refuse';
  const reason = fields.text('reason');
  if (ids.length === 0) return { to, failed: t('drafts.selectFirst') };
  if (action === 'refuse' && reason === '') return { to, failed: t('drafts.reasonMissing') };
  const results = await management.write(context, (work) =>
    decideAll(kinds, work, ids.map(Number), { action, reason }),
  );
  const failed = results.filter(({ error }) => error !== null).map(({ id }) => `#${id}`);
  const count = results.length - failed.length;
  if (failed.length > 0) return { to, failed: t('drafts.someNotDecided', { count, failed: failed.join(', ') }) };
  return { to, done: t(action === 'approve' ? 'drafts.manyLive' : 'drafts.manyRefused', { count }) };
}
