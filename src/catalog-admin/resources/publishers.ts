import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Type } from '@sinclair/typebox';
import { ownEventsField } from '../../catalog/event-kinds.ts';
import { isFrameHost, normaliseName } from '../../catalog/names.ts';
import { postbackEvents } from '../../catalog/types.ts';
import {
  checkDecimals,
  checkLanguage,
  checkUrls,
  flag,
  languageTag,
  maxUrlLength,
  nameField,
  text,
  withCanonicalLanguage,
} from '../../management/fields.ts';
import { defaultsOf, orNull, type Resource, stamps, type Values, type View } from '../../management/resource.ts';
import { patternProblem } from '../../management/schema-errors.ts';
import { isOperator, type Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { namesInstead, warnOfZone } from '../../platform/lib/zone-names.ts';
import { isCurrency } from '../../platform/money.ts';
import { problem } from '../../platform/problem.ts';
import { placementName } from './placements.ts';

const currencyProblem = problem('currencyIso');

/** Columns that only operators can change. */
export const operatorSettings: readonly string[] = ['usp_enabled', 'wallet_enabled', 'offerwall_enabled'];

/** Publisher resource. Operators can create and view all publishers; other users can view and edit their own. */
export const publishers: Resource = {
  name: 'publishers',
  noun: 'publisher',
  table: 'publishers',
  key: 'id',
  permission: 'configurations',
  madeByOperators: true,
  input: Type.Object(
    {
      name: nameField(),
      unit_enabled: flag(true, 'Whether the unit shows offers.'),
      offers_per_response: Type.Integer({
        minimum: 1,
        maximum: 10,
        default: 3,
        description: 'Maximum number of offers per response.',
      }),
      delivery_percentage: Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 100,
        description: 'Percentage of users who get offers.',
      }),
      test_mode: flag(false, 'Whether every fetch is a test, as with `dev`.'),
      time_zone: text(64, { default: 'UTC', description: 'IANA time zone, such as Europe/Berlin.' }),
      language: languageTag({
        default: 'en',
        description: 'BCP 47 tag. Used for fetches without a language, and for offers without a language of their own.',
      }),
      currency_name: Type.String({
        minLength: 1,
        maxLength: 50,
        default: 'points',
        description: "Name of the publisher's loyalty currency.",
      }),
      currency_multiplier: Type.Number({
        minimum: 0,
        maximum: 99_999_999,
        default: 1,
        description: 'Units of the loyalty currency per unit of the payout.',
      }),
      reporting_currency: orNull(Type.String({ pattern: '^[A-Z]{3}$', [patternProblem]: currencyProblem }), {
        default: null,
        description:
          "ISO 4217 code. Reports also show totals that are converted to it with the publisher's exchange rates. " +
          '`null` for no conversion.',
      }),
      usp_enabled: flag(false, 'Whether User Selected Perks are enabled. Only operators can set it.'),
      wallet_enabled: flag(false, 'Whether the wallet is enabled. Only operators can set it.'),
      offerwall_enabled: flag(false, 'Only operators can set it.'),
      privacy_url: orNull(
        Type.String({
          maxLength: maxUrlLength,
          pattern: '^https?://\\S+$',
          [patternProblem]: problem('httpsUrl'),
        }),
        { default: null, description: 'URL of the privacy page. `null` for the page that this service provides.' },
      ),
      privacy_text: text(10_000, {
        default: '',
        description: 'Plain text of the privacy page that this service provides. Empty for the default text.',
      }),
      key_max_days: orNull(Type.Integer({ minimum: 1, maximum: 3650 }), {
        default: null,
        description: 'Maximum lifetime of new keys, in days. `null` for no limit.',
      }),
      data_file_user_ids: Type.Union([Type.Literal('hashed'), Type.Literal('plain')], {
        default: 'hashed',
        description:
          'How data files identify users. `hashed`: only by keyed hashes. `plain`: also by the `pub_user_id` of each ' +
          'session. Applies to later exports.',
      }),
      frame_hosts: Type.Array(Type.String({ maxLength: 300 }), {
        maxItems: 50,
        uniqueItems: true,
        default: [],
        description:
          'Origins whose pages may embed the offerwall in a frame, such as https://shop.example or ' +
          'https://*.shop.example. Empty allows all origins, except for signed links.',
      }),
      own_events: ownEventsField("Names of the publisher's own events. Each offer gets a beacon for each of them."),
      default_placement: orNull(placementName(), {
        default: null,
        description: 'Placement for fetches without a placement. If `null`, they are rejected.',
      }),
      approval_required: flag(
        false,
        'Whether material changes need approval. If true, changes by users and keys without the permission ' +
          '`offers/approval` become drafts.',
      ),
      dates_approved: flag(false, 'Whether drafts of advertisers that only change dates are approved automatically.'),
      landing_pages_checked: flag(
        true,
        'Whether landing pages are checked daily. A campaign is paused if its landing page is gone or ' +
          'redirects to another domain. An offer is paused if this happens to its secondary action page.',
      ),
      postback_events: Type.Array(Type.Union(postbackEvents.map((event) => Type.Literal(event))), {
        maxItems: postbackEvents.length,
        uniqueItems: true,
        default: ['click', 'conversion'],
        description:
          'Paid events that are sent to `conversion` webhook endpoints: `click`, `conversion`, `impression`.',
      }),
      learning_excluded_keys: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        maxItems: 100,
        uniqueItems: true,
        default: [],
        description: 'Custom attributes that ranking must not learn from.',
      }),
      allowed_user_agents: Type.Array(Type.String({ minLength: 3, maxLength: 100, pattern: '\\S' }), {
        maxItems: 50,
        uniqueItems: true,
        default: [],
        description:
          'Parts of user agents whose tracking events always count, for apps that are detected as bots. Matching ' +
          'ignores case.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: { sdk_id: Type.String({ description: 'Public ID with 16 hex digits.' }), ...stamps },
  scope: ({ actor }) => (isOperator(actor) ? '$1::integer is not null' : 'id = $1'),
  ownerOf: ({ id }) => id as number,
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz' },
  filters: ['unit_enabled', 'usp_enabled', 'wallet_enabled', 'offerwall_enabled', 'test_mode'],
  searched: ['name', 'sdk_id'],
  check: checkPublisher,
  warn: (view) => warnOfZone('/time_zone', view.time_zone as string),
  prepare: (values) => ({
    ...withCanonicalLanguage(values),
    ...(typeof values.default_placement === 'string' && {
      default_placement: normaliseName(values.default_placement),
    }),
  }),
  initial: () => ({ sdk_id: randomBytes(8).toString('hex') }),
};

function checkPublisher(values: Values, work: Work, current: View | null): ErrorDetail[] {
  requireOperator(values, work, current);
  return [
    // Accept an unchanged time zone even if it is no longer allowed, so that the other fields can still be saved.
    ...(values.time_zone === current?.time_zone ? [] : checkZone(values.time_zone as string)),
    ...checkDecimals(values, 'currency_multiplier', 4),
    ...(values.reporting_currency === null || isCurrency(values.reporting_currency as string)
      ? []
      : [{ path: '/reporting_currency', message: currencyProblem }]),
    ...checkUrls(values, ['privacy_url']),
    ...checkLanguage(values),
    ...(values.frame_hosts as string[]).flatMap((host, index) =>
      isFrameHost(host) ? [] : [{ path: `/frame_hosts/${index}`, message: problem('frameHost') }],
    ),
  ];
}

/**
 * Checks that operator-only settings are changed only by operators.
 * @throws AppError permission_denied
 */
function requireOperator(values: Values, { actor }: Work, current: View | null): void {
  if (isOperator(actor)) return;
  const before = current ?? defaultsOf(publishers);
  const denied = operatorSettings.filter((name) => !isDeepStrictEqual(values[name], before[name]));
  if (denied.length === 0) return;
  const details = denied.map((name) => ({ path: `/${name}`, message: problem('operatorOnly') }));
  throw new AppError('permission_denied', { message: problem('operatorMay'), details });
}

/** Returns the settings, with settings that the caller must not change reset to their defaults. */
export function withoutOperatorSettings(values: Values, { actor }: Work): Values {
  if (isOperator(actor)) return values;
  const defaults = defaultsOf(publishers);
  return { ...values, ...Object.fromEntries(operatorSettings.map((name) => [name, defaults[name]])) };
}

function checkZone(zone: string): ErrorDetail[] {
  const instead = namesInstead(zone);
  if (instead === null) return [];
  return [{ path: '/time_zone', message: problem('timeZone', { names: instead }) }];
}
