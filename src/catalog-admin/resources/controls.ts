import { isDeepStrictEqual } from 'node:util';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { controlsOf, hostOf, noControls, noLists, wholeControls } from '../../catalog/controls.ts';
import { maxPlacementLength, normaliseName } from '../../catalog/names.ts';
import { isProvisionedTo } from '../../catalog/provisioning.ts';
import type { OfferLists, Publisher, StoredControls } from '../../catalog/types.ts';
import { audit } from '../../management/audit.ts';
import { idSchema, type Values, type Warning } from '../../management/resource.ts';
import { etagOf, getRow, requireMatch } from '../../management/rows.ts';
import { checkValue } from '../../management/schema-errors.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { countBlocked, warnOfNothingShown, warnOfSuffixes } from './controls-warnings.ts';
import { publishers } from './publishers.ts';

/** Maximum number of entries per list, and maximum number of revenue floors. */
const maxEntries = 1000;
const maxLength = 200;
/** Maximum number of placements with rules of their own. */
const maxPlacements = 200;

const list = <Item extends TSchema>(item: Item, description: string) =>
  Type.Array(item, { maxItems: maxEntries, default: [], description });
const name = Type.String({ minLength: 1, maxLength });

const blockedInput = Type.Object(
  {
    categories: list(name, 'Categories of campaigns: names, or IAB content taxonomy codes such as `iab:211`.'),
    brands: list(name, 'Names of advertisers.'),
    advertisers: list(idSchema, 'Ids of advertisers.'),
    domains: list(name, 'Domains of landing pages, including subdomains.'),
    offers: list(idSchema, 'Ids.'),
    words: list(
      name,
      'Words and phrases in offer texts. They match whole words, or any part of the text in scripts without ' +
        'spaces.',
    ),
  },
  {
    title: 'BlockedOffers',
    additionalProperties: false,
    description: 'Offers that are never shown. Matching ignores case.',
  },
);

const allowedInput = Type.Object(
  {
    categories: list(name, 'Categories of campaigns, as in `blocked`.'),
    brands: list(name, 'Names of advertisers.'),
    advertisers: list(idSchema, 'Ids of advertisers.'),
    domains: list(name, 'Domains of landing pages, including subdomains.'),
  },
  {
    title: 'AllowedOffers',
    additionalProperties: false,
    description:
      'Offers that are allowed exclusively. An offer must match every list that is not empty. If all lists are ' +
      'empty, all offers are allowed.',
  },
);

const partial = { additionalProperties: false };
const someBlocked = Type.Partial(blockedInput, { title: 'BlockedOffers', ...partial });
const someAllowed = Type.Partial(allowedInput, { title: 'AllowedOffers', ...partial });

const ofPlacements = <Lists extends TSchema>(lists: Lists) =>
  Type.Record(Type.String(), lists, {
    maxProperties: maxPlacements,
    description: 'Additional rules by placement.',
  });

const separateInput = Type.Object(
  {
    categories: Type.Boolean({
      default: false,
      description: 'Whether a response contains at most one offer per category.',
    }),
    competitors: list(
      Type.Union([idSchema, name]),
      'Competitors of the publisher, which are never shown: ids or names of advertisers, or domains of landing ' +
        'pages.',
    ),
  },
  { title: 'SeparatedOffers', additionalProperties: false },
);

const floorsInput = Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1_000_000 }), {
  maxProperties: maxEntries,
  description: 'Minimum expected revenue per 1,000 impressions, by placement. Offers below it are not shown.',
});

/** Input schema for block rules. Every part is optional, at every level, and defaults to empty. */
export const controlsInput = Type.Object(
  {
    blocked: someBlocked,
    allowed: someAllowed,
    placements: ofPlacements(
      Type.Partial(Type.Object({ blocked: someBlocked, allowed: someAllowed }), {
        title: 'PlacementControlsInput',
        ...partial,
      }),
    ),
    separate: Type.Partial(separateInput, { title: 'SeparatedOffers', ...partial }),
    floors: floorsInput,
  },
  { title: 'ControlsInput', additionalProperties: false },
);

export const controlsView = Type.Object(
  {
    publisher_id: Type.Integer(),
    blocked: blockedInput,
    allowed: allowedInput,
    placements: ofPlacements(
      Type.Object({ blocked: blockedInput, allowed: allowedInput }, { title: 'PlacementControls' }),
    ),
    separate: separateInput,
    floors: floorsInput,
    offers: Type.Object(
      { total: Type.Integer(), blocked: Type.Integer() },
      {
        description: 'Number of active offers that are provisioned to the publisher, and how many of them are blocked.',
      },
    ),
  },
  { title: 'Controls' },
);

export type ControlsView = StoredControls & { publisher_id: number; offers: { total: number; blocked: number } };

/** Extracts the stored rules from a view, dropping its other fields. */
export const storedOf = ({ publisher_id: _id, offers: _offers, ...stored }: ControlsView): StoredControls => stored;

/**
 * A publisher's block rules, with warnings. `etag` covers only the rules, because the number of blocked offers also
 * changes with the catalogue.
 */
type ControlsResult = { view: ControlsView; warnings: Warning[]; etag: string };
type Find = (publisherId: number) => Publisher | undefined;

/**
 * Returns a publisher's block rules.
 * @throws AppError resource_not_found
 */
export async function getControls(work: Work, key: string, find: Find): Promise<ControlsResult> {
  const { id, stored } = await read(work, key, '');
  return answerOf(id, stored, find);
}

export type ControlsMode = { ifMatch: string | null; dryRun: boolean };

