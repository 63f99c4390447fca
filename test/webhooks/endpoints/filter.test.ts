import { describe, expect, test } from 'vitest';
import { compileFilter, requireUsableFilter } from '../../../src/webhooks/endpoints/filter.ts';

const payload = {
  body: {
    selected: 1,
    pub_user_id: 'user-1',
    campaigns: [
      { campaign_id: 4, is_loyalty: false, tags: ['food'] },
      { campaign_id: 9, is_loyalty: true, tags: [] },
    ],
  },
  payout: '2.50',
  payload: { 'utm.source': 'mail' },
  nothing: null,
};

const lets = (condition: unknown): boolean => compileFilter(JSON.stringify(condition))(payload);

describe('a filter selects events by their payload', () => {
  test.each([
    [{ key: 'body.selected', op: 'equals', value: 1 }, true],
    [{ key: 'body.selected', op: 'equals', value: 0 }, false],
    [{ key: 'payout', op: 'gte', value: 2.5 }, true],
    [{ key: 'body.pub_user_id', op: 'prefix', value: 'user-' }, true],
    [{ key: 'body.pub_user_id', op: 'lt', value: 5 }, false],
    [{ key: 'body.campaigns.campaign_id', op: 'in', value: [9, 10] }, true],
    [{ key: 'body.campaigns.campaign_id', op: 'in', value: [10] }, false],
    [{ key: 'body.campaigns.campaign_id', op: 'not_in', value: [9, 10] }, false],
    [{ key: 'body.campaigns.campaign_id', op: 'not_in', value: [10] }, true],
    [{ key: 'body.campaigns.campaign_id', op: 'not_equals', value: 4 }, false],
    [{ key: 'body.campaigns.is_loyalty', op: 'equals', value: true }, true],
    [{ key: 'body.campaigns.tags', op: 'equals', value: 'food' }, true],
    [{ key: 'payload.utm.source', op: 'equals', value: 'mail' }, true],
    [{ key: 'nothing', op: 'exists' }, false],
    [{ key: 'body', op: 'exists' }, false],
    [{ key: 'body.gone', op: 'not_exists' }, true],
    [{ key: 'body.gone', op: 'not_in', value: [1] }, true],
    [{ key: 'constructor', op: 'exists' }, false],
    [{ all: [{ key: 'payout', op: 'exists' }, { any: [{ key: 'x', op: 'exists' }] }] }, false],
    [
      {
        any: [
          { key: 'x', op: 'exists' },
          { key: 'payout', op: 'exists' },
        ],
      },
      true,
    ],
  ])('%j: %s', (condition, expected) => {
    expect(lets(condition)).toBe(expected);
  });
});

describe('an invalid filter is rejected with an explanation', () => {
  test.each([
    [{ key: 'payout', op: 'like', value: 'x' }, '/filter/op'],
    [{ key: 'payout', op: 'gt', value: 'x' }, '/filter/value'],
    [{ key: 'payout', op: 'gt', value: 1e308 }, '/filter/value'],
    [{ key: 'payout', op: 'in', value: [1, 1e-308] }, '/filter/value'],
    [{ all: [] }, '/filter/all'],
    [{ key: 'payout', op: 'in', value: Array.from({ length: 400 }, () => '12345678') }, '/filter'],
    [[], '/filter'],
  ])('%j', (condition, path) => {
    expect(() => requireUsableFilter(condition)).toThrow(
      expect.objectContaining({
        code: 'invalid_endpoint',
        details: [expect.objectContaining({ path })],
      }),
    );
  });
});
