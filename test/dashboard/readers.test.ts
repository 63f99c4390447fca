import { executionAsyncId } from 'node:async_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asReader, reader, readerOf } from '../../src/platform/i18n/reader.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

/** Returns whether Node tracks promises. Only then do their continuations have an async ID. */
async function followsPromises(): Promise<boolean> {
  await Promise.resolve();
  return executionAsyncId() !== 0;
}

const signIn = async (language: string): Promise<string> =>
  (await t.app.inject({ url: '/dashboard/sign-in', headers: { 'accept-language': language } })).body;

test('concurrent pages are each in the language of their reader', async () => {
  const languages = Array.from({ length: 20 }, (_, at) => (at % 3 === 0 ? 'en' : 'de'));
  const pages = await Promise.all(languages.map(signIn));
  expect(pages.map((page) => /<html lang="(..)"/.exec(page)?.[1])).toEqual(languages);
});

test('promise tracking in Node is on only while a reader is being served', async () => {
  const before = await followsPromises();
  await signIn('de');
  expect(await followsPromises()).toBe(before);
  const ends: Record<string, () => void> = {};
  const waiting = (language: string): Promise<string> =>
    asReader(readerOf(language), async () => {
      await new Promise<void>((resolve) => (ends[language] = resolve));
      return reader().language;
    });
  const [german, english] = [waiting('de'), waiting('en')];
  ends.en?.();
  expect(await english).toBe('en');
  ends.de?.();
  expect(await german).toBe('de');
  await expect.poll(followsPromises).toBe(before);
  await expect(asReader(readerOf('de'), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await expect.poll(followsPromises).toBe(before);
});
