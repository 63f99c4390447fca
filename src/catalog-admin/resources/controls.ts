import { isDeepStrictEqual } from 'node:util';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import {
  controlsOf,
  hostOf,
  identifyingValue,
  noControls,
  noLists,
  ruleKey,
  rulesInForce,
  rulesOf,
  wholeControls,
} from '../../catalog/controls.ts';
import { maxPlacementLength, normaliseName } from '../../catalog/names.ts';
import { isProvisionedTo } from '../../catalog/provisioning.ts';
import type { ControlsRule, RuleDetail } from '../../catalog/rules.ts';
import type { OfferLists, Publisher, StoredControls } from '../../catalog/types.ts';
import { audit } from '../../management/audit.ts';
import { idSchema, orNull, type Values, type Warning } from '../../management/resource.ts';
import { etagOf, getRow, requireMatch } from '../../management/rows.ts';
import { checkValue } from '../../management/schema-errors.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
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
    advertisers: list(idSchema, 'IDs of advertisers.'),
    domains: list(name, 'Domains of landing pages, including subdomains.'),
    offers: list(idSchema, 'IDs of offers.'),
    words: list(
      name,
      'Words and phrases in offer copy. They match whole words, or any part of the text in scripts without ' +
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
    advertisers: list(idSchema, 'IDs of advertisers.'),
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
      'Competitors of the publisher, which are never shown: IDs or names of advertisers, or domains of landing ' +
        'pages.',
    ),
  },
  { title: 'SeparatedOffers', additionalProperties: false },
);

const floorsInput = Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1_000_000 }), {
  maxProperties: maxEntries,
  description: 'Minimum expected revenue per 1,000 impressions, by placement. Offers below it are not shown.',
});

/** Kinds of rules. */
const ruleKinds = [
  ...(['category', 'brand', 'advertiser', 'domain', 'offer', 'word', 'competitor', 'separation', 'floor'] as const),
  ...(['allowed_categories', 'allowed_brands', 'allowed_advertisers', 'allowed_domains'] as const),
] satisfies ControlsRule['by'][];

/** Maximum length of a note, in characters. */
export const maxNoteLength = 500;

const ruleFields = {
  by: Type.Union(
    ruleKinds.map((kind) => Type.Literal(kind)),
    { title: 'ControlsRuleKind', description: 'Kind of the rule. Each list in `allowed` is one rule.' },
  ),
  value: Type.String({
    maxLength,
    default: '',
    description:
      'Entry of the list, or placement of the minimum revenue. Empty for lists in `allowed` and for `separation`.',
  }),
  placement: orNull(Type.String({ maxLength }), {
    default: null,
    title: 'ControlsDetailPlacement',
    description: 'Placement that the rule applies to, or `null` for all placements.',
  }),
  note: Type.String({ maxLength: maxNoteLength, default: '', description: 'Reason for the rule.' }),
  ends_at: orNull(Type.String({ maxLength: 40 }), {
    default: null,
    title: 'ControlsRuleEnd',
    description: 'RFC 3339 time from which the rule no longer applies, or `null` for a rule without an end.',
  }),
};
const detailView = Type.Object(ruleFields, { title: 'ControlsRuleDetail', additionalProperties: false });
const { by: kindField, ...optionalFields } = ruleFields;
const detailInput = Type.Composite([Type.Object({ by: kindField }), Type.Partial(Type.Object(optionalFields))], {
  title: 'ControlsRuleDetail',
  additionalProperties: false,
});
const details = <Item extends TSchema>(item: Item) =>
  Type.Array(item, { maxItems: maxEntries, default: [], description: 'Notes and end times of rules.' });

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
    rule_details: details(detailInput),
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
    rule_details: details(detailView),
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
 * A publisher's block rules, with warnings. `inForce` contains the rules that have not ended. `etag` covers only the
 * rules, because the number of blocked offers also changes with the catalogue.
 */
type ControlsResult = {
  view: ControlsView;
  inForce: StoredControls;
  nowMs: number;
  warnings: Warning[];
  etag: string;
};
type Find = (publisherId: number) => Publisher | undefined;

/**
 * Returns a publisher's block rules.
 * @throws AppError resource_not_found
 */
export async function getControls(work: Work, key: string, find: Find): Promise<ControlsResult> {
  const { id, stored } = await read(work, key, '');
  return answerOf(id, stored, work.nowMs, find);
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
  requireMatch(ifMatch, valuesOf(id, before), after);
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
  return answerOf(id, after, work.nowMs, find);
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
  const fields = { blocked: {}, allowed: {}, placements: {}, separate: {}, floors: {}, rule_details: [] };
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
  const rules: StoredControls = {
    ...listsOf(input),
    placements: Object.fromEntries(ofPlacements),
    separate: { categories: separate.categories ?? false, competitors: once(separate.competitors) },
    floors: Object.fromEntries(Object.entries(floors).map(([placement, amount]) => [normaliseName(placement), amount])),
    rule_details: [],
  };
  return { ...rules, rule_details: parseDetails(input.rule_details, rules) };
}

/**
 * Parses the notes and end times of rules. Those that contain neither are left out.
 * @throws AppError invalid_request if a rule does not exist or occurs twice, or if a time is invalid
 */
function parseDetails(input: Static<typeof controlsInput>['rule_details'], rules: StoredControls): RuleDetail[] {
  if (input.length === 0) return [];
  const keys = new Set(rulesOf(rules).map(ruleKey));
  const wrong: ErrorDetail[] = [];
  const parsed = input.map(({ by, value = '', placement = null, note = '', ends_at: endsAt = null }, at) => {
    const trimmed = by === 'floor' ? normaliseName(value) : value.trim();
    const typed = { by, value: trimmed, placement: placement && normaliseName(placement) };
    const rule = { ...typed, value: identifyingValue(typed) };
    const key = ruleKey(rule);
    const endMs = endsAt === null ? null : (timeOf(endsAt) ?? Number.NaN);
    if (!keys.delete(key)) wrong.push({ path: `/rule_details/${at}`, message: problem('detailsOfNoRule') });
    if (Number.isNaN(endMs)) wrong.push({ path: `/rule_details/${at}/ends_at`, message: problem('timeSuchAs') });
    return {
      ...rule,
      note: note.trim(),
      ends_at: endMs === null || Number.isNaN(endMs) ? null : new Date(endMs).toISOString(),
    };
  });
  if (wrong.length > 0) throw new AppError('invalid_request', { details: wrong });
  return parsed.filter(({ note, ends_at: endsAt }) => note !== '' || endsAt !== null);
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

const valuesOf = (id: number, stored: StoredControls): Values => ({ publisher_id: id, ...stored });

/**
 * Builds the result, including the number of the publisher's offers that the rules block according to this process's
 * snapshot.
 */
async function answerOf(id: number, stored: StoredControls, nowMs: number, find: Find): Promise<ControlsResult> {
  const publisher = find(id);
  const inForce = rulesInForce(stored, nowMs);
  const controls = controlsOf(inForce, publisher?.controls ?? null);
  const offers = (publisher?.index.offers ?? []).filter((offer) => isProvisionedTo(offer, id));
  const blocked = controls === null ? 0 : await countBlocked(offers, controls.blockOf);
  return {
    view: { publisher_id: id, ...stored, offers: { total: offers.length, blocked } },
    inForce,
    nowMs,
    warnings: [...(await warnOfSuffixes(stored)), ...(await warnOfNothingShown(controls, offers, blocked))],
    etag: etagOf(valuesOf(id, stored)),
  };
}
