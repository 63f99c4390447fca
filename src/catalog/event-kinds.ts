import { Type } from '@sinclair/typebox';
import { problem } from '../management/schema-errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import type { TokenUse } from '../platform/security/tracking-token.ts';

/** The rules of one kind of event. A flag that is absent is off. */
type EventKindRules = {
  /** The report metric that counts it. */
  metric: string;
  /**
   * The image beacon that records it. `name`: its member of an offer's `beacons`; absent: it is the offer's `pixel`.
   * Id and summary are for the API reference.
   */
  beacon?: { path: string; name?: string; operationId: string; summary: string };
  /** Which tracking tokens record it; absent: it is recorded by calls that need no token of their own. */
  token?: TokenUse;
  /** Frequency caps can count it. */
  frequencyCap?: true;
  /** Total caps and budgets count it. */
  totalCap?: true;
  /** The payout that pays for it, and for how many of them. */
  paidBy?: { payout: 'cpc' | 'cpm'; per: number };
  /** Opts the user out of the campaign. */
  optOut?: true;
  /** Reports show fewer of them as better. */
  fewerIsBetter?: true;
};

const beaconToken: TokenUse = { maxAgeMs: dayMs, acceptsQrCode: false };
const clickToken: TokenUse = { maxAgeMs: 30 * dayMs, acceptsQrCode: true };

/**
 * Every kind of event that is stored with its session and offer
 * (docs/reference/tracking-and-conversions.md#tracking-urls). What else a new one needs stands in
 * CONTRIBUTING.md#beacon-kinds.
 */
export const eventKinds = {
  impression: {
    metric: 'impressions',
    beacon: { path: '/sdk/v2/impression/p.png', operationId: 'recordImpression', summary: 'Record an impression' },
    token: beaconToken,
    frequencyCap: true,
    totalCap: true,
    paidBy: { payout: 'cpm', per: 1000 },
  },
  click: {
    metric: 'clicks',
    token: clickToken,
    frequencyCap: true,
    totalCap: true,
    paidBy: { payout: 'cpc', per: 1 },
  },
  no_thanks: {
    metric: 'no_thanks',
    beacon: {
      path: '/event/record/no_thanks_click',
      name: 'no_thanks_click',
      operationId: 'recordNoThanks',
      summary: 'Record a "no thanks"',
    },
    token: beaconToken,
    frequencyCap: true,
    optOut: true,
    fewerIsBetter: true,
  },
  close: {
    metric: 'closes',
    beacon: { path: '/event/record/close', name: 'close', operationId: 'recordClose', summary: 'Record a close' },
    token: beaconToken,
    fewerIsBetter: true,
  },
  save: { metric: 'saves' },
  selection: { metric: 'selections' },
  /** Named by a publisher or an advertiser; stored as `own:` with its name, each name once. */
  own: { metric: 'own_events', token: beaconToken },
} as const satisfies Record<string, EventKindRules>;

export type EventKind = keyof typeof eventKinds;

export type EventMetric = (typeof eventKinds)[EventKind]['metric'];

/** The report metrics that count events, in the order of the table. */
export const eventMetrics: readonly EventMetric[] = Object.values(eventKinds).map(({ metric }) => metric);

/** The kinds for which a rule is set. */
type KindsWith<Rule extends keyof EventKindRules> = {
  [Kind in EventKind]: (typeof eventKinds)[Kind] extends Required<Pick<EventKindRules, Rule>> ? Kind : never;
}[EventKind];

/** Kinds that a signed tracking token records: the image beacons and the click. */
export type TrackedKind = KindsWith<'token'>;

/** The kinds for which a rule is set, in the order of the table. */
export const kindsWith = <Rule extends keyof EventKindRules>(rule: Rule): KindsWith<Rule>[] =>
  (Object.keys(eventKinds) as EventKind[]).filter((kind): kind is KindsWith<Rule> => rulesOf(kind)[rule] !== undefined);

/** The rules of any kind, absent ones undefined. */
export const rulesOf = (kind: EventKind): EventKindRules => eventKinds[kind];

type Beacon = NonNullable<EventKindRules['beacon']>;

/** The names of the beacons in `beacons` of an offer. */
type BeaconName = Extract<(typeof eventKinds)[KindsWith<'beacon'>]['beacon'], { name: string }>['name'];

const namedBeacons = kindsWith('beacon')
  .flatMap((kind) => {
    const { name, path }: Beacon = eventKinds[kind].beacon;
    return name === undefined ? [] : [{ name, path }];
  })
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/** A member for each of an offer's `beacons`, by name, made of its path. */
export const eachBeacon = <Value>(make: (path: string) => Value): Record<BeaconName, Value> =>
  Object.fromEntries(namedBeacons.map(({ name, path }) => [name, make(path)])) as Record<BeaconName, Value>;

/** Of an offer: those of the publisher first, then those of the advertiser (count). */
const maxOwnEvents = 20;

/** Path of the beacon; the event is its parameter `name`. */
export const ownEventPath = '/event/record/own';

const ownName = '[a-z0-9][a-z0-9_-]{0,39}';

/** An own event as rules name it and events store it. */
export type OwnKind = `own:${string}`;

export const ownKind = (name: string): OwnKind => `own:${name}`;

export const isOwnKind = (kind: string): kind is OwnKind => kind.startsWith('own:');

/** A kind as texts take it: an own event is `own`, and has a name. */
export const splitKind = (kind: string): { kind: string; name: string } =>
  isOwnKind(kind) ? { kind: 'own', name: kind.slice(ownKind('').length) } : { kind, name: '' };

/** One of these, or an own event as `own:` with its name. */
export const orOwnKind = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Unsafe<Values[number] | OwnKind>(
    Type.Union(
      [
        Type.String({
          pattern: `^own:${ownName}$`,
          [problem]: `must be one of ${values.join(', ')}, or own: with the name of an own event`,
        }),
        ...values.map((value) => Type.Literal(value)),
      ],
      { description: `${description} An own event is \`own:\` with its name.` },
    ),
  );

export const ownEventsField = (description: string) =>
  Type.Array(
    Type.String({
      pattern: `^${ownName}$`,
      [problem]: 'must have 1 to 40 lower-case letters, digits, hyphens and underscores',
    }),
    { maxItems: maxOwnEvents, uniqueItems: true, default: [], description },
  );

/** The own events of a campaign's offers at a publisher. */
export function ownEventsOf(
  { ownEvents }: { ownEvents: readonly string[] },
  { advertiserEvents }: { advertiserEvents: readonly string[] },
): readonly string[] {
  if (advertiserEvents.length === 0) return ownEvents;
  return [...new Set([...ownEvents, ...advertiserEvents])].slice(0, maxOwnEvents);
}
