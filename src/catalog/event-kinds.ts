import { Type } from '@sinclair/typebox';
import { patternProblem } from '../management/schema-errors.ts';
import { dayMs } from '../platform/lib/time.ts';
import { problem } from '../platform/problem.ts';
import type { TokenUse } from '../platform/security/tracking-token.ts';

/** Rules for an event kind. An absent flag means false. */
type EventKindRules = {
  /** Report metric that counts these events. */
  metric: string;
  /**
   * Image beacon that records the event. `name` is its key in an offer's `beacons`; without a name, the beacon is the
   * offer's `pixel`. `operationId` and `summary` are for the API reference.
   */
  beacon?: { path: string; name?: string; operationId: string; summary: string };
  /**
   * Requirements for the tracking token with which the event is recorded. Absent if the event is recorded by calls
   * without a tracking token.
   */
  token?: TokenUse;
  /** Whether frequency caps can count events of this kind. */
  frequencyCap?: true;
  /** Whether total caps and budgets count events of this kind. */
  totalCap?: true;
  /** Payout kind that pays for the event, and the number of events per payout. */
  paidBy?: { payout: 'cpc' | 'cpm'; per: number };
  /** Whether the event opts the user out of the campaign. */
  optOut?: true;
  /** Whether reports show a lower count as an improvement. */
  fewerIsBetter?: true;
};

const beaconToken: TokenUse = { maxAgeMs: dayMs, acceptsQrCode: false };
const clickToken: TokenUse = { maxAgeMs: 30 * dayMs, acceptsQrCode: true };

/**
 * Event kinds that are stored with a session and an offer (docs/reference/tracking-and-conversions.md#tracking-urls).
 * For the other steps needed to add a kind, see CONTRIBUTING.md#add-a-feature.
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
   * Event defined by a publisher or an advertiser. It is stored as `own:` followed by its name, and each name is
   * counted separately.
   */
  own: { metric: 'own_events', token: beaconToken },
} as const satisfies Record<string, EventKindRules>;

export type EventKind = keyof typeof eventKinds;

export type EventMetric = (typeof eventKinds)[EventKind]['metric'];

/** Report metrics that count events, in the order of the event kinds. */
export const eventMetrics: readonly EventMetric[] = Object.values(eventKinds).map(({ metric }) => metric);

/** Event kinds for which the given rule is set. */
type KindsWith<Rule extends keyof EventKindRules> = {
  [Kind in EventKind]: (typeof eventKinds)[Kind] extends Required<Pick<EventKindRules, Rule>> ? Kind : never;
}[EventKind];

/** Event kinds that are recorded with a signed tracking token: image beacons and the click. */
export type TrackedKind = KindsWith<'token'>;

/** Returns the event kinds for which the given rule is set, in the order of their definition. */
export const kindsWith = <Rule extends keyof EventKindRules>(rule: Rule): KindsWith<Rule>[] =>
  (Object.keys(eventKinds) as EventKind[]).filter((kind): kind is KindsWith<Rule> => rulesOf(kind)[rule] !== undefined);

/** Returns the rules for an event kind. Rules that are not set are undefined. */
export const rulesOf = (kind: EventKind): EventKindRules => eventKinds[kind];

type Beacon = NonNullable<EventKindRules['beacon']>;

/** Key in an offer's `beacons` object. */
type BeaconName = Extract<(typeof eventKinds)[KindsWith<'beacon'>]['beacon'], { name: string }>['name'];

const namedBeacons = kindsWith('beacon')
  .flatMap((kind) => {
    const { name, path }: Beacon = eventKinds[kind].beacon;
    return name === undefined ? [] : [{ name, path }];
  })
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/**
 * Builds an object that has a value for each key of an offer's `beacons`.
 * @param make creates the value from the beacon's path
 */
export const eachBeacon = <Value>(make: (path: string) => Value): Record<BeaconName, Value> =>
  Object.fromEntries(namedBeacons.map(({ name, path }) => [name, make(path)])) as Record<BeaconName, Value>;

/**
 * Maximum number of own events per offer. If there are more, the publisher's own events take precedence over the
 * advertiser's.
 */
const maxOwnEvents = 20;

/** Beacon path for own events. The query parameter `name` contains the event name. */
export const ownEventPath = '/event/record/own';

const ownName = '[a-z0-9][a-z0-9_-]{0,39}';

/** Identifier for an own event in rules and stored events. */
export type OwnKind = `own:${string}`;

export const ownKind = (name: string): OwnKind => `own:${name}`;

export const isOwnKind = (kind: string): kind is OwnKind => kind.startsWith('own:');

/** Splits an event kind for display. An own event becomes `own` and its name. */
export const splitKind = (kind: string): { kind: string; name: string } =>
  isOwnKind(kind) ? { kind: 'own', name: kind.slice(ownKind('').length) } : { kind, name: '' };

/** Builds a schema that accepts one of the given values or an own event, written as `own:` followed by its name. */
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

/** Returns the own events that a campaign's offers can record at a publisher. */
export function ownEventsOf(
  { ownEvents }: { ownEvents: readonly string[] },
  { advertiserEvents }: { advertiserEvents: readonly string[] },
): readonly string[] {
  if (advertiserEvents.length === 0) return ownEvents;
  return [...new Set([...ownEvents, ...advertiserEvents])].slice(0, maxOwnEvents);
}
