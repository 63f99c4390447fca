import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { setLanguage } from '../../src/accounts/users.ts';
import { cookieFrom, errorsIn, signInAs, type TestUser } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
let me: TestUser;
const path = () => `/dashboard/p/${t.publisher.id}/experiments`;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await signInAs(t, 'admin');
  await api.manage('POST', '', { key: 'n', name: 'N', holdout: 0.1 });
});
afterEach(() => api.end());

const validFields = {
  name: 'N',
  control: '50',
  'arm1.key': 'b',
  'arm1.share': '50',
  holdout: '',
  smallest_lift: '5',
};

/** Returns the field errors of the form. */
async function refused(fields: Record<string, string>, language: 'en' | 'de' = 'en'): Promise<string[]> {
  await setLanguage(t.pool, me.userId, language);
  const answer = await me.post(`${path()}/n`, { ...validFields, ...fields });
  expect(answer.statusCode).toBe(422);
  return errorsIn(answer.body);
}

test.each(['control', 'holdout', 'arm1.share'])(
  'the error for an invalid %s is in percent, like the entered value',
  async (name) => {
    for (const typed of ['101', '-1', 'half']) {
      expect(await refused({ [name]: typed })).toEqual(['The value must be a number from 0 to 100.']);
      expect(await refused({ [name]: typed }, 'de')).toEqual(['Der Wert muss eine Zahl von 0 bis 100 sein.']);
    }
  },
);

test('errors in the detectable difference and the ramp steps are in percent', async () => {
  expect(await refused({ smallest_lift: '' })).toEqual(['The value must be a number from 0.1 to 1,000.']);
  expect(await refused({ smallest_lift: '1001' }, 'de')).toEqual(['Der Wert muss eine Zahl von 0,1 bis 1.000 sein.']);
  expect(await refused({ ramp: '0 10\n24 200' })).toEqual(['Line 2: The value must be a number from 0 to 100.']);
  expect(await refused({ ramp: '9999 50' })).toEqual(['Line 1: The value must be 8,760 or less.']);
});

test('the error for shares above 100% states their total as a percentage', async () => {
  const message = 'The shares and the hold-out add up to 120.5%. The maximum is 100%.';
  expect(await refused({ holdout: '20.5' })).toEqual([message]);
  const german = 'Die Anteile und die Hold-out-Gruppe ergeben zusammen 120,5 %. Erlaubt sind höchstens 100 %.';
  expect(await refused({ holdout: '20.5' }, 'de')).toEqual([german]);
});

test('errors mention that a field can be empty, or that settings must be a JSON object', async () => {
  expect(await refused({ layer: 'a b' })).toEqual([
    'The name must consist of 1 to 64 characters (A–Z a–z 0–9 _ . -). You can also leave this field empty.',
  ]);
  expect(await refused({ 'arm1.texts': 'delay 5' })).toEqual(['The value must be a JSON object.']);
});

test('the error of a rejected start contains no API paths', async () => {
  const arms = [{ key: 'b', share: 0.5, changes: { floor: 1 } }];
  for (const key of ['one', 'two']) expect((await api.manage('POST', '', { key, arms })).status).toBe(201);
  expect((await me.post(`${path()}/one/start`)).statusCode).toBe(303);
  const answer = await me.post(`${path()}/two/start`);
  const cookie = `${me.cookie}; ${cookieFrom(answer, 'perkwire_flash')}`;
  const { body } = await me.get(`${path()}/two`, { cookie });
  expect(body).toContain('Variants: The experiment one also changes floor.');
});
