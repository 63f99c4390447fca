import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { csrfField, emptyState, pager, strongLink, table, tabs } from '../../shell/components.ts';
import type { PageContext } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import { type Draft, type DraftState, draftStates } from '../draft.ts';
import { kindText, stateBadge, stateTexts } from '../views.ts';

const formId = 'decide';

type DraftListOptions = {
  path: string;
  state: DraftState;
  rows: readonly Draft[];
  /** URL of the previous page, or null if none exists. `next` is the URL of the next page. */
  previous: string | null;
  next: string | null;
  /** Whether the viewer may approve or reject drafts. */
  decides: boolean;
};

export function draftList(
  context: PublisherContext,
  { path, state, rows, previous, next, decides }: DraftListOptions,
): Html {
  const selectable = decides && (state === 'waiting' || state === 'scheduled');
  const states = draftStates.map((name) => ({
    text: t(stateTexts[name][0]),
    href: `${path}?state=${name}`,
    current: name === state,
  }));
  return html`
    ${tabs(t('common.status'), states)}
    ${rows.length === 0 && emptyState('drafts', t('drafts.noneOf'), t('drafts.lead'))}
    ${rows.length > 0 && selectable && decideForm(context, path)}
    ${rows.length > 0 && draftTable(context.publisher, path, rows, selectable)}
    ${pager(previous, next)}`;
}

function draftTable(zone: { timeZone: string }, path: string, rows: readonly Draft[], selectable: boolean): Html {
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
    draft.proposed_by,
    moment(zone, new Date(draft.created_at), 'minute'),
    html`${stateBadge(draft.state)} ${draft.live_at !== null && moment(zone, new Date(draft.live_at), 'minute')}`,
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
