import { expect, test } from 'vitest';
import { order } from './modules.ts';
import { readText } from './source.ts';

const text = readText('docs/architecture.md');

test('the layers list every module in dependency order', () => {
  const [, layers = ''] = text.split('| Layer | Modules |');
  const names = [...(layers.split('\n\n')[0] ?? '').matchAll(/`([\w-]+)`/g)].map(([, name]) => name);
  expect(names).toEqual(order.filter((name) => name !== 'root'));
});

test('the architecture document has at most 150 lines and 1700 words', () => {
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(1700);
});
