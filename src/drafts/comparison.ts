import type { ReviewedKind } from '../catalog-admin/approval.ts';
import type { Values, View } from '../management/resource.ts';
import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { card, table } from '../shell/components.ts';
import { fieldName, moment } from '../shell/format.ts';
import type { Difference } from './apply.ts';
import type { Draft } from './draft.ts';

type Zone = { timeZone: string };

/** Formats a field value for reviewers of the draft. */
function shownValue(name: string, value: unknown, zone: Zone): Html | string {
  if (value === null || value === undefined || value === '') return html`<span class="hint">${t('drafts.none')}</span>`;
  if (name === 'schedule') {
    const { start_at: from, end_at: to } = value as { start_at: string | null; end_at: string | null };
    const end = (at: string | null): Html | string =>
      at === null ? t('drafts.open') : moment(zone, new Date(at), 'minute');
    return html`${end(from)} – ${end(to)}`;
  }
  if (typeof value === 'boolean') return value ? t('activity.yes') : t('activity.no');
  if (typeof value === 'string') return value;
  return JSON.stringify(value);
}

/** Fields that are left out of the comparison, because they only identify the parent row. */
const plain = new Set(['offer_id', 'campaign_id']);

/** Renders a table of the changed fields, with the values before and after the change. */
export function changesTable({ changes, base }: { changes: Values; base: Values }, zone: Zone): Html {
  const isNew = Object.keys(base).length === 0;
  const entriesShown = Object.entries(changes).filter(
    ([name, value]) => !isNew || (!plain.has(name) && value !== '' && value !== null && !isEmpty(value)),
  );
  const columns = [t('crud.field'), ...(isNew ? [] : [t('drafts.before')]), t('drafts.after')].map((text) => ({
    text,
  }));
  return table(
    t('drafts.changes'),
    columns,
    entriesShown.map(([name, value]) => [
      fieldName(name),
      ...(isNew ? [] : [shownValue(name, base[name], zone)]),
      shownValue(name, value, zone),
    ]),
  );
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/**
 * Renders a table of fields that were changed after the draft was created, with the draft's proposed values next to the
 * current ones.
 */
export const differencesTable = (differences: readonly Difference[], zone: Zone): Html =>
  table(
    t('crud.differences'),
    [t('crud.field'), t('drafts.before'), t('drafts.now'), t('drafts.proposedValue')].map((text) => ({ text })),
    differences.map(({ field, before, now, proposed }) => [
      fieldName(field),
      ...[before, now, proposed].map((value) => shownValue(field, value, zone)),
    ]),
  );

/** Renders a preview of the offer or image as users see it: the live version next to the proposed one. */
export function preview(draft: Draft, current: View | null, imageUrl: string): Html {
  if (draft.resource === 'campaigns') return html``;
  const after: Values = { ...current, ...draft.changes };
  const isDecided = draft.state === 'live' || draft.state === 'undone';
  const before = isDecided ? { ...current, ...draft.base } : current;
  const views: [string, Values | null][] = [
    [t('drafts.before'), Object.keys(draft.base).length === 0 ? null : before],
    [t('drafts.after'), after],
  ];
  return html`
    <div class="columns wide">${views.map(([title, view]) =>
      card(
        title,
        view === null ? html`<p class="hint">${t('drafts.isNew')}</p>` : renderImage(draft.resource, view, imageUrl),
      ),
    )}</div>`;
}

/** Renders an uploaded image that is not live yet. */
export const handedIn = (url: string): Html =>
  html`<img src="${url}" alt="${t('offers.images')}" width="240" loading="lazy">`;

/**
 * Renders the image of a row. `imageUrl` is the URL of an uploaded image that is not live yet, or an empty string.
 */
function renderImage(kind: ReviewedKind, view: Values, imageUrl: string): Html {
  const text = (name: string): string => String(view[name] ?? '');
  if (kind === 'creatives') {
    const storedUrl = text('path') === '' ? imageUrl : `${text('path')}?width=480`;
    const source = text('url') || storedUrl;
    return html`
      ${source !== '' && handedIn(source)}
      <p class="hint">${text('width')} × ${text('height')}, ${text('type')}</p>`;
  }
  return html`
    ${imageUrl !== '' && handedIn(imageUrl)}
    <h3>${text('title') || text('short_headline')}</h3>
    <p>${text('description') || text('short_description')}</p>
    ${text('mini_text') !== '' && html`<p class="hint">${text('mini_text')}</p>`}
    <p>${[text('cta_yes'), text('cta_no')]
      .filter((label) => label !== '')
      .map((label) => html`<span class="button small">${label}</span> `)}</p>
    ${
      text('terms_and_conditions') !== '' &&
      html`<details>
      <summary>${t('offers.terms')}</summary><p>${text('terms_and_conditions')}</p></details>`
    }`;
}
