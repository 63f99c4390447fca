import { randomBytes } from 'node:crypto';
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
import { orNull, type Resource, stamps } from '../../management/resource.ts';
import { problem } from '../../management/schema-errors.ts';
import { isOperator } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { namesInstead, warnOfZone } from '../../platform/lib/zone-names.ts';
import { isCurrency } from '../../platform/money.ts';
import { placementName } from './placements.ts';

const currencyProblem = 'must be a currency code of ISO 4217, such as EUR';

/** Publishers. Operators create and see all of them; other users see and edit their own. */
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
      unit_enabled: flag(true, 'The whole unit on or off.'),
      offers_per_response: Type.Integer({ minimum: 1, maximum: 10, default: 3, description: 'Number of offers.' }),
      delivery_percentage: Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 100,
        description: 'Of users, how many get offers.',
      }),
      test_mode: flag(false, 'Every answer is a test answer, as with `dev`.'),
      time_zone: text(64, { default: 'UTC', description: 'IANA zone, such as Europe/Berlin.' }),
      language: languageTag({
        default: 'en',
        description: 'BCP 47 tag: of fetches that name no language, and of offers that do not say theirs.',
      }),
      currency_name: Type.String({
        minLength: 1,
        maxLength: 50,
        default: 'points',
        description: "Of the publisher's loyalty currency.",
      }),
      currency_multiplier: Type.Number({
        minimum: 0,
        maximum: 99_999_999,
        default: 1,
        description: 'Units of it for one of payout.',
      }),
      reporting_currency: orNull(Type.String({ pattern: '^[A-Z]{3}$', [problem]: currencyProblem }), {
        default: null,
        description: 'ISO 4217 code: reports then also have totals converted by its exchange rates. null: none.',
      }),
      usp_enabled: flag(false, 'User Selected Perks; set by operators.'),
      wallet_enabled: flag(false, 'Set by operators.'),
      offerwall_enabled: flag(false, 'Set by operators.'),
      privacy_url: orNull(
        Type.String({
          maxLength: maxUrlLength,
          pattern: '^https?://\\S+$',
          [problem]: 'must be a URL that begins with https://',
        }),
        { default: null, description: 'null: the page of this service.' },
      ),
      privacy_text: text(10_000, {
        default: '',
        description: 'Plain text for the privacy page of this service; empty: its own text.',
      }),
      key_max_days: orNull(Type.Integer({ minimum: 1, maximum: 3650 }), {
        default: null,
        description: 'Every new key must end within so many days; null: keys may live for ever.',
      }),
      frame_hosts: Type.Array(Type.String({ maxLength: 300 }), {
        maxItems: 50,
        uniqueItems: true,
        default: [],
        description:
          'Whose pages alone may show the offerwall in a frame: https://shop.example or https://*.shop.example. ' +
          'Empty: any page, but for signed links.',
      }),
      own_events: ownEventsField('Names of events of your own: each offer has a beacon for each of them.'),
      default_placement: orNull(placementName(), {
        default: null,
        description: 'Placement of fetches that name none; null: they are refused.',
      }),
      approval_required: flag(
        false,
        'Material changes by who lacks the permission `offers/approval` are drafts until they are approved.',
      ),
      dates_approved: flag(false, 'Drafts of advertisers that change only dates are approved by themselves.'),
      landing_pages_checked: flag(
        true,
        'Landing pages of its campaigns are looked at daily; a campaign whose page is gone, or leads to another ' +
          'domain than before, is paused. So are pages of secondary actions, and their offers.',
      ),
      postback_events: Type.Array(Type.Union(postbackEvents.map((event) => Type.Literal(event))), {
        maxItems: postbackEvents.length,
        uniqueItems: true,
        default: ['click', 'conversion'],
        description:
          'Paid events that are posted back to endpoints of the event `conversion`: `click`, `conversion`, ' +
          '`impression`.',
      }),
      learning_excluded_keys: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        maxItems: 100,
        uniqueItems: true,
        default: [],
        description: 'Custom attributes that ranking does not learn from.',
      }),
      allowed_user_agents: Type.Array(Type.String({ minLength: 3, maxLength: 100, pattern: '\\S' }), {
        maxItems: 50,
        uniqueItems: true,
        default: [],
        description:
          'Parts of user agents, in any case, whose tracking events always count: for apps mistaken for robots.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: { sdk_id: Type.String({ description: '16 hex digits; public.' }), ...stamps },
  scope: ({ actor }) => (isOperator(actor) ? '$1::integer is not null' : 'id = $1'),
  ownerOf: ({ id }) => id as number,
  operatorOnly: ['usp_enabled', 'wallet_enabled', 'offerwall_enabled'],
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz' },
  filters: ['unit_enabled', 'usp_enabled', 'wallet_enabled', 'offerwall_enabled', 'test_mode'],
  searched: ['name', 'sdk_id'],
  check: (values, _work, current) => [
    // A time zone of an earlier release may stay, so that other fields can be saved.
    ...(values.time_zone === current?.time_zone ? [] : checkZone(values.time_zone as string)),
    ...checkDecimals(values, 'currency_multiplier', 4),
    ...(values.reporting_currency === null || isCurrency(values.reporting_currency as string)
      ? []
      : [{ path: '/reporting_currency', message: currencyProblem }]),
    ...checkUrls(values, ['privacy_url']),
    ...checkLanguage(values),
    ...(values.frame_hosts as string[]).flatMap((host, index) =>
      isFrameHost(host)
        ? []
        : [{ path: `/frame_hosts/${index}`, message: 'must look like https://shop.example or https://*.shop.example' }],
    ),
  ],
  warn: (view) => warnOfZone('/time_zone', view.time_zone as string),
  prepare: (values) => ({
    ...withCanonicalLanguage(values),
    ...(typeof values.default_placement === 'string' && {
      default_placement: normaliseName(values.default_placement),
    }),
  }),
  initial: () => ({ sdk_id: randomBytes(8).toString('hex') }),
};

function checkZone(zone: string): ErrorDetail[] {
  const instead = namesInstead(zone);
  if (instead === null) return [];
  return [{ path: '/time_zone', message: `is not a time zone (IANA name, such as ${instead})` }];
}
