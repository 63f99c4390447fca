import { Type } from '@sinclair/typebox';
import { patternProblem } from '../management/schema-errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import type { TokenUse } from '../platform/security/tracking-token.ts';

/** Rules of one kind of event. An absent flag is off. */
type EventKindRules = {
  /** Report metric that counts the event. */
  metric: string;
  /**
   * Image beacon that records the event. `name` is its member in an offer's `beacons`; if absent, it is the offer's
   * `pixel`. `operationId` and `summary` are for the API reference.
   */
  beacon?: { path: string; name?: string; operationId: string; summary: string };
  /** Tracking tokens that record the event. Absent if calls without a token of their own record it. */
  token?: TokenUse;
  /** Whether frequency caps can count the event. */
  frequencyCap?: true;
  /** Whether total caps and budgets count the event. */
  totalCap?: true;
  /** Payout that pays for the event, and the number of events that one payout covers. */
  paidBy?: { payout: 'cpc' | 'cpm'; per: number };
  /** Whether the event opts the user out of the campaign. */
  optOut?: true;
  /** Whether reports show a lower count as better. */
  fewerIsBetter?: true;
};

const beaconToken: TokenUse = { maxAgeMs: dayMs, acceptsQrCode: false };
const clickToken: TokenUse = { maxAgeMs: 30 * dayMs, acceptsQrCode: true };

/**
 * Every kind of event that is stored with its session and offer
 * (docs/reference/tracking-and-conversions.md#tracking-urls). CONTRIBUTING.md#add-a-feature says what else a new kind
 * needs.
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
  /**
   * Event named by a publisher or an advertiser. It is stored as `own:` with its name and counted once for each name.
   */
  own: { metric: 'own_events', token: beaconToken },
} as const satisfies Record<string, EventKindRules>;

export type EventKind = keyof typeof eventKinds;

export type EventMetric = (typeof eventKinds)[EventKind]['metric'];

/** Report metrics that count events, in the order of the table. */
export const eventMetrics: readonly EventMetric[] = Object.values(eventKinds).map(({ metric }) => metric);

/** Kinds that have a rule. */
type KindsWith<Rule extends keyof EventKindRules> = {
  [Kind in EventKind]: (typeof eventKinds)[Kind] extends Required<Pick<EventKindRules, Rule>> ? Kind : never;
}[EventKind];

/** Kinds that a signed tracking token records: the image beacons and the click. */
export type TrackedKind = KindsWith<'token'>;

/** Lists the kinds that have a rule, in the order of the table. */
export const kindsWith = <Rule extends keyof EventKindRules>(rule: Rule): KindsWith<Rule>[] =>
  (Object.keys(eventKinds) as EventKind[]).filter((kind): kind is KindsWith<Rule> => rulesOf(kind)[rule] !== undefined);

/** Rules of a kind; absent rules are undefined. */
export const rulesOf = (kind: EventKind): EventKindRules => eventKinds[kind];

type Beacon = NonNullable<EventKindRules['beacon']>;

/** Names of the members of an offer's `beacons`. */
type BeaconName = Extract<(typeof eventKinds)[KindsWith<'beacon'>]['beacon'], { name: string }>['name'];

const namedBeacons = kindsWith('beacon')
  .flatMap((kind) => {
    const { name, path }: Beacon = eventKinds[kind].beacon;
    return name === undefined ? [] : [{ name, path }];
  })
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/** Builds a value for each member of an offer's `beacons` from the path of the beacon. */
export const eachBeacon = <Value>(make: (path: string) => Value): Record<BeaconName, Value> =>
  Object.fromEntries(namedBeacons.map(({ name, path }) => [name, make(path)])) as Record<BeaconName, Value>;

/** Maximum number of own events of an offer. Those of the publisher come before those of the advertiser. */
const maxOwnEvents = 20;

/** Path of the beacon for own events. The parameter `name` names the event. */
export const ownEventPath = '/event/record/own';

const ownName = '[a-z0-9][a-z0-9_-]{0,39}';

/** Own event as rules name it and events store it. */
export type OwnKind = `own:${string}`;

export const ownKind = (name: string): OwnKind => `own:${name}`;

export const isOwnKind = (kind: string): kind is OwnKind => kind.startsWith('own:');

/** Splits a kind for texts: an own event becomes `own` and its name. */
export const splitKind = (kind: string): { kind: string; name: string } =>
  isOwnKind(kind) ? { kind: 'own', name: kind.slice(ownKind('').length) } : { kind, name: '' };

/** Schema of one of the values, or an own event as `own:` with its name. */
export const orOwnKind = <const Values extends readonly string[]>(values: Values, description: string) =>
  Type.Unsafe<Values[number] | OwnKind>(
    Type.Union(
      [
        Type.String({
          pattern: `^own:${ownName}$`,
          [patternProblem]: problem('oneOfOrOwn', { choices: values.join(', ') }),
        }),
        ...values.map((value) => Type.Literal(value)),
      ],
      { description: `${description} For an own event, use \`own:\` and its name.` },
    ),
  );

export const ownEventsField = (description: string) =>
  Type.Array(
    Type.String({
      pattern: `^${ownName}$`,
      [patternProblem]: problem('ownEventName'),
    }),
    { maxItems: maxOwnEvents, uniqueItems: true, default: [], description },
  );

/** Own events of a campaign's offers at a publisher. */
export function ownEventsOf(
  { ownEvents }: { ownEvents: readonly string[] },
  { advertiserEvents }: { advertiserEvents: readonly string[] },
): readonly string[] {
  if (advertiserEvents.length === 0) return ownEvents;
  return [...new Set([...ownEvents, ...advertiserEvents])].slice(0, maxOwnEvents);
}
