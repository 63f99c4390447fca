import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../src/catalog/conditions.ts';
import { type CampaignRules, checkRules } from '../../../src/catalog/rules.ts';
import { readRules, ruleErrors, rulesToForm } from '../../../src/catalog-admin/pages/campaigns/rules-form.ts';
import { type FormValue, type FormValues, fieldsOf, submittedValues } from '../../../src/shell/context.ts';
import { withRowChange } from '../../../src/shell/row-list.ts';

const zone = 'Europe/Berlin';

/** Returns form values as a browser submits them, without unchecked boxes. */
function submit(values: FormValues): FormValues {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const item of value) params.append(name, item);
    else if (value === true) params.append(name, 'on');
    else if (value !== false && value !== null && value !== undefined) params.append(name, String(value));
  }
  return submittedValues(params);
}

const save = (values: Record<string, FormValue>) => readRules(fieldsOf(submit(values)), zone);

const window = (days: number[], from: string, to: string) => ({ days, from, to });
const cart: Condition = { key: 'cart', op: 'gte', value: 50 };
const plan: Condition = { key: 'plan', op: 'in', value: ['gold, shiny', 'plus', 7] };
const fresh: Condition = { key: 'new', op: 'equals', value: true };

/** Rules with every field that the API accepts, in unusual notations. */
const stored: CampaignRules[] = [
  {},
  { targeting: {} },
  ...(
    ['countries', 'regions', 'cities', 'postal_codes', 'placements', 'platforms', 'os', 'browsers', 'devices'] as const
  ).map(
    (key): CampaignRules => ({
      targeting: {
        [key]:
          key === 'countries'
            ? { include: ['us', 'DE'], exclude: ['fr'] }
            : key === 'regions'
              ? { include: ['us-CA'], exclude: ['de-by'] }
              : key === 'postal_codes'
                ? { include: ['10*', 'SW1A1AA'] }
                : { include: ['Washington, D.C.', 'say "hi"'], exclude: ['x'] },
      },
    }),
  ),
  {
    schedule: {
      start_at: '2026-11-27T00:00:30+05:30',
      end_at: '2026-12-27T00:00:00Z',
      time_zone: 'asia/kathmandu',
      hours: [window([5, 1], '09:00', '12:00'), window([1], '12:00', '24:00'), window([2, 3], '09:30', '17:15')],
    },
  },
  { conditions: cart },
  { conditions: { all: [cart, plan, fresh, { key: 'x', op: 'not_exists' }] } },
  { conditions: { any: [cart, { all: [plan, fresh] }] } },
  { conditions: { all: [cart, { any: [plan, fresh] }] } },
  { conditions: { any: [{ all: [cart, { any: [plan, fresh] }] }, fresh] } },
  { conditions: { all: [{ all: [cart] }] } },
  {
    frequency_caps: [
      { scope: 'offer', event: 'impression', limit: 3, window_minutes: 1440 },
      { scope: 'campaign', event: 'click', limit: 1, window_minutes: null },
      { scope: 'advertiser', event: 'conversion', limit: 9, window_minutes: 91 },
    ],
    total_caps: [
      { metric: 'budget', per: 'day', limit: 0.1 },
      { metric: 'clicks', per: 'lifetime', limit: 1e9 },
      { metric: 'budget', per: 'hour', limit: 1e-7 },
    ],
  },
  { frequency_caps: [], total_caps: [], pacing: 'asap', without_identity: 'serve', force_priority: false },
  { pacing: 'front_loaded', without_identity: 'withhold', force_priority: true, exclusion_groups: ['drinks', 'a, b'] },
];

