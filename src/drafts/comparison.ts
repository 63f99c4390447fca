import { isDeepStrictEqual } from 'node:util';
import { buildCreativeView, type Offer, type Publisher } from '../catalog/types.ts';
import type { ReviewedKind } from '../catalog-admin/approval.ts';
import { offerFieldOrder } from '../catalog-admin/offer-form.ts';
import { proposedPreview } from '../catalog-admin/offer-preview.ts';
import { payoutText } from '../catalog-admin/payout-text.ts';
import type { Values, View } from '../management/resource.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { badge, type Cell, table } from '../shell/components.ts';
import { displayValue, type ValueDifference, valueDifferences, withValueNames } from '../shell/differences.ts';
import { fieldName, languageName, moment } from '../shell/format.ts';
import type { Difference } from './apply.ts';
import { type DraftDetails, nameKey, type RowNames } from './details.ts';
import type { Draft } from './draft.ts';

/** Time zone and names with which values are shown. */
type ValueTerms = { zone: { timeZone: string }; names: RowNames };

/** Draft with the data that its page needs. `imageUrl` is the URL of its uploaded image, or an empty string. */
type Compared = DraftDetails & ValueTerms & { imageUrl: string };

/** Fields in the order of their forms. Other fields follow. */
const order: Readonly<Record<ReviewedKind, readonly string[]>> = {
  offers: ['campaign_id', ...offerFieldOrder],
  creatives: ['offer_id', 'image', 'creative_type', 'url', 'type', 'width', 'height', 'language', 'is_primary'],
  campaigns: [
    ...['name', 'advertiser_id', 'landing_url', 'offer_description', 'schedule', 'active', 'rules', 'goal'],
    ...['payout_amount', 'payout_currency', 'payout_kind', 'priority', 'weight', 'ranking', 'opt_out_days'],
    ...['category', 'tags', 'click_id_param'],
  ],
};

const inFormOrder = (kind: ReviewedKind, fields: readonly string[]): string[] => {
  const rankOf = (name: string): number => (order[kind].includes(name) ? order[kind].indexOf(name) : 1000);
  return [...fields].sort((a, b) => rankOf(a) - rankOf(b));
};

const payoutFields: readonly string[] = ['payout_amount', 'payout_currency', 'payout_kind'];
const idFields: readonly string[] = ['advertiser_id', 'campaign_id', 'offer_id'];

/** Formats a field value for readers of the draft. */
function fieldText(name: string, value: unknown, { zone, names }: ValueTerms): Html | string {
  if (name === 'schedule' && isObject(value)) {
    const { start_at: from, end_at: to } = value as { start_at: string | null; end_at: string | null };
    const end = (at: string | null): Html | string =>
      at === null ? t('drafts.open') : moment(zone, new Date(at), 'minute');
    return html`${end(from)} – ${end(to)}`;
  }
  if (isEmpty(value)) return html`<span class="hint">${t('drafts.none')}</span>`;
  if (idFields.includes(name)) return names.get(nameKey(name, value)) ?? `#${value}`;
  if (name === 'language') return languageName(String(value));
  return typeof value === 'string' ? String(withValueNames('', name, value)) : displayValue(zone, value);
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.values(value).every((part) => part === null || isEmpty(part)));

type ComparedField = { label: string; fields: readonly string[]; before: Cell; after: Cell };

