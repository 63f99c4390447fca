import type { Values, View } from '../../../catalog/management/resource.ts';
import { sequenceRules } from '../../../catalog/management/sequence-rules.ts';
import type { SequenceMatch } from '../../../catalog/rules/rules.ts';
import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, type Cell, strongLink } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { crudPages } from '../../shell/crud/routes.ts';
import type { Fields } from '../../shell/fields.ts';
import { columns, type FormBuilder, type FormValues, fieldGroup } from '../../shell/forms.ts';
import { joinList, splitList } from '../../shell/list-text.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';
import { createPicker, type Picker } from '../campaigns/options.ts';

const path = '/settings/sequence-rules';

const maxPosition = 10;
const positionChoices = Array.from({ length: maxPosition }, (_, index) => {
  const position = String(index + 1);
  return { value: position, text: position };
});

const effectChoices = [
  { value: 'allow', text: 'Allow only these offers' },
  { value: 'deny', text: 'Exclude these offers' },
];

/** What a rule matches offers by; an offer matches if any of the lists contains it. */
const matchers: readonly { name: keyof SequenceMatch; singular: string; label: string }[] = [
  { name: 'offers', singular: 'offer', label: 'Offers' },
  { name: 'campaigns', singular: 'campaign', label: 'Campaigns' },
  { name: 'advertisers', singular: 'advertiser', label: 'Advertisers' },
  { name: 'categories', singular: 'category', label: 'Categories' },
  { name: 'tags', singular: 'tag', label: 'Tags' },
];

/** Which offers may be shown at which position. */
export function sequenceRulePages(app: App, services: PageServices): void {
  crudPages(publisherPages(app, services), services.management, {
    resource: sequenceRules,
    path,
    nav: 'sequence-rules',
    icon: 'sequence',
    title: 'Sequence rules',
    lead: 'Which offers may be shown at which position. Without a rule, offers are ordered by rank.',
    writes: 'admin',
    columns: [
      { text: 'Rule' },
      { text: 'Offers' },
      { text: 'Placement' },
      { text: 'Positions' },
      { text: 'Weight', numeric: true },
      { text: 'Status' },
    ],
    cells: ruleCells,
    empty: {
      title: 'No sequence rules yet',
      text: 'A rule reserves positions for certain offers, or excludes offers from them.',
    },
    nameOf,
    toForm: ruleToForm,
    read: readRule,
    fields: (form, context) => ruleFields(form, context.publisher, createPicker(services.deps, context)),
    assets: ['pickers.js'],
  });
}

const nameOf = ({ id }: Values): string => `Rule ${Number(id)}`;

const ruleCells = ({ path: pathOf }: PublisherContext, row: View): Cell[] => [
  strongLink(pathOf(`${path}/${row.id}`), nameOf(row)),
  html`${effectBadge(row)} ${matchText(row.match as SequenceMatch)}`,
  row.placement === null ? 'all' : html`<code>${String(row.placement)}</code>`,
  (row.positions as number[] | null)?.join(', ') ?? 'all',
  Number(row.weight),
  row.active === true ? badge('Active', 'good') : badge('Inactive', 'warn'),
];

const effectBadge = ({ effect }: View): Html =>
  effect === 'deny' ? badge('Exclude', 'bad') : badge('Allow only', 'info');

/** Such as "offers 3, 4; tag wine". */
const matchText = (match: SequenceMatch): string =>
  matchers
    .flatMap(({ name, singular, label }) => {
      const items = match[name] ?? [];
      return items.length === 0 ? [] : [`${items.length === 1 ? singular : label.toLowerCase()} ${items.join(', ')}`];
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
  placement: fields.text('placement') || null,
  positions: fields.all('positions').length === 0 ? null : fields.all('positions').map(Number),
  effect: fields.text('effect'),
  match: readMatch(fields),
  weight: fields.number('weight'),
  active: fields.checked('active'),
});

/** Ids as numbers; any other text stays as it is, for the validation to refuse. */
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
    ${form.select('effect', { label: 'Effect', choices: effectChoices })}
    ${fieldGroup(
      'Offers',
      html`<p class="hint">Offers that match any of these.</p>`,
      columns(
        matchers.map(({ name, label }) =>
          form.input(`match.${name}`, { label, picker: picker(name, form.values[`match.${name}`]) }),
        ),
      ),
    )}
    ${fieldGroup(
      'Positions',
      form.select('placement', {
        label: 'Placement',
        choices: [{ value: '', text: 'All placements' }, ...placementChoices],
      }),
      form.checkboxes('positions', { label: 'Positions', hint: 'None selected: all.', choices: positionChoices }),
    )}
    ${form.input('weight', {
      label: 'Weight',
      type: 'number',
      min: 0,
      hint: 'Among “allow only” rules, higher wins.',
    })}
    ${form.checkbox('active', { label: 'Active' })}`;
}
