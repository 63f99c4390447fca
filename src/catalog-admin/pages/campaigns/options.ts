import { contentCategories, landingUrls, plainCategory } from '../../../catalog/controls.ts';
import { type OwnKind, ownKind } from '../../../catalog/event-kinds.ts';
import { countryCodes } from '../../../catalog/names.ts';
import type { PageExtensions, PublisherContext, SeenKind } from '../../../catalog/pages.ts';
import type { Campaign, Offer, Publisher } from '../../../catalog/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { languages } from '../../../platform/i18n/languages.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { parseUrl } from '../../../platform/lib/url.ts';
import { type FormValue, queryText } from '../../../shell/context.ts';
import { countryName, languageName, perLocale } from '../../../shell/format.ts';
import { type Choice, type PickerOptions, splitList } from '../../../shell/forms.ts';
import type { Pages } from '../../../shell/pages.ts';

/** Kind of value that a search field suggests. */
type OptionKind = keyof typeof sources;

/** Returns where a field gets its suggestions from, and the labels of its current values. */
export type Picker = (kind: OptionKind, value: FormValue) => PickerOptions;

/** Maximum number of suggestions in a response. */
const maxOptions = 20;

type Scope = { publisher: Publisher; seenValues: PageExtensions['seenValues'] };

const plain = (values: readonly string[]): Choice[] => values.map((value) => ({ value, text: value }));
const distinct = (values: Iterable<string>): Choice[] =>
  plain([...new Set(values)].filter((value) => value !== '').sort());

const countryLists = perLocale((locale) => {
  const compare = new Intl.Collator(locale).compare;
  return countryCodes.map((code) => ({ value: code, text: countryName(code) })).sort((a, b) => compare(a.text, b.text));
});

/** Languages into which the offer unit is translated. Users can type in other languages. */
const languageChoices = perLocale(() => Object.keys(languages).map((tag) => ({ value: tag, text: languageName(tag) })));

const fixed = (values: readonly string[]) => () => plain(values);

/** Returns the publisher's own offers and those of the other campaigns that it runs. */
const offersOf = ({ publisher: { id, index } }: { publisher: Publisher }): readonly Offer[] =>
  index.offers.filter(
    ({ publisherId, campaign }) => publisherId === id || campaign.provisions.get(id)?.active === true,
  );

const campaignsOf = (scope: { publisher: Publisher }): Campaign[] => [
  ...new Set(offersOf(scope).map(({ campaign }) => campaign)),
];

/** Returns well-known values, followed by other values seen in recent requests. */
const recentValues =
  (kind: SeenKind, wellKnown: readonly string[] = []) =>
  async ({ publisher, seenValues }: Scope): Promise<Choice[]> => {
    const recent = distinct((await seenValues?.(publisher.id, kind)) ?? []);
    return [...plain(wellKnown), ...recent.filter(({ value }) => !wellKnown.includes(value))];
  };

const advertisersOf = (scope: Scope): Choice[] => [
  ...new Map(
    campaignsOf(scope).map(({ advertiserId: id, advertiserName }) => [id, { value: String(id), text: advertiserName }]),
  ).values(),
];

/** Returns the hosts of landing pages, without "www.". */
const domainsOf = (scope: Scope): Choice[] =>
  distinct(
    offersOf(scope)
      .flatMap(landingUrls)
      .map((url) => (parseUrl(url)?.hostname ?? '').replace(/^www\./, '')),
  );

