import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFromSendGrid } from '../../src/messages/feedback/routes.ts';
import { createSnsReader } from '../../src/messages/feedback/sns.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { messageCalls } from './support.ts';

const sendGrid = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const mailgunKey = 'key-of-mailgun-0123456789';
const postmarkPassword = 'password-of-postmark';
const topic = 'arn:aws:sns:eu-west-1:123456789012:bounces';

let t: TestApp;
let calls: ReturnType<typeof messageCalls>;
beforeAll(async () => {
  const sendgrid = sendGrid.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  t = await createTestApp({ config: { mailFeedback: { sendgrid, mailgun: mailgunKey, postmark: postmarkPassword } } });
  calls = messageCalls(t);
});
afterAll(() => t.close());

const post = (provider: string, body: string, headers: Record<string, string>) =>
  t.app.inject({
    method: 'POST',
    url: `/messages/feedback/${provider}`,
    payload: body,
    headers: { 'content-type': 'application/json', ...headers },
  });
const nowS = (): number => Math.floor(Date.now() / 1000);
const signedBySendGrid = (body: string, timestamp = String(nowS())) => ({
  'x-twilio-email-event-webhook-timestamp': timestamp,
  'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(timestamp + body), sendGrid.privateKey).toString(
    'base64',
  ),
});
const reasonOf = async (email: string): Promise<string | null> =>
  (await calls.call('POST', '/suppressions/check', { email })).json().data.reason;

test('suppresses addresses for all publishers after signed SendGrid bounces and complaints', async () => {
  const events = [
    { email: 'hard@example.com', event: 'bounce', type: 'bounce' },
    { email: 'blocked@example.com', event: 'bounce', type: 'blocked' },
    { email: 'angry@example.com', event: 'spamreport' },
    { email: 'fine@example.com', event: 'delivered' },
    null,
  ];
  const body = JSON.stringify(events);
  const headers = (text: string) => signedBySendGrid(text);
  expect((await post('sendgrid', body.replace('hard', 'other'), headers(body))).statusCode).toBe(401);
  expect((await post('sendgrid', body, {})).statusCode).toBe(401);
  expect((await post('sendgrid', body, headers(body))).statusCode).toBe(200);
  const reasons = await Promise.all(
    ['hard', 'blocked', 'angry', 'fine', 'other'].map((mailbox) => reasonOf(`${mailbox}@example.com`)),
  );
  expect(reasons).toEqual(['bounced', null, 'complained', null, null]);
  const lifted = await calls.call('POST', '/suppressions/remove', { email: 'hard@example.com' });
  expect(lifted.json().data).toMatchObject({ suppressed: true, reason: 'bounced' });
  expect((await post('sendgrid', '{', headers('{'))).statusCode).toBe(400);
});

test("accepts the signature of SendGrid's own example", () => {
  const key =
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu' +
    '/1FwCM/QmGUhA==';
  const headers = {
    'x-twilio-email-event-webhook-timestamp': '1588788367',
    'x-twilio-email-event-webhook-signature':
      'MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=',
  };
  const body = Buffer.from('{"category":"example_payload","event":"test_event","message_id":"message_id"}');
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' });
  expect(isFromSendGrid(publicKey, headers, body)).toBe(true);
});

test('authenticates Mailgun by its signature, which is valid for 15 minutes', async () => {
  const bodyOf = (ageS: number, event: object) => {
    const timestamp = String(Math.floor(t.deps.now() / 1000) - ageS);
    const token = 'a'.repeat(50);
    const signature = createHmac('sha256', mailgunKey)
      .update(timestamp + token)
      .digest('hex');
    return JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': event });
  };
  const failed = { event: 'failed', severity: 'permanent', recipient: 'Gone@Example.com' };
  expect((await post('mailgun', bodyOf(3600, failed), {})).statusCode).toBe(401);
  expect((await post('mailgun', '{}', {})).statusCode).toBe(401);
  expect((await post('mailgun', bodyOf(5, { ...failed, severity: 'temporary' }), {})).statusCode).toBe(200);
  expect(await reasonOf('gone@example.com')).toBeNull();
  expect((await post('mailgun', bodyOf(5, failed), {})).statusCode).toBe(200);
  expect(await reasonOf('gone@example.com')).toBe('bounced');
});

test('authenticates Postmark by the password in the webhook URL', async () => {
  const body = JSON.stringify({ RecordType: 'SpamComplaint', Email: 'marked@example.com' });
  const login = (password: string) => ({ authorization: `Basic ${Buffer.from(`pm:${password}`).toString('base64')}` });
  expect((await post('postmark', body, login('wrong'))).statusCode).toBe(401);
  expect((await post('postmark', body, login(postmarkPassword))).statusCode).toBe(200);
  expect(await reasonOf('marked@example.com')).toBe('complained');
});

test('has no route for a provider that is not configured', async () => {
  expect((await post('ses', '{}', {})).statusCode).toBe(404);
});

describe('Amazon SNS messages', () => {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const fetched: string[] = [];
  const read = createSnsReader(topic, async (url) => {
    fetched.push(url);
    return keys.publicKey.export({ type: 'spki', format: 'pem' }) as string;
  });
  const url = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem';
  const signed = (over: Record<string, string>, names: readonly string[]) => {
    const message: Record<string, string> = {
      Message: 'a text',
      MessageId: '1',
      Timestamp: '2026-11-24T00:00:00.000Z',
      TopicArn: topic,
      SigningCertURL: url,
      SignatureVersion: '2',
      ...over,
    };
    const text = names.map((name) => `${name}\n${message[name]}\n`).join('');
    return { ...message, Signature: sign('sha256', Buffer.from(text), keys.privateKey).toString('base64') };
  };
  const notice = ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type'];

  test('are accepted only with a valid signature and from the configured topic', async () => {
    const message = signed({ Type: 'Notification' }, notice);
    expect(await read(message)).toMatchObject({ text: 'a text' });
    expect(await read({ ...message, Message: 'another' })).toBeNull();
    expect(await read(signed({ Type: 'Notification', TopicArn: `${topic}-2` }, notice))).toBeNull();
    expect(fetched).toEqual([url]);
  });

  test.each([
    'https://evil.example/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem',
    'http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem',
    'https://sns.eu-west-1.amazonaws.com@evil.example/SimpleNotificationService-1.pem',
  ])('are rejected without fetching a certificate from %s', async (foreign) => {
    const before = fetched.length;
    expect(await read(signed({ Type: 'Notification', SigningCertURL: foreign }, notice))).toBeNull();
    expect(fetched).toHaveLength(before);
  });

  test('confirm a subscription only at an Amazon URL', async () => {
    const names = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
    const over = (SubscribeURL: string) => ({ Type: 'SubscriptionConfirmation', Token: 'x', SubscribeURL });
    expect(await read(signed(over('https://evil.example/?Action=ConfirmSubscription&Token=x'), names))).toBeNull();
    const subscribe = `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}&Token=x`;
    expect(await read(signed(over(subscribe), names))).toMatchObject({ text: '' });
    expect(fetched.at(-1)).toBe(subscribe);
  });
});