/**
 * Replaces a publisher's block rules. Missing parts become empty. With `dryRun`, the rules are only validated, and
 * their effect is reported.
 * @throws AppError resource_not_found; invalid_request with every invalid field; PreconditionFailed
 */
export async function setControls(
  work: Work,
  key: string,
  input: unknown,
  { ifMatch, dryRun }: ControlsMode,
  find: Find,
): Promise<ControlsResult> {
  const { id, stored: before } = await read(work, key, 'for update');
  const after = parse(input);
  requireMatch(ifMatch, rulesOf(id, before), after);
  if (!dryRun && !isDeepStrictEqual(before, after)) {
    const value = isDeepStrictEqual(after, noControls) ? null : JSON.stringify(after);
    await work.executor.query('update publishers set controls = $2, updated_at = $3 where id = $1', [
      id,
      value,
      new Date(work.nowMs),
    ]);
    const resource = { name: 'controls', key: 'id', ownerOf: () => id } as const;
    await audit(work, { resource, action: 'update', before: { id, ...before }, after: { id, ...after } });
  }
  return answerOf(id, after, find);
}

async function read(work: Work, key: string, lock: '' | 'for update') {
  const { id } = await getRow(publishers, work, key, lock);
  const { rows } = await work.executor.query<{ controls: Partial<StoredControls> | null }>(
    'select controls from publishers where id = $1',
    [id],
  );
  return { id: id as number, stored: wholeControls(rows[0]?.controls ?? {}) };
}

/** Parses block rules, fills in missing parts, and removes duplicates. */
function parse(body: unknown): StoredControls {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new AppError('invalid_request', { details: [{ path: '/', message: problem('isObject') }] });
  const fields = { blocked: {}, allowed: {}, placements: {}, separate: {}, floors: {} };
  const input: Static<typeof controlsInput> = { ...fields, ...body };
  const details = checkValue(controlsInput, input);
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const { placements, separate, floors } = input;
  const wrong = [
    ...wrongLists(input, ''),
    ...Object.entries(placements).flatMap(([name, lists]) => wrongLists(lists, `/placements/${name}`)),
    ...blank(separate, '/separate'),
    ...wrongNames(placements, '/placements'),
    ...wrongNames(floors, '/floors'),
  ];
  if (wrong.length > 0) throw new AppError('invalid_request', { details: wrong });
  const ofPlacements = Object.entries(placements)
    .map(([name, lists]) => [normaliseName(name), listsOf(lists)] as const)
    .filter(([, lists]) => !isDeepStrictEqual(lists, noLists));
  return {
    ...listsOf(input),
    placements: Object.fromEntries(ofPlacements),
    separate: { categories: separate.categories ?? false, competitors: once(separate.competitors) },
    floors: Object.fromEntries(Object.entries(floors).map(([placement, amount]) => [normaliseName(placement), amount])),
  };
}

type GivenLists = {
  blocked?: Partial<OfferLists['blocked']>;
  allowed?: Partial<OfferLists['allowed']>;
};

const once = <Item>(items: readonly Item[] = []): Item[] => [
  ...new Set(items.map((item) => (typeof item === 'string' ? (item.trim() as Item) : item))),
];

const listsOf = ({ blocked = {}, allowed = {} }: GivenLists): OfferLists => ({
  blocked: {
    categories: once(blocked.categories),
    brands: once(blocked.brands),
    advertisers: once(blocked.advertisers),
    domains: once(blocked.domains),
    offers: once(blocked.offers),
    words: once(blocked.words),
  },
  allowed: {
    categories: once(allowed.categories),
    brands: once(allowed.brands),
    advertisers: once(allowed.advertisers),
    domains: once(allowed.domains),
  },
});

const wrongLists = ({ blocked = {}, allowed = {} }: GivenLists, path: string): ErrorDetail[] =>
  Object.entries({ blocked, allowed }).flatMap(([side, lists]) => [
    ...blank(lists, `${path}/${side}`),
    ...(lists.domains ?? []).flatMap((domain, at) =>
      hostOf(domain) === null ? [{ path: `${path}/${side}/domains/${at}`, message: problem('domainName') }] : [],
    ),
  ]);

const wrongNames = (byPlacement: Values, path: string): ErrorDetail[] =>
  Object.keys(byPlacement).flatMap((placement) =>
    placement.trim() === '' || placement.length > maxPlacementLength
      ? [{ path, message: problem('controlPlacements', { max: maxPlacementLength }) }]
      : [],
  );

const blank = (lists: Values, path: string): ErrorDetail[] =>
  Object.entries(lists).flatMap(([key, items]) =>
    (Array.isArray(items) ? items : []).flatMap((item, at) =>
      typeof item === 'string' && item.trim() === ''
        ? [{ path: `${path}/${key}/${at}`, message: problem('blank') }]
        : [],
    ),
  );

const rulesOf = (id: number, stored: StoredControls): Values => ({ publisher_id: id, ...stored });

/**
 * Builds the result, including the number of the publisher's offers that the rules block according to this process's
 * snapshot.
 */
async function answerOf(id: number, stored: StoredControls, find: Find): Promise<ControlsResult> {
  const publisher = find(id);
  const controls = controlsOf(stored, publisher?.controls ?? null);
  const offers = (publisher?.index.offers ?? []).filter((offer) => isProvisionedTo(offer, id));
  const blocked = controls === null ? 0 : await countBlocked(offers, controls.blockOf);
  return {
    view: { publisher_id: id, ...stored, offers: { total: offers.length, blocked } },
    warnings: [...(await warnOfSuffixes(stored)), ...(await warnOfNothingShown(controls, offers, blocked))],
    etag: etagOf(rulesOf(id, stored)),
  };
}