/** Returns the rows of a comparison, in the order of the form. */
function rowsOf(compared: Compared): ComparedField[] {
  const { resource, changes, base } = compared.draft;
  const isNew = Object.keys(base).length === 0;
  const defaults = isNew ? compared.defaults : {};
  const fieldNames = Object.keys(changes).filter(
    (name) => !isNew || (!isEmpty(changes[name]) && !isDeepStrictEqual(changes[name], defaults[name])),
  );
  const rows: ComparedField[] = [];
  for (const name of inFormOrder(resource, compared.imageUrl === '' ? fieldNames : [...fieldNames, 'image'])) {
    if (name === 'image')
      rows.push({ label: t('offers.firstImage'), fields: [], before: '', after: imageView(compared.imageUrl) });
    else if (payoutFields.includes(name) && compared.current !== null) {
      if (!rows.some(({ fields }) => fields.some((field) => payoutFields.includes(field)))) rows.push(payoutRow());
    } else if (name !== 'schedule' && (isObject(changes[name]) || isObject(base[name])))
      for (const [label, before, after] of nestedDifferences(
        name,
        withDisplayNames(base[name]),
        withDisplayNames(changes[name]),
      ))
        rows.push({ label, fields: [name], before: valueText(before), after: valueText(after) });
    else rows.push({ label: fieldName(name), fields: [name], ...textPair(name) });
  }
  return rows;

  function textPair(name: string): { before: Cell; after: Cell } {
    const [before, after] = [fieldText(name, base[name], compared), fieldText(name, changes[name], compared)];
    return typeof before === 'string' && typeof after === 'string' ? markedTexts(before, after) : { before, after };
  }
  function payoutRow(): ComparedField {
    const textOf = (values: Values): string => payoutText({ ...compared.current, ...values } as View);
    return {
      label: t('campaigns.payout'),
      fields: payoutFields.filter((name) => name in changes),
      before: textOf(base),
      after: textOf({ ...base, ...changes }),
    };
  }
  function valueText(value: unknown): Cell {
    return isEmpty(value) ? html`<span class="hint">${t('drafts.none')}</span>` : displayValue(compared.zone, value);
  }
  /** Replaces the names of placements by their display names. */
  function withDisplayNames(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value ?? null), (key, part: unknown) =>
      key === 'placements' && isObject(part) ? Object.fromEntries(Object.entries(part).map(displayNames)) : part,
    );
  }
  function displayNames([list, keys]: [string, unknown]): [string, unknown] {
    const textOf = (key: unknown): unknown => compared.names.get(nameKey('placement', key)) ?? key;
    return [list, Array.isArray(keys) ? keys.map(textOf) : keys];
  }
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Labels of campaign rules, other than targeting, which has a field per list. */
const ruleLabels: Readonly<Record<string, MessageKey>> = {
  schedule: 'campaigns.schedule',
  conditions: 'campaigns.conditions',
  frequency_caps: 'campaigns.frequencyCapping',
  pacing: 'campaigns.pacing',
};

/** Compares nested values. Differences of campaign rules have the labels of their form fields. */
function nestedDifferences(name: string, old: unknown, current: unknown): ValueDifference[] {
  if (name !== 'rules') return labelled(name, fieldName(name), old, current);
  const [before, after] = [old, current].map((rules) => (isObject(rules) ? rules : {})) as [Values, Values];
  return Object.keys({ ...before, ...after }).flatMap((rule) => {
    const label = ruleLabels[rule] === undefined ? fieldName(rule) : t(ruleLabels[rule]);
    return labelled(rule, label, before[rule] ?? null, after[rule] ?? null);
  });
}

/** Compares a field, with its label and the names of its enumerated values. */
const labelled = (field: string, label: string, old: unknown, current: unknown): ValueDifference[] =>
  valueDifferences(field, old, current).map(([path, before, after]) => [
    field === 'targeting' ? targetLabel(path) : label + path.slice(field.length),
    withValueNames('', path, before),
    withValueNames('', path, after),
  ]);

/** Returns the label of a targeting list, such as "Excluded countries" for `targeting › countries › exclude`. */
function targetLabel(path: string): string {
  const [, list = '', side] = path.split(' › ');
  const key = list.replaceAll(' ', '_');
  return side === undefined ? path : t(`campaigns.${side === 'exclude' ? 'exclude' : 'target'}_${key}` as MessageKey);
}

/** Marks the words between the common start and the common end of two texts. */
function markedTexts(before: string, after: string): { before: Html; after: Html } {
  const [old, current] = [before.split(/(\s+)/), after.split(/(\s+)/)];
  const max = Math.min(old.length, current.length);
  let start = 0;
  while (start < max && old[start] === current[start]) start++;
  let end = 0;
  while (end < max - start && old.at(-1 - end) === current.at(-1 - end)) end++;
  if (start + end === 0) return { before: html`${before}`, after: html`${after}` };
  const parts = (words: readonly string[]) =>
    [
      words.slice(0, start).join(''),
      words.slice(start, words.length - end).join(''),
      words.slice(words.length - end).join(''),
    ] as const;
  const [[head, removed, tail], [, added]] = [parts(old), parts(current)];
  return {
    before: html`${head}${removed !== '' && html`<del>${removed}</del>`}${tail}`,
    after: html`${head}${added !== '' && html`<ins>${added}</ins>`}${tail}`,
  };
}

