import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import type { Fields, FormValues } from '../../shell/context.ts';
import { type FormBuilder, fieldGroup } from '../../shell/forms.ts';
import type { SourceSettings } from '../settings.ts';

const names = ['traits', 'group_traits', 'audiences', 'events'] as const;

/** Formats a mapping as one line per entry: `trait = attribute`, or a single name if both names are equal. */
const linesOf = (mapping: Readonly<Record<string, string>>): string =>
  Object.entries(mapping)
    .map(([from, to]) => (from === to ? from : `${from} = ${to}`))
    .join('\n');

export function settingsToForm({
  traits,
  group_traits,
  audiences,
  events,
  create_audiences,
}: SourceSettings): FormValues {
  const outcomes = Object.entries(events).map(([event, { name, value }]): [string, string] => [
    event,
    value === undefined ? name : `${name}, ${value}`,
  ]);
  return {
    traits: linesOf(traits),
    group_traits: linesOf(group_traits),
    audiences: linesOf(audiences),
    events: linesOf(Object.fromEntries(outcomes)),
    create_audiences,
    secret: '',
    no_secret: false,
  };
}

/** Reads the entered settings without validating them. If `secret` is undefined, the stored secret stays unchanged. */
export function readSettings(fields: Fields) {
  const [traits, groupTraits, audiences, events] = names.map((name) => mappingOf(fields.text(name)));
  const outcomes = Object.entries(events ?? {}).map(([event, to]) => {
    const [name = '', value = ''] = to.split(',').map((part) => part.trim());
    return [event, { name, ...(value !== '' && { value }) }] as const;
  });
  const secret = fields.text('secret').trim();
  return {
    settings: {
      traits: { ...traits },
      group_traits: { ...groupTraits },
      audiences: { ...audiences },
      events: Object.fromEntries(outcomes),
      create_audiences: fields.checked('create_audiences'),
    },
    secret: fields.checked('no_secret') ? null : secret === '' ? undefined : secret,
  };
}

const mappingOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => {
        const at = line.lastIndexOf('=');
        return at < 0 ? [line, line] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );

export function settingsFields(form: FormBuilder, hasSecret: boolean): Html {
  const lines = (name: (typeof names)[number]): Html =>
    form.textarea(name, { label: t(`sources.${name}`), hint: t(`sources.${name}Hint`), code: true });
  return html`
    ${fieldGroup(
      t('sources.mapping'),
      html`<p class="hint">${t('sources.mappingHint')}</p>`,
      ...names.map(lines),
      form.checkbox('create_audiences', { label: t('sources.createAudiences') }),
    )}
    ${fieldGroup(
      t('sources.signature'),
      form.input('secret', {
        label: t('sources.secret'),
        autocomplete: 'off',
        secret: true,
        hint: hasSecret ? t('sources.secretStays') : t('sources.secretHint'),
      }),
      hasSecret ? form.checkbox('no_secret', { label: t('sources.noSecret') }) : nothing,
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
