import type { Offer } from '../../catalog/types.ts';
import type { Property } from '../properties.ts';
import type { Table } from './table.ts';

/**
 * Effects of request properties on an offer's rate, as a log-linear regression. The effect of a property, such as
 * `device=mobile`, is its weight minus the average of the offer's weights for that key over the offer's traffic. The
 * effects therefore exclude the base rate: a property that all of an offer's users share has no effect. Weights have
 * independent normal distributions. The table contains their means, and the expected successes of their trials.
 */
export type Effects = {
  weights: Table;
  /**
   * Prior variance of the weights in each group, estimated from these weights. 0 marks a closed group, which is
   * excluded from learning.
   */
  priors: Map<string, number>;
};

/** Weight that applies to a request, the average to compare it with, and its prior variance. */
export type Term = { weight: number; average: number; prior: number };

type Level = { name: string; part: (offer: Offer) => string; entity: (offer: Offer) => number };

/** Levels of effects: shared by all offers of a category, or specific to one offer. */
export const effectLevels: readonly Level[] = [
  { name: 'category', part: ({ campaign }) => campaign.category, entity: () => 0 },
  { name: 'offer', part: () => '', entity: ({ id }) => id },
];

/** Returns the name of the group with the weights that a level has for a property key. */
export const groupOf = (level: string, key: string): string => `${level} ${key}`;
export const keyOf = (group: string): string => group.slice(group.indexOf(' ') + 1);

/**
 * Returns the prefix of a feature name. Its parts may contain any characters, so each part is preceded by its length.
 */
const familyName = (level: string, part: string, key: string): string =>
  `${level} ${part.length} ${part} ${key.length} ${key}`;
export const averageName = (level: string, part: string, key: string): string =>
  `average ${familyName(level, part, key)}`;
export const weightName = (level: string, part: string, { key, value }: Property): string =>
  `${familyName(level, part, key)} ${value}`;

/** Parses the feature name of a weight. Returns null if the name is that of an average. */
export function readWeightName(name: string): { level: string; key: string; value: string; average: string } | null {
  const level = name.slice(0, name.indexOf(' '));
  if (level === 'average') return null;
  const partEnd = endOfText(name, level.length + 1);
  const keyEnd = endOfText(name, partEnd + 1);
  const keyStart = name.indexOf(' ', partEnd + 1) + 1;
  return {
    level,
    key: name.slice(keyStart, keyEnd),
    value: name.slice(keyEnd + 1),
    average: `average ${name.slice(0, keyEnd)}`,
  };
}

/** Returns the end index of a string that is preceded by its length. */
function endOfText(name: string, from: number): number {
  const start = name.indexOf(' ', from) + 1;
  return start + Number(name.slice(from, start - 1));
}

/**
 * Maximum combined effect of all properties on a rate in either direction, as a natural logarithm. It corresponds to a
 * factor of about 150.
 */
const maxEffect = 5;

export const bounded = (effect: number): number => Math.min(maxEffect, Math.max(-maxEffect, effect));

/** Maximum number of expected successes that count towards the certainty of a weight, in models of earlier releases. */
const remembered = 300;

/**
 * Returns the mean and variance of a term's effect, and its input: the share of the offer's traffic with other values.
 */
export function effectOf({ first, second }: Table, { weight, average, prior }: Term) {
  const all = second[average] as number;
  const own = second[weight] as number;
  const input = all === 0 ? 1 : 1 - own / all;
  const variance = 1 / (1 / prior + input * input * Math.min(remembered, own));
  return { mean: (first[weight] as number) - (first[average] as number), variance, input };
}