/**
 * Renders a table of the changed fields, with the values before and after the change. If the draft revises another one,
 * rows that differ from it are marked.
 */
export function changesTable(compared: Compared): Html {
  const { draft, revised } = compared;
  const isNew = Object.keys(draft.base).length === 0;
  const columns = isNew
    ? [t('crud.field'), t('drafts.proposedValue')]
    : [t('crud.field'), t('drafts.before'), t('drafts.after')];
  const isRevised = ({ fields }: ComparedField): boolean =>
    revised !== null && fields.some((name) => !isDeepStrictEqual(draft.changes[name], revised.changes[name]));
  const labels = isNew ? [] : columns.slice(1);
  const rows = rowsOf(compared).map((row) => [
    html`${row.label}${isRevised(row) && html` ${badge(t('drafts.revisedField'), 'info')}`}`,
    ...(isNew ? [] : [row.before]),
    row.after,
  ]);
  // On a narrow screen, the cells of a row are below each other and show the name of their column.
  return html`
    <div class="table comparison" role="region" aria-label="${t('drafts.changes')}" tabindex="0">
      <table>
        <caption class="sr">${t('drafts.changes')}</caption>
        <thead><tr>${columns.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
        <tbody>${rows.map(
          ([label, ...values]) => html`
          <tr>
            <th scope="row">${label}</th>
            ${values.map((value, at) => html`<td data-label="${labels[at] ?? ''}"><div>${value}</div></td>`)}
          </tr>`,
        )}</tbody>
      </table>
    </div>`;
}

const imageView = (url: string): Html =>
  html`<img class="draft-image" src="${url}" alt="${t('offers.firstImage')}" width="240" loading="lazy">`;

/**
 * Renders a table of fields that were changed after the draft was created, with the draft's proposed values next to the
 * current ones.
 */
export const differencesTable = (differences: readonly Difference[], compared: ValueTerms): Html =>
  table(
    t('crud.differences'),
    [t('crud.field'), t('drafts.before'), t('drafts.now'), t('drafts.proposedValue')].map((text) => ({ text })),
    differences.map(({ field, before, now, proposed }) => [
      fieldName(field),
      ...[before, now, proposed].map((value) => fieldText(field, value, compared)),
    ]),
  );

type PreviewSource = {
  publisher: Publisher;
  publicUrl: string;
  /** URL of the frame that shows the preview, and of the image that was uploaded for the draft. */
  frameUrl: string;
  imageUrl: string;
  /** Live offer, or undefined if it does not exist or is not served. */
  offer: Offer | undefined;
};

/** ID of the offer that a draft creates or changes, or null for a new one or for a draft of a campaign. */
export const offerIdOf = ({ resource, row_id, changes, base }: Draft): number | null => {
  if (resource === 'campaigns') return null;
  return resource === 'offers' ? row_id : Number(changes.offer_id ?? base.offer_id ?? 0);
};

/** Renders how users would see the proposed offer or image. Empty for a draft of a campaign. */
export function draftPreview(details: DraftDetails, source: PreviewSource): Html {
  const { draft, current, offerTexts } = details;
  if (draft.resource === 'campaigns') return nothing;
  const { publisher, publicUrl, frameUrl, imageUrl, offer } = source;
  const row = { ...current, ...draft.changes };
  const url = imageUrl === '' ? row.url : `${publicUrl}${imageUrl}`;
  const creative_type = draft.resource === 'creatives' ? row.creative_type : 'offer_image';
  const live = (offer?.creatives ?? []).map((creative) => buildCreativeView(creative, publicUrl));
  return proposedPreview(
    frameUrl,
    { publisher, publicUrl },
    {
      id: offerIdOf(draft),
      advertiserName: details.advertiserName,
      creatives: typeof url === 'string' ? [{ url, creative_type }, ...live] : live,
      texts: { ...offerTexts, ...(draft.resource === 'offers' && row) },
    },
  );
}
