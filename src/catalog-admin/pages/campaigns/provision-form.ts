import type { OwnKind } from '../../../catalog/event-kinds.ts';
import { type PublisherContext, searchPublishers } from '../../../catalog/pages.ts';
import type { Publisher } from '../../../catalog/types.ts';
import type { Values, View } from '../../../management/resource.ts';
import { etagOf } from '../../../management/rows.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, card, hiddenField, noMatches, saveForm, strongLink, table } from '../../../shell/components.ts';
import type { FieldErrors, Fields, FormValues } from '../../../shell/context.ts';
import { columns, createForm, type FormBuilder, fieldGroup } from '../../../shell/forms.ts';
import { defaultButton, versionField } from '../../../shell/row-list.ts';
import { payoutText } from '../../payout-text.ts';
import { frequencyCapFields, frequencyPart, totalCapFields, totalsPart } from './caps-form.ts';
import { partsToForm, readParts, storedField } from './rules-part.ts';

type Publishers = ReadonlyMap<number, Publisher>;

const nameOf = (publishers: Publishers, id: unknown): string =>
  publishers.get(Number(id))?.name ?? t('campaigns.publisherName', { id: String(id) });

/** Renders the table of publishers that run a campaign. `editPath` is null if the viewer may not edit. */
export function provisionTable(
  campaign: View,
  rows: readonly View[],
  publishers: Publishers,
  editPath: string | null,
): Html {
  const cells = rows.map((row) => {
    const name = nameOf(publishers, row.publisher_id);
    return [
      editPath === null
        ? html`<strong>${name}</strong>`
        : strongLink(`${editPath}?to=${Number(row.publisher_id)}`, name),
      row.payout_amount === null
        ? t('campaigns.inherited')
        : payoutText({ ...campaign, payout_amount: row.payout_amount }),
      row.priority === null ? t('campaigns.inherited') : Number(row.priority),
      capsText(row),
      row.active === true ? badge(t('campaigns.served'), 'good') : badge(t('campaigns.notServed'), 'warn'),
    ];
  });
  return table(
    t('nav.publishers'),
    [
      { text: t('layout.publisher') },
      { text: t('campaigns.payout') },
      { text: t('campaigns.priority'), numeric: true },
      { text: t('campaigns.caps') },
      { text: t('common.status') },
    ],
    cells,
  );
}

/** Describes the caps of a provision. An empty list also overrides the campaign's caps: no caps apply then. */
function capsText({ frequency_caps: frequency, total_caps: totals }: View): string {
  const count = [frequency, totals].flatMap((caps) => (caps as unknown[] | null) ?? []).length;
  if (count > 0) return t('campaigns.overridden', { count });
  return t(frequency === null ? 'campaigns.inherited' : 'campaigns.noUserCaps');
}

/** Maximum number of publishers in the select field. If there are more, they can be searched. */
const maxPublishers = 100;

/**
 * Renders a select field with the publishers that match a search text and do not run the campaign yet. Renders nothing
 * if all publishers run it.
 */
export function publisherChooser(action: string, publishers: Publishers, rows: readonly View[], q: string): Html {
  const served = new Set(rows.map((row) => Number(row.publisher_id)));
  const others = [...publishers.values()].filter(({ id }) => !served.has(id));
  if (others.length === 0) return nothing;
  const matches = searchPublishers(others, q, maxPublishers);
  const choices = matches.map(({ id, name }) => ({ value: String(id), text: name }));
  const search = html`
    <form class="filters" method="get" action="${action}" role="search">
      ${createForm({ q }).input('q', { label: t('campaigns.findPublisher') })}
      <button class="button">${t('common.search')}</button>
    </form>`;
  const choose = html`
    <form class="filters" method="get" action="${action}">
      ${createForm({}).select('to', { label: t('layout.publisher'), choices })}
      <button class="button">${t('campaigns.continue')}</button>
    </form>`;
  return card(
    t('campaigns.serveToAnother'),
    html`${others.length > maxPublishers && search}${matches.length === 0 ? noMatches() : choose}`,
  );
}

type Editor = {
  campaign: View;
  rows: readonly View[];
  publishers: Publishers;
  ownKinds: readonly OwnKind[];
  /** ID of the publisher whose provision is edited. */
  to: string;
  /** URL path of the page. */
  at: string;
  refused: { typed: FormValues; errors: FieldErrors } | null;
};

/**
 * Renders the form of a provision.
 * @throws AppError `not_found` for an unknown publisher
 */
export function provisionCard(context: PublisherContext, editor: Editor): Html {
  const { campaign, rows, publishers, to, at, refused } = editor;
  if (String(publishers.get(Number(to))?.id) !== to) throw new AppError('not_found');
  const stored = rows.find((row) => String(row.publisher_id) === to);
  const values = refused?.typed ?? provisionToForm(stored);
  const form = createForm(values, refused?.errors, at);
  const fields = provisionFields(form, campaign, editor.ownKinds);
  const version = refused?.typed[versionField] ?? (stored === undefined ? '' : etagOf(stored));
  const body = html`
    ${defaultButton()}
    ${hiddenField('publisher_id', to)}${hiddenField(versionField, String(version))}
    ${hiddenField(storedField, String(values[storedField]))}
    ${form.summary()}
    ${fields}`;
  return card(nameOf(publishers, to), saveForm(context, at, body, { cancel: at, page: `${at}?to=${to}`, rows: true }));
}

const provisionFields = (form: FormBuilder, campaign: View, ownKinds: readonly OwnKind[]): Html => html`
  ${form.checkbox('active', { label: t('campaigns.served'), hint: t('campaigns.servedHint') })}
  ${columns(
    [
      form.input('payout_amount', {
        label: t('campaigns.payout'),
        type: 'number',
        min: 0,
        step: 'any',
        hint: t('campaigns.payoutHint', {
          kind: String(campaign.payout_kind),
          currency: String(campaign.payout_currency),
        }),
      }),
      form.input('priority', {
        label: t('campaigns.priority'),
        type: 'number',
        min: 0,
        hint: t('campaigns.emptyInherited'),
      }),
    ],
    'tight',
  )}
  ${fieldGroup(
    t('campaigns.capsPerUser'),
    html`<p class="hint">${t('campaigns.capsPerUserHint')}</p>`,
    frequencyCapFields(form, '', ownKinds),
  )}
  ${fieldGroup(
    t('campaigns.totalsOfPublisher'),
    html`<p class="hint">${t('campaigns.totalsOfPublisherHint')}</p>`,
    totalCapFields(form, '', ownKinds),
  )}`;

const parts = [frequencyPart(''), totalsPart('')];

/** Converts a provision to form values. The form for a new provision has no overrides. */
function provisionToForm(stored: View | undefined): FormValues {
  const { frequency_caps = null, total_caps = null } = stored ?? {};
  return {
    ...partsToForm(parts, { frequency_caps, total_caps }),
    active: stored === undefined || stored.active === true,
    payout_amount: (stored?.payout_amount as number | null) ?? '',
    priority: (stored?.priority as number | null) ?? '',
  };
}

export function readProvision(fields: Fields): Values {
  const { frequency_caps = null, total_caps = null } = readParts(parts, fields);
  return {
    active: fields.checked('active'),
    payout_amount: fields.number('payout_amount'),
    priority: fields.number('priority'),
    frequency_caps,
    total_caps,
  };
}