describe('campaign rules in the form', () => {
  test.each(stored.map((rules) => [JSON.stringify(rules), rules] as const))(
    'are saved as the API stored them, even when other fields are edited: %s',
    (_text, rules) => {
      expect(checkRules(rules)).toEqual([]);
      expect(save(rulesToForm(rules, zone))).toEqual(rules);
      // A change to another field loses nothing.
      const edited = save({ ...rulesToForm(rules, zone), 'rules.exclusion_groups': 'edited' });
      expect(edited).toEqual({ ...rules, exclusion_groups: ['edited'] });
    },
  );

  test('match the fields for a day-part, two caps, a condition and an exclusion', () => {
    const rules = save({
      'rules.targeting.countries.exclude': 'FR',
      'rules.schedule.grid': ['1-9', '1-10', '2-9', '2-10', '7-23'],
      'rules.frequency_caps.0.limit': '3',
      'rules.frequency_caps.0.event': 'impression',
      'rules.frequency_caps.0.window_minutes': '2',
      'rules.frequency_caps.0.window_unit': 'day',
      'rules.frequency_caps.0.scope': 'campaign',
      'rules.total_caps.0.limit': '500',
      'rules.total_caps.0.metric': 'budget',
      'rules.total_caps.0.per': 'day',
      'rules.conditions.groups.0.rows.0.key': 'cart',
      'rules.conditions.groups.0.rows.0.op': 'gte',
      'rules.conditions.groups.0.rows.0.value': '50',
    });
    expect(rules).toEqual({
      targeting: { countries: { exclude: ['FR'] } },
      schedule: { hours: [window([1, 2], '09:00', '11:00'), window([7], '23:00', '24:00')] },
      frequency_caps: [{ scope: 'campaign', event: 'impression', limit: 3, window_minutes: 2880 }],
      total_caps: [{ metric: 'budget', per: 'day', limit: 500 }],
      conditions: cart,
    });
    expect(checkRules(rules)).toEqual([]);
  });

  test('keep the types of other conditions when one is edited', () => {
    const values = rulesToForm({ conditions: { all: [plan, fresh] } }, zone);
    expect(save({ ...values, 'rules.conditions.groups.0.rows.1.key': 'newer' })).toEqual({
      conditions: { all: [plan, { key: 'newer', op: 'equals', value: 'true' }] },
    });
  });

  test.each(['', '[]', '{', '{"conditions":5}', '{"conditions":{"all":5}}', '{"schedule":{"hours":[{"days":"x"}]}}'])(
    'are still read if the hidden rules were changed to %j',
    (text) => {
      expect(save({ _stored: text, 'rules.pacing': 'even' })).toMatchObject({ pacing: 'even' });
    },
  );

  test('leave a limit that no field can show for validation to reject', () => {
    const rules = { frequency_caps: [{ scope: 'campaign', limit: { toString: 1 } }] };
    expect(checkRules(save({ _stored: JSON.stringify(rules) }))).not.toEqual([]);
  });

  test('show errors at the fields that contain the invalid values', () => {
    const form = {
      ...rulesToForm({}, zone),
      'rules.schedule.exact.0.from': '9',
      'rules.schedule.exact.0.to': '10:00',
      'rules.schedule.exact.0.days': ['1'],
      'rules.conditions.match': 'any',
      'rules.conditions.groups.0.rows.0.key': 'a',
      'rules.conditions.groups.0.rows.0.op': 'exists',
      'rules.conditions.groups.1.rows.0.key': 'b',
      'rules.conditions.groups.1.rows.0.op': 'exists',
      'rules.conditions.groups.1.rows.1.key': 'c',
      'rules.conditions.groups.1.rows.1.op': 'lt',
      'rules.conditions.groups.1.rows.1.value': 'much',
      'rules.frequency_caps.0.limit': '',
    };
    const details = checkRules(save(form)).map(({ path, message }) => ({
      path: `/rules${path}`,
      message: String(message),
    }));
    expect(ruleErrors(details, fieldsOf(submit(form))).map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        '/rules/schedule/exact/0/from',
        '/rules/conditions/groups/1/rows/1/value',
        '/rules/frequency_caps/0/limit',
      ]),
    );
  });
});

test('a row is added or removed without losing entered values', () => {
  const typed = { name: 'A', 'caps.0.limit': '1', 'caps.1.limit': '2', 'caps.2.limit': '3' };
  const after = (button: string) => withRowChange(submit({ ...typed, _rows: button }));
  expect(after('add caps.3.limit')).toMatchObject({ ...typed, 'caps.3.limit': '' });
  const { _focus, _rows, ...removed } = after('remove caps.1');
  expect(removed).toEqual({ name: 'A', 'caps.0.limit': '1', 'caps.1.limit': '3' });
  expect(submit({ ...typed, days: ['1', '2'] })).toEqual({ ...typed, days: ['1', '2'] });
});
