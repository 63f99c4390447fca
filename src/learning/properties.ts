import { minuteOfWeek } from '../platform/lib/time-zone.ts';

/** Values of a request that are learned from; null if unknown. It contains no identifiers. */
export type LearningContext = {
  device: string | null;
  /** Also implies the platform. */
  os: string | null;
  geo: { country: string | null; timeZone: string | null };
  loyalty: string;
  custom: ReadonlyMap<string, string>;
  nowMs: number;
};

/** Parts of a request's publisher that learning depends on. */
export type LearningPublisher = { id: number; timeZone: string; learningExcludedKeys: ReadonlySet<string> };

/**
 * A property of a request. Keys of custom attributes contain the publisher's id, so that no other publisher learns from
 * them.
 */
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

/** Prefix of a custom attribute's key that all keys of its publisher share. */
export const publisherPart = (key: string): string => key.slice(0, key.indexOf(' ', customPrefix.length));

/** Key without its publisher, as in requests. */
export const nameOfKey = (key: string): string => (isCustom(key) ? key.slice(publisherPart(key).length + 1) : key);

/** Compares by code unit; keys are unique. */
const byKey = (a: Property, b: Property): number => (a.key < b.key ? -1 : 1);

/**
 * Properties of a request, in an order that does not depend on that of its attributes. Scores are sums in this order,
 * and must be reproducible bit for bit.
 * @param wanted keys to include; null for all
 */
export function propertiesOf(
  context: LearningContext,
  publisher: LearningPublisher,
  includedKeys: ReadonlySet<string> | null = null,
): Property[] {
  const properties: Property[] = [];
  if (includedKeys?.size === 0) return properties;
  const timeZone = context.geo.timeZone ?? publisher.timeZone;
  for (const { key, of } of standard) {
    const value = includedKeys === null || includedKeys.has(key) ? of(context, timeZone) : null;
    if (value !== null) properties.push({ key, value });
  }
  const custom: Property[] = [];
  for (const [name, value] of context.custom) {
    const key = `${customPrefix}${publisher.id} ${name}`;
    if (includedKeys !== null && !includedKeys.has(key)) continue;
    if (!publisher.learningExcludedKeys.has(name)) custom.push({ key, value });
  }
  if (custom.length > 1) custom.sort(byKey);
  for (const property of custom) properties.push(property);
  return properties;
}
