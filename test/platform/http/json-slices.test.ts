import { expect, test } from 'vitest';
import { readJsonInSlices } from '../../../src/platform/http/json-slices.ts';
import { problem } from '../../../src/platform/problem.ts';

const limits = { rows: 3, rowBytes: () => 20, otherwise: problem('sendSeveralCalls') };
const read = (text: string): Promise<unknown> => readJsonInSlices(Buffer.from(text), limits);

test.each([
  '{}',
  '[]',
  ' { "a" : [ 1 , "x" , { "b" : [ ] } ] , "c" : null } ',
  '{"a":["\\\\","\\"]","{"],"constructor":{"x":1}}',
])('%s is parsed like JSON.parse', async (text) => {
  expect(await read(text)).toEqual(JSON.parse(text));
});

test('a byte order mark before the body is ignored', async () => {
  expect(await read('\uFEFF{"a":1}')).toEqual({ a: 1 });
});

test.each([
  '',
  '{',
  '{"a":1',
  '{"a" 1}',
  '[1,]',
  '{"a":1,"a":2}',
  '{"__proto__":1}',
  '[{"__proto__":1}]',
  '{} {}',
  '"a"',
])('%s is rejected', async (text) => {
  await expect(read(text)).rejects.toMatchObject({ code: 'malformed_json' });
});

test.each([`{"a":"${'x'.repeat(21)}"}`, `["${'x'.repeat(21)}"]`, `[["${'\\"'.repeat(11)}"]]`, '[1,2,3,4]'])(
  '%s exceeds the limits',
  async (text) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'body_too_large' });
  },
);
