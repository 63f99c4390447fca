import type { Values } from '../../../catalog/management/resource.ts';
import { sequenceRules } from '../../../catalog/management/sequence-rules.ts';
import type { SequenceMatch } from '../../../catalog/rules/rules.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge } from '../../shell/components.ts';
import { crudPages } from '../../shell/crud.ts';
import type { Fields } from '../../shell/forms.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { splitList } from '../campaigns/rules-form.ts';

const mostPositions = 10;
const positionChoices = Array.from({ length: mostPositions }, (_, index) => ({
  value: String(index + 1),
  text: String(index + 1),
}));

const effects = [
  { value: 'allow', text: 'Only these offers may stand there' },
  { value: 'deny', text: 'These offers may not stand there' },
];

/** What a rule names offers by; all lists together are one "any of". */
const matches: readonly { name: keyof SequenceMatch; one: string; label: string; hint: string }[] = [
  { name: 'offers', one: 'offer', label: 'Offers', hint: 'Their numbers, separated by commas.' },
  { name: 'campaigns', one: 'campaign', label: 'Campaigns', hint: 'Their numbers.' },
  { name: 'advertisers', one: 'advertiser', label: 'Advertisers', hint: 'Their numbers.' },
  { name: 'categories', one: 'category', label: 'Categories', hint: 'Of campaigns, as written there.' },
  { name: 'tags', one: 'tag', label: 'Tags', hint: 'Of campaigns.' },
];

/** Settings > Sequence rules: which offers may stand at which position. */
export function sequenceRulePages(app: App, tools: Tools): void {
  const path = '/settings/sequence-rules';
  crudPages(publisherPages(app, tools), tools.store, {
    resource: sequenceRules,
    path,
    nav: 'sequence-rules',
    icon: 'sequence',
    title: 'Sequence rules',
    lead: 'Which offers may stand at which position. Where no rule says anything, the best offers come first.',
    one: 'a sequence rule',
    writes: 'admin',
    columns: [
      { text: 'Rule' },
      { text: 'Offers' },
      { text: 'Placement' },
      { text: 'Positions' },
      { text: 'Weight', numeric: true },
      { text: 'State' },
    ],
    cells: ({ path: pathOf }, row) => [
      html`<a href="${pathOf(`${path}/${row.id}`)}"><strong>${nameOf(row)}</strong></a>`,
      html`${row.effect === 'deny' ? badge('Not', 'bad') : badge('Only', 'info')} ${offersOf(row.match as SequenceMatch)}`,
      row.placement === null ? 'all' : html`<code>${String(row.placement)}</code>`,
      (row.positions as number[] | null)?.join(', ') ?? 'all',
      Number(row.weight),
      row.active === true ? badge('Active', 'good') : badge('Off', 'warn'),
    ],
    empty: {
      title: 'No sequence rules yet',
      text: 'With one, a position belongs to the offers you name, or never shows them.',
    },
    nameOf,
    toForm: ({ placement, positions, match, ...values }) => ({
      ...(values as Record<string, string>),
      placement: placement === null ? '' : String(placement),
      positions: Array.isArray(positions) ? positions.map(String) : [],
      ...Object.fromEntries(
        matches.map(({ name }) => [`match.${name}`, ((match as SequenceMatch | undefined)?.[name] ?? []).join(', ')]),
      ),
    }),
    read: (fields) => ({
      placement: fields.text('placement') || null,
      positions: fields.all('positions').length === 0 ? null : fields.all('positions').map(Number),
      effect: fields.text('effect'),
      match: readMatch(fields),
      weight: fields.number('weight'),
      active: fields.checked('active'),
    }),
    fields: (form, { publisher }) => html`${form.select('effect', { label: 'Effect', choices: effects })}
<fieldset class="group"><legend>Offers</legend><p class="hint">Those that any of these names.</p><div class="columns">${matches.map(({ name, label, hint }) => form.input(`match.${name}`, { label, hint }))}</div></fieldset>
<fieldset class="group"><legend>Where</legend>${form.select('placement', { label: 'Placement', choices: [{ value: '', text: 'All placements' }, ...[...publisher.placements.keys()].sort().map((name) => ({ value: name, text: name }))] })}
${form.checks('positions', { label: 'Positions', hint: 'None ticked: all.', choices: positionChoices })}</fieldset>
${form.input('weight', { label: 'Weight', type: 'number', min: 0, hint: 'Among rules that allow, offers of the higher one come first.' })}
${form.check('active', { label: 'Active' })}`,
  });
}

const nameOf = ({ id }: Values): string => `Rule ${Number(id)}`;

/** In words: "offers 3, 4; tag wine". */
const offersOf = (match: SequenceMatch): Html | string =>
  matches
    .flatMap(({ name, one, label }) => {
      const listed = match[name] ?? [];
      return listed.length === 0 ? [] : [`${listed.length === 1 ? one : label.toLowerCase()} ${listed.join(', ')}`];
    })
    .join('; ');

/** Numbers as numbers; what is none stays a text, for the check to refuse. */
function readMatch(fields: Fields): Values {
  const listOf = (name: string): unknown[] => splitList(fields.text(`match.${name}`));
  const idsOf = (name: string): unknown[] =>
    listOf(name).map((text) => (/^\d{1,10}$/.test(String(text)) ? Number(text) : text));
  return Object.fromEntries(
    matches
      .map(({ name }) => [name, name === 'categories' || name === 'tags' ? listOf(name) : idsOf(name)] as const)
      .filter(([, list]) => list.length > 0),
  );
}