const sources = {
  countries: () => countryLists(''),
  regions: recentValues('regions'),
  cities: recentValues('cities'),
  postal_codes: recentValues('postal_codes'),
  placements: ({ publisher }: Scope) => distinct(publisher.placements.keys()),
  audiences: ({ publisher }: Scope) => distinct(publisher.audiences.keys()),
  platforms: fixed(['web', 'ios', 'android']),
  devices: fixed(['desktop', 'mobile', 'tablet', 'tv']),
  os: recentValues('os', ['ios', 'android', 'windows', 'macos', 'linux']),
  browsers: recentValues('browsers', ['chrome', 'safari', 'firefox', 'edge']),
  languages: () => languageChoices(''),
  attributes: recentValues('attributes'),
  // Categories that campaigns use come first, followed by the other taxonomy categories.
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
  offers: (scope: Scope) => offersOf(scope).map(({ id, copy }) => ({ value: String(id), text: copy.title })),
  campaigns: (scope: Scope) => campaignsOf(scope).map(({ id, name }) => ({ value: String(id), text: name })),
  advertisers: (scope: Scope) => advertisersOf(scope),
  brands: (scope: Scope) => distinct(campaignsOf(scope).map(({ advertiserName }) => advertiserName)),
  domains: (scope: Scope) => domainsOf(scope),
  competitors: (scope: Scope) => [...advertisersOf(scope), ...domainsOf(scope)],
  words: () => [],
} satisfies Record<string, (scope: Scope) => readonly Choice[] | Promise<readonly Choice[]>>;

/** Option kinds that accept only listed values. */
const closedKinds: ReadonlySet<OptionKind> = new Set([
  'countries',
  'audiences',
  'platforms',
  'devices',
  'offers',
  'campaigns',
  'advertisers',
]);

/** Option kinds whose values are IDs. The form shows a label for each ID. */
const idKinds: ReadonlySet<OptionKind> = new Set(['offers', 'campaigns', 'advertisers', 'competitors']);

/**
 * Registers `GET …/options?kind=countries&q=ger`, which returns the choices that match the search text, as list items.
 */
export function optionPages(pages: Pages<PublisherContext>, { extensions }: { extensions: PageExtensions }): void {
  pages.get('/options', 'analyst', async (context) => {
    const kind = queryText(context, 'kind');
    const scope = { publisher: context.publisher, seenValues: extensions.seenValues };
    const all = isKind(kind) ? await sources[kind](scope) : [];
    return { fragment: html`${matching(all, queryText(context, 'q')).map(item)}` };
  });
}

const isKind = (kind: string): kind is OptionKind => Object.hasOwn(sources, kind);

/** Returns the choices that match the search text. Choices that start with it come first. */
function matching(choices: readonly Choice[], text: string): Choice[] {
  const query = text.trim().toLowerCase();
  const rank = ({ value, text: label }: Choice): number => {
    const [id, name] = [value.toLowerCase(), label.toLowerCase()];
    if (id === query) return 0;
    if (name.startsWith(query) || id.startsWith(query)) return 1;
    return name.includes(query) ? 2 : 3;
  };
  return choices
    .map((choice) => ({ choice, rank: rank(choice) }))
    .filter((match) => match.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, maxOptions)
    .map(({ choice }) => choice);
}

const item = ({ value, text }: Choice): Html => html`
  <li role="option" data-value="${value}" data-text="${text}">
    ${text}${value !== text && html` <small>${value}</small>`}
  </li>`;

/** Creates the picker for the search fields of a page. */
export function createPicker({ path, publisher }: PublisherContext): Picker {
  const scope = { publisher, seenValues: undefined };
  return (kind, value) => {
    const values = splitList(typeof value === 'string' ? value : '');
    const unseen = kind === 'placements' ? neverSeen() : '';
    const labels = values.length === 0 ? {} : labelsOf(kind, values, scope);
    return { source: path(`/options?kind=${kind}`), labels, unseen, free: !closedKinds.has(kind) };
  };
}

/**
 * Returns the own events that the caps of a publisher's campaigns can count: events defined by the publisher or by its
 * advertisers.
 */
export const ownKindsFor = (publisher: Publisher): OwnKind[] =>
  [
    ...new Set([
      ...publisher.ownEvents,
      ...campaignsOf({ publisher }).flatMap(({ advertiserEvents }) => advertiserEvents),
    ]),
  ].map(ownKind);

const neverSeen = (): string => t('campaigns.neverSeen');

function labelsOf(kind: OptionKind, values: readonly string[], scope: Scope): Record<string, string> {
  const hasLabels = kind === 'countries' || idKinds.has(kind);
  const labelled = hasLabels ? (sources[kind](scope) as readonly Choice[]) : [];
  const texts = new Map(labelled.map(({ value, text }) => [value, text]));
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
