import type { Config } from '../../../config.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { languages } from '../../../platform/i18n/languages.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { queryText } from '../../../shell/context.ts';
import { countryName, languageName, perLocale } from '../../../shell/format.ts';
import type { Choice, FormValue, PickerOptions } from '../../../shell/forms.ts';
import { splitList } from '../../../shell/list-text.ts';
import type { Pages } from '../../../shell/pages.ts';
import { contentCategories, plainCategory } from '../../content-taxonomy.ts';
import { type OwnKind, ownKind } from '../../event-kinds.ts';
import { countryCodes } from '../../names.ts';
import type { PageExtensions, SeenKind } from '../../page-extensions.ts';
import type { PublisherContext } from '../../publisher-pages.ts';
import type { CatalogStore } from '../../store.ts';
import type { Campaign, Offer, Publisher } from '../../types.ts';

/** What fields of a form can be searched for. */
type OptionKind = keyof typeof sources;

/** Where a field finds its choices, and the texts of the values it has. */
export type Picker = (kind: OptionKind, value: FormValue) => PickerOptions;

/** Choices of one answer (count). */
const maxOptions = 20;

type Scope = {
  publisher: Publisher;
  offers: () => readonly Offer[];
  seenValues: PageExtensions['seenValues'];
};

const plain = (values: readonly string[]): Choice[] => values.map((value) => ({ value, text: value }));
const distinct = (values: Iterable<string>): Choice[] =>
  plain([...new Set(values)].filter((value) => value !== '').sort());

const countryLists = perLocale((locale) => {
  const compare = new Intl.Collator(locale).compare;
  return countryCodes.map((code) => ({ value: code, text: countryName(code) })).sort((a, b) => compare(a.text, b.text));
});

/** Languages of the unit's words, and whatever else is typed. */
const languageChoices = perLocale(() => Object.keys(languages).map((tag) => ({ value: tag, text: languageName(tag) })));

const fixed = (values: readonly string[]) => () => plain(values);
const campaignsOf = ({ offers }: { offers: () => readonly Offer[] }): Campaign[] => [
  ...new Set(offers().map(({ campaign }) => campaign)),
];

/** Values of recent requests, those known anyway first. */
const seen =
  (kind: SeenKind, known: readonly string[] = []) =>
  async ({ publisher, seenValues }: Scope): Promise<Choice[]> => {
    const found = distinct((await seenValues?.(publisher.id, kind)) ?? []);
    return [...plain(known), ...found.filter(({ value }) => !known.includes(value))];
  };

const sources = {
  countries: () => countryLists(''),
  regions: seen('regions'),
  cities: seen('cities'),
  postal_codes: seen('postal_codes'),
  placements: ({ publisher }: Scope) => distinct(publisher.placements.keys()),
  audiences: ({ publisher }: Scope) => distinct(publisher.audiences.keys()),
  platforms: fixed(['web', 'ios', 'android']),
  devices: fixed(['desktop', 'mobile', 'tablet', 'tv']),
  os: seen('os', ['ios', 'android', 'windows', 'macos', 'linux']),
  browsers: seen('browsers', ['chrome', 'safari', 'firefox', 'edge']),
  languages: () => languageChoices(''),
  attributes: seen('attributes'),
  // Those that campaigns have, before those of the list.
  categories: (scope: Scope) => {
    const own = distinct(campaignsOf(scope).map(({ category }) => category));
    const names = new Set(own.map(({ value }) => plainCategory(value)));
    const listed = contentCategories.filter(({ name }) => !names.has(plainCategory(name)));
    return [
      ...own,
      ...listed.map(({ name, parent }) => ({ value: name, text: parent ? `${parent} › ${name}` : name })),
    ];
  },
  tags: (scope: Scope) => distinct(campaignsOf(scope).flatMap(({ tags }) => tags)),
  groups: (scope: Scope) => distinct(campaignsOf(scope).flatMap(({ rules }) => rules.exclusion_groups ?? [])),
  offers: ({ offers }: Scope) => offers().map(({ id, copy }) => ({ value: String(id), text: copy.title })),
  campaigns: (scope: Scope) => campaignsOf(scope).map(({ id, name }) => ({ value: String(id), text: name })),
  advertisers: (scope: Scope) => [
    ...new Map(
      campaignsOf(scope).map(({ advertiserId: id, advertiserName }) => [
        id,
        { value: String(id), text: advertiserName },
      ]),
    ).values(),
  ],
} satisfies Record<string, (scope: Scope) => readonly Choice[] | Promise<readonly Choice[]>>;

