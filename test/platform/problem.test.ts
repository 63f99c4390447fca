import { expect, test } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import { de } from '../../src/platform/i18n/de.ts';
import { en } from '../../src/platform/i18n/en.ts';
import { inLanguage } from '../../src/platform/i18n/reader.ts';
import { noun, problem, readProblem, storedProblem, wordProblem } from '../../src/platform/problem.ts';

const tooLong = problem('tooLong', { max: 2048, length: 3000 });
const unused = problem('restoreFirst', { problem: problem('notFound', { noun: noun('sequence rule') }) });

test("JSON and text contain a problem in English, whatever the reader's language", () => {
  const english = 'The text can be at most 2,048 characters long, but it has 3,000.';
  inLanguage('de', () => {
    expect(JSON.parse(JSON.stringify({ message: tooLong }))).toEqual({ message: english });
    expect(String(tooLong)).toBe(english);
  });
  expect(new AppError('invalid_request', { message: tooLong }).message).toBe(english);
});

test("a page shows a problem in the reader's language", () => {
  expect(inLanguage('de', () => wordProblem(tooLong))).toBe(
    de.apiTexts.tooLong.replace('{max, number}', '2.048').replace('{length, number}', '3.000'),
  );
  expect(wordProblem(tooLong)).toBe(String(tooLong));
});

test('a problem also translates the problems and nouns among its values', () => {
  expect(String(unused)).toBe('The sequence rule was not found. Restore it first.');
  expect(inLanguage('de', () => wordProblem(unused))).toContain('Reihenfolgeregel');
});

test('forms say "empty" where the API says "null"', () => {
  const nullable = problem('orNull', { problem: problem('isInteger') });
  expect(String(nullable)).toContain('It can also be null');
  expect(wordProblem(nullable)).not.toContain('It can also be null');
});

test('a stored problem is translated when it is read, and text from an earlier release is kept', () => {
  const stored = storedProblem(tooLong);
  expect(inLanguage('de', () => wordProblem(readProblem(stored)))).toContain('2.048');
  expect(inLanguage('de', () => wordProblem(readProblem(storedProblem(unused))))).toContain('Reihenfolgeregel');
  expect(readProblem('no mail server is set')).toBe('no mail server is set');
  expect(readProblem('{"key":"apiTexts.ofAnotherRelease"}')).toBe('apiTexts.ofAnotherRelease');
});

test('a stored problem has at most 500 characters, or else is stored as text', () => {
  const long = problem('verbatim', { text: 'x'.repeat(600) });
  expect(storedProblem(long)).toBe('x'.repeat(600));
});

test('a plain sentence is not accepted as a problem', () => {
  // @ts-expect-error
  expect(new AppError('invalid_request', { message: 'The value is invalid.' }).code).toBe('invalid_request');
  // @ts-expect-error
  expect(problem('The value is invalid.').key).toContain('apiTexts');
});

test('every problem has a German text', () => {
  const same = Object.entries(en.apiTexts).filter(
    ([key, text]) => (de.apiTexts as Record<string, string>)[key] === text,
  );
  expect(same.map(([key]) => key)).toEqual(['verbatim']);
});

test('every problem is a sentence that ends with a punctuation mark', () => {
  const fragments = Object.values(en.apiTexts).filter((text) => !/([.?]|\{\w+\})$/.test(text));
  expect(fragments).toEqual([]);
});
