import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { askPassword } from '../../src/accounts/commands/create-operator.ts';

async function typed(keys: string): Promise<{ answer: string | null | Error; printed: string }> {
  const input = new PassThrough();
  const output = new PassThrough();
  input.end(keys);
  const answer = await askPassword({ input, output }).catch((err: Error) => err);
  return { answer, printed: await text(output.end()) };
}

test('accepts a password that is entered twice, and never displays it', async () => {
  const { answer, printed } = await typed('correct horse\rcorrect horse\r');
  expect(answer).toBe('correct horse');
  expect(printed).toMatch(/Password.*Repeat password/s);
  expect(printed).not.toContain('horse');
});

test('generates a password if the input is empty', async () => {
  expect((await typed('\r')).answer).toBeNull();
});

test.each([
  ['a password mismatch', 'correct horse\rcorrect contributions\r'],
  ['the end of input', 'correct horse'],
  ['Ctrl-C', 'correct\u0003'],
])('%s changes nothing', async (_what, keys) => {
  expect((await typed(keys)).answer).toMatchObject({ message: expect.stringContaining('No changes made.') });
});
