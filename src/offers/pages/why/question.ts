import { countryOf, normaliseName } from '../../../catalog/names.ts';
import type { PublisherContext } from '../../../catalog/pages.ts';
import type { DecisionContext } from '../../../decision/types.ts';
import { canonicalTag } from '../../../platform/lib/language-tags.ts';
import { isUuid7 } from '../../../platform/lib/uuid7.ts';
import { queryText } from '../../../shell/context.ts';

/**
 * Question that the dashboard user entered. Fields left blank are empty strings. A session takes precedence over a
 * user, and a user over a hypothetical visitor.
 */
export type Question = Record<(typeof names)[number], string>;

const names = [
  ...(['offer', 'campaign', 'session', 'user'] as const),
  ...(['placement', 'country', 'region', 'city', 'platform', 'device', 'language', 'custom'] as const),
] as const;

const maxCustomAttributes = 50;
/** Maximum field length, in characters. The same limit applies to fetches. */
const maxLength = 256;
const maxCustomLength = 5000;

export function questionIn(context: PublisherContext): Question {
  const fields = Object.fromEntries(
    names.map((name) => [
      name,
      queryText(context, name)
        .trim()
        .slice(0, name === 'custom' ? maxCustomLength : maxLength),
    ]),
  );
  const [firstPlacement = 'checkout'] = context.publisher.placements.keys();
  return { ...(fields as Question), placement: fields.placement || firstPlacement };
}

/** Returns the session ID in its stored form, or null if the text is not a session ID. */
export const sessionIdIn = ({ session }: Question): string | null =>
  isUuid7(session.toLowerCase()) ? session.toLowerCase() : null;

/** Returns the hypothetical visitor that a question describes. */
export const visitorOf = (question: Question): Omit<DecisionContext, 'nowMs'> => ({
  surface: 'unit',
  placement: normaliseName(question.placement),
  platform: question.platform || null,
  device: question.device || null,
  os: question.platform === 'ios' || question.platform === 'android' ? question.platform : null,
  browser: null,
  language: canonicalTag(question.language),
  geo: {
    country: countryOf(question.country),
    region: question.region.toUpperCase() || null,
    city: question.city || null,
    postalCode: null,
    timeZone: null,
  },
  custom: parseCustom(question.custom),
  audiences: [],
  userKey: null,
  loyalty: 'also',
  onlyWithCreative: false,
  campaignId: null,
  count: null,
  shownElsewhere: null,
  arm: null,
  dev: false,
});

/** Parses `name=value` pairs separated by commas or line breaks. */
const parseCustom = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/\n|,/)
      .map((line) => line.split('='))
      .filter(([name = '']) => name.trim() !== '')
      .slice(0, maxCustomAttributes)
      .map(([name = '', ...rest]) => [name.trim(), rest.join('=').trim()]),
  );
