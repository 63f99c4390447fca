import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { SequenceMatch } from '../../../catalog/rules.ts';
import type { Publisher } from '../../../catalog/types.ts';
import { crudPages } from '../../../management/crud-pages.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values, View } from '../../../management/resource.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { badge, type Cell, type Column, strongLink } from '../../../shell/components.ts';
import type { Fields, FormValues } from '../../../shell/context.ts';
import { columns, type FormBuilder, fieldGroup, joinList, splitList } from '../../../shell/forms.ts';
import { sequenceRules } from '../../resources/sequence-rules.ts';
import { createPicker, type Picker } from '../campaigns/options.ts';
import type { PageServices } from '../services.ts';

const path = '/settings/sequence-rules';

const maxPosition = 10;
const positionChoices = Array.from({ length: maxPosition }, (_, index) => {
  const position = String(index + 1);
  return { value: position, text: position };
});

const effectChoices = () => [
  { value: 'allow', text: t('settings.allowOnly') },
  { value: 'deny', text: t('settings.excludeThese') },
];

/** Lists by which a sequence rule can match offers. A rule matches an offer if at least one of its lists does. */
const matchers: readonly { name: keyof SequenceMatch; items: MessageKey; label: MessageKey }[] = [
  { name: 'offers', items: 'settings.matchOffers', label: 'nav.offers' },
  { name: 'campaigns', items: 'settings.matchCampaigns', label: 'nav.campaigns' },
  { name: 'advertisers', items: 'settings.matchAdvertisers', label: 'nav.advertisers' },
  { name: 'categories', items: 'settings.matchCategories', label: 'settings.categories' },
  { name: 'tags', items: 'settings.matchTags', label: 'settings.tags' },
];

/** Registers the pages for sequence rules, which determine which offers may be shown at each position. */
export function sequenceRulePages(app: App, services: PageServices): void {
  crudPages(publisherPages(app, services), services.management, {
    resource: sequenceRules,
    path,
    nav: 'sequence-rules',
    icon: 'sequence',
    title: 'nav.sequenceRules',
    lead: 'settings.sequenceLead',
    writes: 'admin',
    undoable: true,
    columns: ruleColumns,
    cells: ruleCells,
    empty: { title: 'settings.noRules', text: 'settings.noRulesText' },
    nameOf,
    toForm: ruleToForm,
    read: readRule,
    fields: (form, context) => ruleFields(form, context.publisher, createPicker(context)),
    assets: ['pickers.js'],
  });
}

const ruleColumns = (): Column[] => [
  { text: t('settings.rule') },
  { text: t('nav.offers') },
  { text: t('settings.placement') },
  { text: t('settings.positions') },
  { text: t('settings.weight'), numeric: true },
  { text: t('common.status') },
];

const nameOf = ({ id }: Values): string => t('settings.ruleName', { id: Number(id) });

const ruleCells = ({ path: pathOf }: PublisherContext, row: View): Cell[] => [
  strongLink(pathOf(`${path}/${row.id}`), nameOf(row)),
  html`${effectBadge(row)} ${matchText(row.match as SequenceMatch)}`,
  row.placement === null ? t('settings.every') : html`<code>${String(row.placement)}</code>`,
  (row.positions as number[] | null)?.join(', ') ?? t('settings.every'),
  Number(row.weight),
  row.active === true ? badge(t('settings.active'), 'good') : badge(t('settings.inactive'), 'warn'),
];

const effectBadge = ({ effect }: View): Html =>
  effect === 'deny' ? badge(t('settings.exclude'), 'bad') : badge(t('settings.allow'), 'info');

/** Describes what a rule matches, such as "offers 3, 4; tag wine". */
const matchText = (match: SequenceMatch): string =>
  matchers
    .flatMap(({ name, items: text }) => {
      const items = match[name] ?? [];
      return items.length === 0 ? [] : [t(text, { count: items.length, items: items.join(', ') })];
    })
    .join('; ');

const ruleToForm = ({ placement, positions, match, ...values }: Values): FormValues => ({
  ...(values as Record<string, string>),
  placement: placement === null ? '' : String(placement),
  positions: Array.isArray(positions) ? positions.map(String) : [],
  ...Object.fromEntries(
    matchers.map(({ name }) => [`match.${name}`, joinList((match as SequenceMatch | undefined)?.[name] ?? [])]),
  ),
});

const readRule = (fields: Fields): Values => ({
  ...readColumns(sequenceRules, fields, ['placement', 'effect', 'weight', 'active']),
  positions: fields.all('positions').length === 0 ? null : fields.all('positions').map(Number),
  match: readMatch(fields),
});

/** Reads the match lists of a rule. IDs are converted to numbers; invalid text is left for validation to reject. */
function readMatch(fields: Fields): Values {
  const listOf = (name: string): unknown[] => splitList(fields.text(`match.${name}`));
  const idsOf = (name: string): unknown[] =>
    listOf(name).map((text) => (/^\d{1,10}$/.test(String(text)) ? Number(text) : text));
  return Object.fromEntries(
    matchers
      .map(({ name }) => [name, name === 'categories' || name === 'tags' ? listOf(name) : idsOf(name)] as const)
      .filter(([, list]) => list.length > 0),
  );
}

function ruleFields(form: FormBuilder, { placements }: Publisher, picker: Picker): Html {
  const placementChoices = [...placements.keys()].sort().map((name) => ({ value: name, text: name }));
  return html`
    ${form.select('effect', { label: t('settings.effect'), choices: effectChoices() })}
    ${fieldGroup(
      t('nav.offers'),
      html`<p class="hint">${t('settings.matchHint')}</p>`,
      columns(
        matchers.map(({ name, label }) =>
          form.input(`match.${name}`, { label: t(label), picker: picker(name, form.values[`match.${name}`]) }),
        ),
      ),
    )}
    ${fieldGroup(
      t('settings.positions'),
      form.select('placement', {
        label: t('settings.placement'),
        choices: [{ value: '', text: t('settings.allPlacements') }, ...placementChoices],
      }),
      form.checkboxes('positions', {
        label: t('settings.positions'),
        hint: t('settings.positionsHint'),
        choices: positionChoices,
      }),
    )}
    ${form.input('weight', {
      label: t('settings.weight'),
      type: 'number',
      min: 0,
      hint: t('settings.weightHint'),
    })}
    ${form.checkbox('active', { label: t('settings.active') })}`;
}
