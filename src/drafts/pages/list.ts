import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { csrfField, emptyState, hiddenField, pager, strongLink, table, tabs } from '../../shell/components.ts';
import type { PageContext } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm, filterSelect } from '../../shell/forms.ts';
import { type Draft, type DraftState, draftStates } from '../draft.ts';
import { kindText, stateBadge, stateTexts, waitingText } from '../views.ts';

const formId = 'decide';

/** Filter and order of the list, as in its URL. */
type DraftListQuery = {
  state: DraftState;
  /** ID of an advertiser, or empty for all authors. */
  advertiserId: string;
  isOldestFirst: boolean;
};

/** Advertiser that has proposed drafts. */
export type DraftAuthor = { id: number; name: string };

type DraftListOptions = {
  path: string;
  query: DraftListQuery;
  rows: readonly Draft[];
  advertisers: readonly DraftAuthor[];
  /** Cursor of the next page, or null if none exists. */
  nextCursor: string | null;
  isFirstPage: boolean;
  /** Whether the viewer may approve or reject drafts. */
  decides: boolean;
  nowMs: number;
};

/** Builds the URL of a list. */
function urlOf(path: string, { state, advertiserId, isOldestFirst }: DraftListQuery, cursor = ''): string {
  const entries = { state, advertiser_id: advertiserId, order: isOldestFirst ? 'oldest' : '', cursor };
  return `${path}?${new URLSearchParams(Object.entries(entries).filter(([, value]) => value !== ''))}`;
}

export function draftList(context: PublisherContext, options: DraftListOptions): Html {
  const { path, query, rows, nextCursor, isFirstPage, decides } = options;
  const { state, advertiserId } = query;
  const selectable = decides && (state === 'waiting' || state === 'scheduled');
  const states = draftStates.map((name) => ({
    text: t(stateTexts[name][0]),
    href: urlOf(path, { ...query, state: name }),
    current: name === state,
  }));
  const none =
    advertiserId === ''
      ? emptyState('drafts', t('drafts.noneOf'), t('drafts.lead'))
      : html`<p class="hint">${t('common.noMatches')}</p>`;
  return html`
    ${tabs(t('common.status'), states)}
    ${(rows.length > 1 || advertiserId !== '') && filterForm(options)}
    ${rows.length === 0 && none}
    ${rows.length > 0 && selectable && decideForm(context, path)}
    ${rows.length > 0 && draftTable(context.publisher, options, selectable)}
    ${pager(isFirstPage ? null : urlOf(path, query), nextCursor === null ? null : urlOf(path, query, nextCursor))}`;
}

function filterForm({ path, query, advertisers }: DraftListOptions): Html {
  const { state, advertiserId, isOldestFirst } = query;
  const authors = advertisers.map(({ id, name }) => ({ value: String(id), text: name }));
  const order = createForm({ order: isOldestFirst ? 'oldest' : '' }).select('order', {
    label: t('drafts.order'),
    choices: [
      { value: '', text: t('drafts.newestFirst') },
      { value: 'oldest', text: t('drafts.oldestFirst') },
    ],
  });
  return html`
    <form class="filters" method="get" action="${path}" role="search">
      ${hiddenField('state', state)}
      ${authors.length > 0 && filterSelect('advertiser_id', t('campaigns.advertiser'), authors, advertiserId)}
      ${order}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

function draftTable(
  zone: { timeZone: string },
  { path, rows, advertisers, nowMs }: DraftListOptions,
  selectable: boolean,
): Html {
  const nameOf = (id: number | null): string => advertisers.find((advertiser) => advertiser.id === id)?.name ?? '';
  const columns = [
    ...(selectable ? [{ text: t('common.select'), hidden: true }] : []),
    ...[t('drafts.subject'), t('drafts.kind'), t('drafts.proposedBy'), t('drafts.proposedAt'), t('common.status')].map(
      (text) => ({ text }),
    ),
  ];
  const cells = rows.map((draft) => [
    ...(selectable ? [selectBox(draft)] : []),
    strongLink(`${path}/${draft.id}`, draft.subject || `#${draft.id}`),
    kindText(draft),
    html`${draft.proposed_by}${
      draft.advertiser_id !== null && html`<br><span class="hint">${nameOf(draft.advertiser_id)}</span>`
    }`,
    moment(zone, new Date(draft.created_at), 'minute'),
    html`
      ${stateBadge(draft.state)} ${waitingText(draft, nowMs)}
      ${draft.live_at !== null && moment(zone, new Date(draft.live_at), 'minute')}`,
  ]);
  return table(t('nav.drafts'), columns, cells);
}

const selectBox = ({ id, subject }: Draft): Html => html`
  <input type="checkbox" name="key" value="${id}" form="${formId}"
    aria-label="${t('common.selectLabel', { name: subject || `#${id}` })}">`;

function decideForm(context: PageContext, path: string): Html {
  return html`
    <form class="bulk" id="${formId}" method="post" action="${path}/decide" data-keep>
      ${csrfField(context.viewer)}
      <label><input type="checkbox" data-select-all="key"> ${t('crud.selectAll')}</label>
      <button class="button small main" name="action" value="approve">${t('drafts.approve')}</button>
      <span>${createForm({}).input('reason', { label: t('drafts.reason') })}
        <button class="button small danger" name="action" value="refuse">${t('drafts.refuse')}</button></span>
    </form>`;
}
