import { isDeepStrictEqual } from 'node:util';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { audit } from '../../management/audit.ts';
import { idSchema, type Values, type Warning } from '../../management/resource.ts';
import { etagOf, getRow, requireMatch } from '../../management/rows.ts';
import { checkValue } from '../../management/schema-errors.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { controlsOf, hostOf, noControls } from '../controls.ts';
import { maxPlacementLength, normaliseName } from '../names.ts';
import { isProvisionedTo } from '../provisioning.ts';
import type { Controls, Offer, Publisher, StoredControls } from '../types.ts';
import { publishers } from './publishers.ts';

/** Entries of a list, and floors (count). */
const maxEntries = 1000;
const maxLength = 200;

const list = <Item extends TSchema>(item: Item, description: string) =>
  Type.Array(item, { maxItems: maxEntries, default: [], description });
const name = Type.String({ minLength: 1, maxLength });

const blockedInput = Type.Object(
  {
    categories: list(name, 'Categories of campaigns.'),
    brands: list(name, 'Names of advertisers.'),
    advertisers: list(idSchema, 'Ids.'),
    domains: list(name, 'Domains of landing pages, with their subdomains.'),
    offers: list(idSchema, 'Ids.'),
    words: list(name, 'Words and phrases in texts of offers, found whole; in scripts without blanks anywhere.'),
  },
  {
    title: 'BlockedOffers',
    additionalProperties: false,
    description: 'Never shown. Upper and lower case are the same.',
  },
);

const separateInput = Type.Object(
  {
    categories: Type.Boolean({ default: false, description: 'Not two offers of a category in one answer.' }),
    competitors: list(
      Type.Union([idSchema, name]),
      'Competitors of the publisher, never shown: ids or names of advertisers, or domains of landing pages.',
    ),
  },
  { title: 'SeparatedOffers', additionalProperties: false },
);

const floorsInput = Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1_000_000 }), {
  maxProperties: maxEntries,
  description: 'By placement: the least expected revenue of 1,000 impressions for an offer to be shown.',
});

/** What of the rules can be left out, at any depth: it is then empty. */
export const controlsInput = Type.Object(
  {
    blocked: Type.Partial(blockedInput, { title: 'BlockedOffers', additionalProperties: false }),
    separate: Type.Partial(separateInput, { title: 'SeparatedOffers', additionalProperties: false }),
    floors: floorsInput,
  },
  { title: 'ControlsInput', additionalProperties: false },
);

export const controlsView = Type.Object(
  {
    publisher_id: Type.Integer(),
    blocked: blockedInput,
    separate: separateInput,
    floors: floorsInput,
    offers: Type.Object(
      { total: Type.Integer(), blocked: Type.Integer() },
      { description: 'Active offers provisioned to the publisher, and how many of them are blocked.' },
    ),
  },
  { title: 'Controls' },
);

export type ControlsView = StoredControls & { publisher_id: number; offers: { total: number; blocked: number } };

/** The rules of a view alone. */
export const storedOf = ({ blocked, separate, floors }: ControlsView): StoredControls => ({
  blocked,
  separate,
  floors,
});

/** `etag`: of the rules alone, since what they block changes with the catalogue. */
type Answer = { view: ControlsView; warnings: Warning[]; etag: string };
type Find = (publisherId: number) => Publisher | undefined;

/** The rules of a publisher. @throws AppError resource_not_found */
export async function getControls(work: Work, key: string, find: Find): Promise<Answer> {
  const { id, stored } = await read(work, key, '');
  return answerOf(id, stored ?? noControls, find);
}

export type ControlsMode = { ifMatch: string | null; dryRun: boolean };

/**
 * Replaces the rules of a publisher; what is left out is empty. `dryRun`: checks them, and says what they would block.
 * @throws AppError resource_not_found; invalid_request naming every wrong field; PreconditionFailed
 */
export async function setControls(
  work: Work,
  key: string,
  given: unknown,
  { ifMatch, dryRun }: ControlsMode,
  find: Find,
): Promise<Answer> {
  const { id, stored } = await read(work, key, 'for update');
  const before = stored ?? noControls;
  const after = parse(given);
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
  const { rows } = await work.executor.query<{ controls: StoredControls | null }>(
    'select controls from publishers where id = $1',
    [id],
  );
  return { id: id as number, stored: rows[0]?.controls ?? null };
}

/** The rules, whole and without repeats. */
function parse(given: unknown): StoredControls {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new AppError('invalid_request', { details: [{ path: '/', message: 'must be an object' }] });
  const { blocked = {}, separate = {}, floors = {} } = given as Partial<Static<typeof controlsInput>>;
  const details = checkValue(controlsInput, { blocked, separate, floors, ...given });
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const wrong = [
    ...blank(blocked, '/blocked'),
    ...blank(separate, '/separate'),
    ...(blocked.domains ?? []).flatMap((domain, at) =>
      hostOf(domain) === null
        ? [{ path: `/blocked/domains/${at}`, message: 'is no domain, such as shop.example' }]
        : [],
    ),
    ...Object.keys(floors).flatMap((placement) =>
      placement.trim() === '' || placement.length > maxPlacementLength
        ? [{ path: '/floors', message: `must name placements, of at most ${maxPlacementLength} characters` }]
        : [],
    ),
  ];
  if (wrong.length > 0) throw new AppError('invalid_request', { details: wrong });
  const once = <Item>(items: readonly Item[] = []): Item[] => [
    ...new Set(items.map((item) => (typeof item === 'string' ? (item.trim() as Item) : item))),
  ];
  return {
    blocked: {
      categories: once(blocked.categories),
      brands: once(blocked.brands),
      advertisers: once(blocked.advertisers),
      domains: once(blocked.domains),
      offers: once(blocked.offers),
      words: once(blocked.words),
    },
    separate: { categories: separate.categories ?? false, competitors: once(separate.competitors) },
    floors: Object.fromEntries(Object.entries(floors).map(([placement, amount]) => [normaliseName(placement), amount])),
  };
}

const blank = (lists: Values, path: string): ErrorDetail[] =>
  Object.entries(lists).flatMap(([key, items]) =>
    (Array.isArray(items) ? items : []).flatMap((item, at) =>
      typeof item === 'string' && item.trim() === ''
        ? [{ path: `${path}/${key}/${at}`, message: 'must not be blank' }]
        : [],
    ),
  );

const rulesOf = (id: number, stored: StoredControls): Values => ({ publisher_id: id, ...stored });

/** Offers looked at between two pauses (count). */
const sliceSize = 100;

/** The rules with what they block of the publisher's offers, as this process knows them. */
async function answerOf(id: number, stored: StoredControls, find: Find): Promise<Answer> {
  const publisher = find(id);
  const controls = controlsOf(stored, publisher?.controls ?? null);
  const offers = (publisher?.index.offers ?? []).filter((offer) => isProvisionedTo(offer, id));
  const blocked = controls === null ? 0 : await runInSlices(countBlocked(offers, controls));
  const view = { publisher_id: id, ...stored, offers: { total: offers.length, blocked } };
  const blocksAll = offers.length > 0 && blocked === offers.length;
  return {
    view,
    warnings: blocksAll ? [{ path: '/', message: `block every offer (${blocked}): nothing is shown` }] : [],
    etag: etagOf(rulesOf(id, stored)),
  };
}

function* countBlocked(offers: readonly Offer[], { blockOf }: Controls): Generator<void, number> {
  let count = 0;
  for (const [done, offer] of offers.entries()) {
    if (done % sliceSize === sliceSize - 1) yield;
    if (blockOf(offer) !== null) count += 1;
  }
  return count;
}
