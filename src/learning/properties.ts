import { minuteOfWeek } from '../platform/lib/time-zone.ts';

/** What a request says that is learned from; null: unknown. Identifiers are not among it. */
export type LearningContext = {
  device: string | null;
  /** Says the platform too. */
  os: string | null;
  geo: { country: string | null; timeZone: string | null };
  loyalty: string;
  custom: ReadonlyMap<string, string>;
  nowMs: number;
};

/** The publisher of a request, as far as learning depends on it. */
export type LearningPublisher = { id: number; timeZone: string; learningExcludedKeys: ReadonlySet<string> };

/** One property of a request. Keys of custom attributes hold the publisher's id: no other learns from them. */
export type Property = { key: string; value: string };

const standard: readonly { key: string; of: (context: LearningContext, timeZone: string) => string | null }[] = [
  { key: 'device', of: ({ device }) => device },
  { key: 'os', of: ({ os }) => os },
  { key: 'country', of: ({ geo }) => geo.country },
  { key: 'loyalty', of: ({ loyalty }) => loyalty },
  { key: 'hour', of: ({ nowMs }, timeZone) => String(Math.floor((minuteOfWeek(timeZone, nowMs) % 1440) / 60)) },
  { key: 'weekday', of: ({ nowMs }, timeZone) => String(Math.floor(minuteOfWeek(timeZone, nowMs) / 1440)) },
];

const customPrefix = 'custom ';

export const isCustom = (key: string): boolean => key.startsWith(customPrefix);

/** The part of a custom attribute's key that all keys of its publisher have. */
export const publisherPart = (key: string): string => key.slice(0, key.indexOf(' ', customPrefix.length));

/** The key without its publisher, as requests have it. */
export const nameOfKey = (key: string): string => (isCustom(key) ? key.slice(publisherPart(key).length + 1) : key);

/** By code unit; no two are equal. */
const byKey = (a: Property, b: Property): number => (a.key < b.key ? -1 : 1);

/**
 * The properties of a request, in an order that does not depend on that of its attributes: scores are sums in this
 * order, and are made again bit for bit. @param wanted keys; null: all
 */
export function propertiesOf(
  context: LearningContext,
  publisher: LearningPublisher,
  wanted: ReadonlySet<string> | null = null,
): Property[] {
  const found: Property[] = [];
  if (wanted?.size === 0) return found;
  const timeZone = context.geo.timeZone ?? publisher.timeZone;
  for (const { key, of } of standard) {
    const value = wanted === null || wanted.has(key) ? of(context, timeZone) : null;
    if (value !== null) found.push({ key, value });
  }
  const custom: Property[] = [];
  for (const [name, value] of context.custom) {
    const key = `${customPrefix}${publisher.id} ${name}`;
    if (wanted !== null && !wanted.has(key)) continue;
    if (!publisher.learningExcludedKeys.has(name)) custom.push({ key, value });
  }
  if (custom.length > 1) custom.sort(byKey);
  for (const property of custom) found.push(property);
  return found;
}
