import { expect, test } from 'vitest';
import { campaigns } from '../../src/catalog-admin/resources/campaigns.ts';
import { offers } from '../../src/catalog-admin/resources/offers.ts';
import { readColumns } from '../../src/management/read-columns.ts';
import { fieldsOf } from '../../src/shell/context.ts';

test('parses columns by their schemas, and reads an empty field as null only in nullable columns', () => {
  const submitted = { name: ' Wine ', active: 'on', priority: '3', payout_amount: '1.5', ranking: 'fixed' };
  const names = ['name', 'active', 'is_product', 'priority', 'payout_amount', 'ranking', 'opt_out_days', 'category'];
  expect(readColumns(campaigns, fieldsOf(submitted), names)).toEqual({
    name: 'Wine',
    active: true,
    is_product: false,
    priority: 3,
    payout_amount: 1.5,
    ranking: 'fixed',
    opt_out_days: null,
    category: '',
  });
  const empty = fieldsOf({ language: '', title: '', weight: 'many' });
  expect(readColumns(offers, empty, ['language', 'title', 'weight'])).toEqual({
    language: null,
    title: '',
    weight: 'many',
  });
});

test('parses a form in the same way for display and for submission', () => {
  const fields = fieldsOf({
    on: true,
    off: false,
    days: ['1', '2'],
    limit: 5,
    'caps.0.limit': '1',
    'caps.1.limit': '2',
  });
  expect([fields.checked('on'), fields.checked('off'), fields.checked('absent')]).toEqual([true, false, false]);
  expect([fields.all('days'), fields.number('limit'), fields.rowCount('caps')]).toEqual([['1', '2'], 5, 2]);
});
