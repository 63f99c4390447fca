import { AppError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { Problem } from '../../platform/problem.ts';
import type { Fields, FormValue, FormValues } from '../../shell/context.ts';
import { type FormBuilder, fieldGroup } from '../../shell/forms.ts';
import { rowList } from '../../shell/row-list.ts';
import type { SourceSettings } from '../settings.ts';

const lists = ['traits', 'group_traits', 'audiences', 'events'] as const;
type ListName = (typeof lists)[number];

/** Ways in which a source proves that its requests are genuine. */
const signatures = ['signed', 'unsigned'] as const;

/** Sorts entries by name, because the database does not keep the order in which they were entered. */
const byName = <Value>(entries: Readonly<Record<string, Value>>): [string, Value][] =>
  Object.entries(entries).sort(([a], [b]) => a.localeCompare(b));

const rowsOf = (name: ListName, settings: SourceSettings): Record<string, FormValue>[] =>
  name === 'events'
    ? byName(settings.events).map(([from, { name: to, value }]) => ({ from, to, value: value ?? '' }))
    : byName(settings[name]).map(([from, to]) => ({ from, to }));

export function settingsToForm(settings: SourceSettings, hasSecret: boolean): FormValues {
  const rows = lists.flatMap((name) =>
    rowsOf(name, settings).flatMap((row, index) =>
      Object.entries(row).map(([field, value]) => [`${name}.${index}.${field}`, value] as const),
    ),
  );
  return {
    ...Object.fromEntries(rows),
    create_audiences: settings.create_audiences,
    signature: hasSecret ? 'signed' : 'unsigned',
    secret: '',
  };
}

type MappingRow = { index: number; from: string; to: string; value: string };

/** Returns the rows of a list that are not empty. A row without a second name uses the first name for both. */
const rowsIn = (fields: Fields, list: ListName): MappingRow[] =>
  Array.from({ length: fields.rowCount(list) }, (_, index) => {
    const field = (name: string): string => fields.text(`${list}.${index}.${name}`);
    return { index, from: field('from'), to: field('to') || field('from'), value: field('value') };
  }).filter(({ from, to }) => from !== '' || to !== '');

/**
 * Reads a list of the mapping without validating its names.
 * @throws AppError invalid_request if a name of the source is missing or occurs twice
 */
function mappingIn(fields: Fields, list: ListName): Map<string, MappingRow> {
  const rows = new Map<string, MappingRow>();
  for (const row of rowsIn(fields, list)) {
    const problem = row.from === '' ? 'fromMissing' : rows.has(row.from) ? 'fromTwice' : null;
    if (problem !== null) throw invalid(`/${list}/${row.index}/from`, problem);
    rows.set(row.from, row);
  }
  return rows;
}

const invalid = (path: string, key: 'fromMissing' | 'fromTwice' | 'secretMissing'): AppError =>
  new AppError('invalid_request', { details: [{ path, message: new Problem(`sources.${key}`) }] });

const namesIn = (fields: Fields, list: ListName): Record<string, string> =>
  Object.fromEntries([...mappingIn(fields, list)].map(([from, { to }]) => [from, to]));

/**
 * Reads the entered settings. If `secret` is undefined, the stored secret stays unchanged.
 * @throws AppError invalid_request
 */
export function readSettings(fields: Fields, hasSecret: boolean) {
  const outcomes = [...mappingIn(fields, 'events')].map(([event, { to, value }]) => [
    event,
    { name: to, ...(value !== '' && { value }) },
  ]);
  const signature = fields.text('signature');
  const secret = fields.text('secret');
  if (signature === 'signed' && secret === '' && !hasSecret) throw invalid('/secret', 'secretMissing');
  return {
    settings: {
      traits: namesIn(fields, 'traits'),
      group_traits: namesIn(fields, 'group_traits'),
      audiences: namesIn(fields, 'audiences'),
      events: Object.fromEntries(outcomes) as SourceSettings['events'],
      create_audiences: fields.checked('create_audiences'),
    },
    secret: signature === 'unsigned' ? null : secret === '' ? undefined : secret,
  };
}

/** Returns the form field of an error in the mapping, such as `/traits/0/to` for the trait of the first row. */
export function fieldOf(fields: Fields, path: string): string {
  const [, list, pointer = '', ...rest] = path.split('/');
  if (!lists.some((name) => name === list) || pointer === '') return path;
  const from = pointer.replaceAll('~1', '/').replaceAll('~0', '~');
  const row = rowsIn(fields, list as ListName).find((row) => row.from === from);
  if (row === undefined) return `/${list}`;
  return `/${list}/${row.index}/${rest[0] === 'value' ? 'value' : 'to'}`;
}

/** Renders the form fields. `optionsOf` returns the URL that suggests names of a kind. */
export function settingsFields(
  form: FormBuilder,
  hasSecret: boolean,
  optionsOf: (kind: 'attributes' | 'audiences') => string,
): Html {
  const list = (name: ListName): Html => html`
    ${fieldGroup(
      t(`sources.${name}`),
      html`<p class="hint">${t(`sources.${name}Hint`)}</p>`,
      rowList(form, {
        name,
        noun: t(`sources.${name}Row`),
        add: t(`sources.${name}Add`),
        first: 'from',
        row: (prefix, of) => html`
          ${form.input(`${prefix}.from`, { of, label: t(`sources.${name}From`) })}
          ${form.input(`${prefix}.to`, {
            of,
            label: t(`sources.${name}To`),
            ...(name !== 'events' && { suggestFrom: optionsOf(name === 'audiences' ? 'audiences' : 'attributes') }),
          })}
          ${name === 'events' && form.input(`${prefix}.value`, { of, label: t('sources.eventsValue') })}`,
      }),
      ...(name === 'audiences' ? [form.checkbox('create_audiences', { label: t('sources.createAudiences') })] : []),
    )}`;
  const secret = form.input('secret', {
    label: t('sources.secret'),
    autocomplete: 'off',
    secret: true,
    hint: hasSecret ? t('sources.secretStays') : t('sources.secretHint'),
  });
  return html`
    ${lists.map(list)}
    ${fieldGroup(
      t('sources.signature'),
      form.choices('signature', {
        label: t('sources.signatureLabel'),
        choices: signatures.map((value) => ({
          value,
          text: t('sources.signatureChoice', { value }),
          ...(value === 'signed' && { fields: secret }),
        })),
      }),
    )}`;
}

/** Describes the mapping in plain language, one sentence per entry. */
export function inWords({ traits, group_traits, audiences, events, create_audiences }: SourceSettings): Html {
  const sentences = [
    ...Object.entries(traits).map(([from, to]) => tHtml('sources.traitBecomes', { from, to })),
    ...Object.entries(group_traits).map(([from, to]) => tHtml('sources.groupTraitBecomes', { from, to })),
    ...Object.entries(events).map(([from, { name, value }]) =>
      value === undefined
        ? tHtml('sources.eventBecomes', { from, to: name })
        : tHtml('sources.eventBecomesWorth', { from, to: name, value }),
    ),
    ...Object.entries(audiences).map(([from, to]) => tHtml('sources.audienceBecomes', { from, to })),
    t(create_audiences ? 'sources.audiencesMade' : 'sources.audiencesKnown'),
    t('sources.restIgnored'),
  ];
  return html`<ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>`;
}