/** Kinds with no values but those to choose from. */
const closedKinds: ReadonlySet<OptionKind> = new Set([
  'countries',
  'audiences',
  'platforms',
  'devices',
  'offers',
  'campaigns',
  'advertisers',
]);

/** Kinds whose values are ids, which nobody knows by heart. */
const idKinds: ReadonlySet<OptionKind> = new Set(['offers', 'campaigns', 'advertisers']);

/** `GET …/options?kind=countries&q=ger`: the choices that a text matches, as items of a list. */
export function optionPages(
  pages: Pages<PublisherContext>,
  { deps, extensions }: { deps: { catalog: CatalogStore; config: Config }; extensions: PageExtensions },
): void {
  pages.get('/options', 'analyst', async (context) => {
    const kind = queryText(context, 'kind');
    const scope = { ...scopeOf(deps, context.publisher), seenValues: extensions.seenValues };
    const all = isKind(kind) ? await sources[kind](scope) : [];
    return { fragment: html`${matching(all, queryText(context, 'q')).map(item)}` };
  });
}

const isKind = (kind: string): kind is OptionKind => Object.hasOwn(sources, kind);

/** A publisher's own offers, and those it is served. */
const scopeOf = ({ catalog }: { catalog: CatalogStore }, publisher: Publisher): Omit<Scope, 'seenValues'> => ({
  publisher,
  offers: () =>
    [...catalog.current().offers.values()].filter(
      ({ publisherId, campaign }) =>
        publisherId === publisher.id || campaign.provisions.get(publisher.id)?.active === true,
    ),
});

/** Those that begin with the text before those that contain it. */
function matching(choices: readonly Choice[], text: string): Choice[] {
  const asked = text.trim().toLowerCase();
  const rank = ({ value, text: shown }: Choice): number => {
    const [id, name] = [value.toLowerCase(), shown.toLowerCase()];
    if (id === asked) return 0;
    if (name.startsWith(asked) || id.startsWith(asked)) return 1;
    return name.includes(asked) ? 2 : 3;
  };
  return choices
    .map((choice) => ({ choice, rank: rank(choice) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, maxOptions)
    .map(({ choice }) => choice);
}

const item = ({ value, text }: Choice): Html => html`
  <li role="option" data-value="${value}" data-text="${text}">
    ${text}${value !== text && html` <small>${value}</small>`}
  </li>`;

/** Fields of a page that search for what the publisher has. */
export function createPicker(deps: { catalog: CatalogStore }, { path, publisher }: PublisherContext): Picker {
  const scope = { ...scopeOf(deps, publisher), seenValues: undefined };
  return (kind, value) => {
    const values = splitList(typeof value === 'string' ? value : '');
    const unseen = kind === 'placements' ? neverSeen() : '';
    const labels = values.length === 0 ? {} : labelsOf(kind, values, scope);
    return { source: path(`/options?kind=${kind}`), labels, unseen, free: !closedKinds.has(kind) };
  };
}

/** Own events that caps of a publisher's campaigns can count: its own, and those of their advertisers. */
export const ownKindsFor = (deps: { catalog: CatalogStore }, publisher: Publisher): OwnKind[] =>
  [
    ...new Set([
      ...publisher.ownEvents,
      ...campaignsOf(scopeOf(deps, publisher)).flatMap(({ advertiserEvents }) => advertiserEvents),
    ]),
  ].map(ownKind);

const neverSeen = (): string => t('campaigns.neverSeen');

function labelsOf(kind: OptionKind, values: readonly string[], scope: Scope): Record<string, string> {
  const named = kind === 'countries' || idKinds.has(kind);
  const known = named ? (sources[kind](scope) as readonly Choice[]) : [];
  const texts = new Map(known.map(({ value, text }) => [value, text]));
  const label = (value: string): string | undefined => {
    if (kind === 'placements') return scope.publisher.placements.has(value) ? undefined : value + neverSeen();
    return texts.get(kind === 'countries' ? value.toUpperCase() : value);
  };
  return Object.fromEntries(
    values.flatMap((value) => {
      const text = label(value);
      return text === undefined ? [] : [[value, text]];
    }),
  );
}
