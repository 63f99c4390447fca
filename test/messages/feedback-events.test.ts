import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readMailgun, readPostmark, readSendGrid, readSes } from '../../src/messages/feedback/reports.ts';
import { createSnsReader } from '../../src/messages/feedback/sns.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { addPublisher } from '../perks/wallet/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { messageCalls } from './support.ts';

const email = 'reader@shop.example';
const changesOf = (reports: readonly { change: string }[]): string[] => reports.map(({ change }) => change);

describe('SendGrid events', () => {
  test.each([
    ['bounce', { type: 'bounce', status: '5.1.1', reason: '550 5.1.1 User unknown' }, ['bounced']],
    [
      'bounce',
      { type: 'bounce', reason: '500 unknown recipient', bounce_classification: 'Invalid Address' },
      ['bounced'],
    ],
    ['bounce', { type: 'bounce', reason: '552 5.2.2 mailbox full' }, []],
    ['bounce', { type: 'bounce', reason: '550 5.7.1 relaying denied', bounce_classification: 'Reputation' }, []],
    ['bounce', { type: 'blocked', reason: '550 5.1.1 User unknown' }, []],
    ['bounce', { type: 'expired', reason: 'unable to get mx info' }, []],
    ['dropped', { reason: 'Bounced Address' }, ['bounced']],
    ['dropped', { reason: 'Unsubscribed Address' }, ['unsubscribed']],
    ['dropped', { reason: 'Spam Reporting Address' }, ['complained']],
    ['dropped', { reason: 'Invalid SMTPAPI header' }, []],
    ['dropped', { reason: 'Recipient List over Package Quota' }, []],
    ['dropped', { reason: 'constructor' }, []],
    ['dropped', {}, []],
    ['deferred', { response: '450 4.2.2 full' }, []],
    ['spamreport', {}, ['complained']],
    ['unsubscribe', {}, ['unsubscribed']],
    ['group_unsubscribe', { asm_group_id: 10 }, ['unsubscribed']],
    ['group_resubscribe', { asm_group_id: 10 }, ['resubscribed']],
    ['delivered', {}, []],
    ['constructor', {}, []],
  ])('%s %j means %j', (event, fields, changes) => {
    expect(changesOf(readSendGrid([{ email, event, ...fields }]))).toEqual(changes);
  });
});

describe('Mailgun events', () => {
  const gone = { code: 550, message: '5.1.1 The email account that you tried to reach does not exist' };
  test.each([
    ['failed', { severity: 'permanent', reason: 'bounce', 'delivery-status': gone }, ['bounced']],
    ['failed', { severity: 'permanent', reason: 'generic', 'delivery-status': gone }, ['bounced']],
    [
      'failed',
      { severity: 'permanent', reason: 'bounce', 'delivery-status': { code: 552, message: '5.2.2 full' } },
      [],
    ],
    [
      'failed',
      { severity: 'permanent', reason: 'bounce', 'delivery-status': { code: 550, message: '5.7.1 blocked' } },
      [],
    ],
    ['failed', { severity: 'permanent', reason: 'espblock', 'delivery-status': gone }, []],
    ['failed', { severity: 'permanent', reason: 'old', 'delivery-status': { code: 602, message: 'Too old' } }, []],
    ['failed', { severity: 'permanent', reason: 'suppress-bounce', 'delivery-status': { code: 605 } }, ['bounced']],
    [
      'failed',
      { severity: 'permanent', reason: 'suppress-complaint', 'delivery-status': { code: 607 } },
      ['complained'],
    ],
    [
      'failed',
      { severity: 'permanent', reason: 'suppress-unsubscribe', 'delivery-status': { code: 606 } },
      ['unsubscribed'],
    ],
    ['failed', { severity: 'permanent', reason: 'constructor' }, ['bounced']],
    ['failed', { severity: 'temporary', reason: 'generic', 'delivery-status': gone }, []],
    ['complained', {}, ['complained']],
    ['unsubscribed', { severity: 'permanent' }, ['unsubscribed']],
    ['rejected', { reject: { reason: 'Sandbox' } }, []],
  ])('%s %j means %j', (event, fields, changes) => {
    expect(changesOf(readMailgun({ 'event-data': { event, recipient: email, ...fields } }))).toEqual(changes);
  });
});

describe('Postmark events', () => {
  test.each([
    [{ RecordType: 'Bounce', Type: 'HardBounce', Details: 'smtp;550 5.1.1 User unknown' }, ['bounced']],
    [{ RecordType: 'Bounce', Type: 'HardBounce', Details: 'smtp;550 mailbox unavailable' }, ['bounced']],
    [{ RecordType: 'Bounce', Type: 'HardBounce', Details: 'smtp;550 5.7.1 Client host blocked using RBL' }, []],
    [{ RecordType: 'Bounce', Type: 'BadEmailAddress' }, ['bounced']],
    [{ RecordType: 'Bounce', Type: 'SpamComplaint' }, ['complained']],
    [{ RecordType: 'Bounce', Type: 'Unsubscribe' }, ['unsubscribed']],
    [{ RecordType: 'Bounce', Type: 'Subscribe' }, ['resubscribed']],
    [{ RecordType: 'Bounce', Type: 'ManuallyDeactivated' }, ['added']],
    ...[
      'Transient',
      'SoftBounce',
      'SpamNotification',
      'Blocked',
      'DMARCPolicy',
      'VirusNotification',
      'DnsError',
      'constructor',
    ].map((Type): [object, string[]] => [{ RecordType: 'Bounce', Type }, []]),
    [{ RecordType: 'SpamComplaint' }, ['complained']],
    [{ RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'HardBounce' }, ['bounced']],
    [{ RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'SpamComplaint' }, ['complained']],
    [
      {
        RecordType: 'SubscriptionChange',
        SuppressSending: true,
        SuppressionReason: 'ManualSuppression',
        Origin: 'Recipient',
      },
      ['unsubscribed'],
    ],
    [
      { RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'constructor', Origin: 'Customer' },
      ['added'],
    ],
    [{ RecordType: 'SubscriptionChange', SuppressSending: false, SuppressionReason: null }, ['reactivated']],
    [{ RecordType: 'SubscriptionChange' }, []],
    [{ RecordType: 'Delivery' }, []],
  ] as [object, string[]][])('%j means %j', (event, changes) => {
    expect(changesOf(readPostmark({ Email: email, Recipient: email, ...event }))).toEqual(changes);
  });
});

describe('SES notifications', () => {
  const bounce = (over: object, recipient: object = {}) => ({
    notificationType: 'Bounce',
    bounce: { bounceType: 'Permanent', bouncedRecipients: [{ emailAddress: email, ...recipient }], ...over },
  });
  const complaint = (complaintFeedbackType: unknown) => ({
    eventType: 'Complaint',
    complaint: { complainedRecipients: [{ emailAddress: email }], complaintFeedbackType },
  });
  const subscription = (newTopicPreferences: object) => ({
    eventType: 'Subscription',
    mail: { destination: [email] },
    subscription: { contactList: 'Perks', source: 'UnsubscribeHeader', newTopicPreferences },
  });
  test.each([
    [
      bounce({ bounceSubType: 'General' }, { status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 user unknown' }),
      ['bounced'],
    ],
    [bounce({ bounceSubType: 'General' }), ['bounced']],
    [bounce({ bounceSubType: 'General' }, { status: '5.7.1', diagnosticCode: 'smtp; 550 5.7.1 blocked' }), []],
    [bounce({ bounceSubType: 'NoEmail' }, { diagnosticCode: 'smtp; 550 mailbox unavailable' }), ['bounced']],
    [bounce({ bounceSubType: 'Suppressed' }, { diagnosticCode: 'Amazon SES has suppressed sending' }), ['bounced']],
    [bounce({ bounceSubType: 'OnAccountSuppressionList' }, { status: '5.1.1' }), ['bounced']],
    [bounce({ bounceSubType: 'UnsubscribedRecipient' }), ['unsubscribed']],
    [bounce({ bounceType: 'Transient', bounceSubType: 'MailboxFull' }, { status: '5.1.1' }), []],
    [bounce({ bounceType: 'Undetermined' }), []],
    [complaint('abuse'), ['complained']],
    [complaint('fraud'), ['complained']],
    [complaint(undefined), ['complained']],
    [complaint(null), ['complained']],
    [complaint('not-spam'), []],
    [complaint('auth-failure'), []],
    [complaint('virus'), []],
    [subscription({ unsubscribeAll: true }), ['unsubscribed']],
    [
      subscription({
        unsubscribeAll: false,
        topicSubscriptionStatus: [{ topicName: 'a', subscriptionStatus: 'OptOut' }],
      }),
      ['unsubscribed'],
    ],
    [
      subscription({
        unsubscribeAll: false,
        topicSubscriptionStatus: [{ topicName: 'a', subscriptionStatus: 'OptIn' }],
      }),
      ['resubscribed'],
    ],
    ...['Delivery', 'Send', 'Reject', 'Open', 'Click', 'DeliveryDelay', 'Rendering Failure', 'constructor'].map(
      (eventType): [object, string[]] => [{ eventType, mail: { destination: [email] } }, []],
    ),
  ] as [object, string[]][])('%j means %j', (message, changes) => {
    expect(changesOf(readSes(message))).toEqual(changes);
  });
});

const mailgunKey = 'key-of-mailgun-0123456789';
const postmarkPassword = 'password-of-postmark';
const sendGrid = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const topic = 'arn:aws:sns:eu-west-1:123456789012:bounces';

let t: TestApp;
let calls: ReturnType<typeof messageCalls>;
beforeAll(async () => {
  const sendgrid = sendGrid.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const mailFeedback = { sendgrid, mailgun: mailgunKey, postmark: postmarkPassword, ses: topic };
  t = await createTestApp({ config: { mailFeedback } });
  calls = messageCalls(t);
  await calls.settings({ enabled: true });
});
afterAll(() => t.close());

const post = (provider: string, payload: string | Buffer, headers: Record<string, string> = {}) =>
  t.app.inject({
    method: 'POST',
    url: `/messages/feedback/${provider}`,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  });
const login = { authorization: `Basic ${Buffer.from(`pm:${postmarkPassword}`).toString('base64')}` };
const toPostmark = (event: object) => post('postmark', JSON.stringify(event), login);
const toSendGrid = (events: unknown, ageS = 0) => {
  const body = JSON.stringify(events);
  const timestamp = String(Math.floor(Date.now() / 1000) - ageS);
  const signature = sign('sha256', Buffer.from(timestamp + body), sendGrid.privateKey).toString('base64');
  return post('sendgrid', body, {
    'x-twilio-email-event-webhook-timestamp': timestamp,
    'x-twilio-email-event-webhook-signature': signature,
  });
};
const stateOf = async (address: string, key?: string) =>
  (await calls.call('POST', '/suppressions/check', { email: address }, key)).json().data;

test('counts suppressions by reason, including bounces and complaints', async () => {
  const before = (await calls.call('GET', '/suppressions')).json().data;
  const events = [
    { email: 'count-1@example.com', event: 'bounce', type: 'bounce' },
    { email: 'count-2@example.com', event: 'bounce', type: 'bounce' },
    { email: 'count-3@example.com', event: 'spamreport' },
    { email: 'count-4@example.com', event: 'unsubscribe' },
  ];
  expect((await toSendGrid(events)).statusCode).toBe(200);
  await calls.call('POST', '/suppressions', { emails: ['count-5@example.com'] });
  const after = (await calls.call('GET', '/suppressions')).json().data;
  const grown = Object.fromEntries(
    Object.entries(after).map(([reason, count]) => [reason, (count as number) - before[reason]]),
  );
  expect(grown).toEqual({ bounced: 2, complained: 1, unsubscribed: 1, added: 1 });
});

test("applies a provider's unsubscribe event to the publisher of the message, who can undo it", async () => {
  const other = await addPublisher(t);
  await t.pool.query('insert into perk_message_settings (publisher_id, enabled) values ($1, true)', [
    other.publisher.id,
  ]);
  const id = newUuid7(Date.now());
  await t.pool.query(
    `insert into perk_messages (id, publisher_id, session_id, user_key, address_key, created_at, state)
    values ($1, $2, $1, $1, $1, now(), 'sent')`,
    [id, t.publisher.id],
  );
  const address = 'leaver@example.com';
  await toSendGrid([{ email: address, event: 'group_unsubscribe', 'smtp-id': `<${id}@perks.test>` }]);
  expect(await stateOf(address)).toMatchObject({ suppressed: true, reason: 'unsubscribed' });
  expect(await stateOf(address, other.publisher.key)).toMatchObject({ suppressed: false });
  expect((await calls.call('POST', '/suppressions/remove', { email: address })).json().data.suppressed).toBe(false);
  // A message that is no longer known may have come from any publisher that sends messages.
  await toSendGrid([{ email: address, event: 'unsubscribe' }]);
  for (const key of [undefined, other.publisher.key])
    expect(await stateOf(address, key)).toMatchObject({ reason: 'unsubscribed' });
  await calls.call('POST', '/suppressions/remove', { email: address });
  expect(await stateOf(address)).toMatchObject({ suppressed: false });
  expect(await stateOf(address, other.publisher.key)).toMatchObject({ suppressed: true });
});

test('lifts provider unsubscribes on a resubscribe event, but not suppressions added in Perkwire', async () => {
  const [there, here] = ['there@example.com', 'here@example.com'];
  await toSendGrid([{ email: there, event: 'unsubscribe' }]);
  expect(await stateOf(there)).toMatchObject({ reason: 'unsubscribed' });
  await toSendGrid([{ email: there, event: 'group_resubscribe' }]);
  expect(await stateOf(there)).toMatchObject({ suppressed: false });
  await calls.call('POST', '/suppressions', { emails: [here] });
  await toSendGrid([{ email: here, event: 'group_resubscribe' }]);
  expect(await stateOf(here)).toMatchObject({ reason: 'added' });
});

test('resumes messages to an address that Postmark reactivates, unless its user complained', async () => {
  const change = (Recipient: string, over: object) =>
    toPostmark({ RecordType: 'SubscriptionChange', Recipient, SuppressSending: true, ...over });
  for (const [address, SuppressionReason, after] of [
    ['pm-bounced@example.com', 'HardBounce', null],
    ['pm-manual@example.com', 'ManualSuppression', null],
    ['pm-angry@example.com', 'SpamComplaint', 'complained'],
  ] as const) {
    await change(address, { SuppressionReason, Origin: 'Recipient' });
    expect((await stateOf(address)).suppressed).toBe(true);
    expect((await change(address, { SuppressSending: false, SuppressionReason: null })).statusCode).toBe(200);
    expect((await stateOf(address)).reason).toBe(after);
  }
});

test.each([
  ['leser@bücher.example', 'leser@xn--bcher-kva.example'],
  ['leser@xn--strae-oqa.example', 'leser@straße.example'],
  ['読者@例え.example', '読者@xn--r8jz45g.example'],
])('treats %s and %s as the same address', async (first, second) => {
  await calls.call('POST', '/suppressions', { emails: [first] });
  expect(await stateOf(second)).toMatchObject({ suppressed: true, reason: 'added' });
  expect((await calls.call('POST', '/suppressions/remove', { email: second })).json().data.suppressed).toBe(false);
  expect(await stateOf(first)).toMatchObject({ suppressed: false });
});

test('accepts a signature for 15 minutes and applies each call once', async () => {
  const event = { email: 'replayed@example.com', event: 'bounce', type: 'bounce' };
  expect((await toSendGrid([event], 3600)).statusCode).toBe(401);
  expect((await toSendGrid([event], -3600)).statusCode).toBe(401);
  const token = 'a'.repeat(50);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', mailgunKey)
    .update(timestamp + token)
    .digest('hex');
  const unsubscribed = JSON.stringify({
    signature: { timestamp, token, signature },
    'event-data': { event: 'unsubscribed', recipient: 'replayed@example.com' },
  });
  expect((await post('mailgun', unsubscribed)).statusCode).toBe(200);
  expect(
    (await calls.call('POST', '/suppressions/remove', { email: 'replayed@example.com' })).json().data.suppressed,
  ).toBe(false);
  expect((await post('mailgun', unsubscribed)).statusCode).toBe(200);
  expect(await stateOf('replayed@example.com')).toMatchObject({ suppressed: false });
});

const hostile: readonly unknown[] = [
  ...[null, 1, true, 'text', [], {}, [[]], [null], [[{}]], { toString: 1 }, { constructor: 1 }, { __proto__: null }],
  { signature: { timestamp: { toString: 1 } } },
  { signature: { timestamp: { toString: 1 }, token: { toString: 1 }, signature: { toString: 1 } } },
  { signature: [], 'event-data': [] },
  { signature: { timestamp: '1', token: ['a'], signature: null } },
  [{ email: { toString: 1 }, event: { toString: 1 }, type: [], reason: { toString: 1 } }],
  [{ email, event: 'dropped', reason: 'constructor' }],
  { RecordType: 'SubscriptionChange', Recipient: email, SuppressSending: true, SuppressionReason: { toString: 1 } },
  { RecordType: 'SubscriptionChange', Recipient: email, SuppressSending: false, SuppressionReason: 'constructor' },
  { RecordType: 'Bounce', Type: { toString: 1 }, Email: email, Details: { toString: 1 }, Metadata: { toString: 1 } },
  { RecordType: 'Bounce', Type: '__proto__', Email: { toString: 1 } },
  { Type: 'Notification', TopicArn: topic, Message: { toString: 1 }, SigningCertURL: { toString: 1 }, Signature: [] },
  { Type: { toString: 1 }, TopicArn: topic },
  { Type: 'constructor', TopicArn: topic, SigningCertURL: 'x', Signature: 'x' },
];

test.each(['sendgrid', 'mailgun', 'postmark', 'ses'])(
  'never responds with 500 to hostile request bodies for %s',
  async (provider) => {
    const texts = [
      ...hostile.map((body) => JSON.stringify(body)),
      ...['', '{', '\u0000', '[', '"', 'NaN', '{"__proto__":{"signature":1}}', '{"a":'.repeat(5)],
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      `{"signature":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
      ' '.repeat(2_000_000),
    ];
    for (const text of texts)
      for (const headers of [
        {},
        login,
        { 'content-type': 'text/plain' },
        { 'content-type': 'text/plain; charset=UTF-8' },
      ])
        expect((await post(provider, text, headers)).statusCode, text.slice(0, 100)).toBeLessThan(500);
    for (const body of hostile) expect((await toSendGrid(body)).statusCode).toBe(200);
  },
);

describe('SNS certificates', () => {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = keys.publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const at = (name: string, host = 'sns.eu-west-1.amazonaws.com') =>
    `https://${host}/SimpleNotificationService-${name}.pem`;
  const messageWith = (url: string, over: Record<string, string> = {}) => {
    const message: Record<string, string> = {
      Message: 'a text',
      MessageId: '1',
      Timestamp: new Date().toISOString(),
      TopicArn: topic,
      Type: 'Notification',
      SigningCertURL: url,
      SignatureVersion: '2',
      ...over,
    };
    const text = ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type'].map((name) => `${name}\n${message[name]}\n`);
    return { ...message, Signature: sign('sha256', Buffer.from(text.join('')), keys.privateKey).toString('base64') };
  };

  test('are fetched only a few times in ten minutes, however many URLs an attacker invents', async () => {
    const clock = { ms: 0 };
    const fetched: string[] = [];
    const fetchText = async (url: string) => {
      fetched.push(url);
      if (url !== at('good')) throw new Error('404');
      return pem;
    };
    const read = createSnsReader(topic, fetchText, () => clock.ms);
    expect(await read(messageWith(at('good')))).toMatchObject({ text: 'a text' });
    for (let number = 0; number < 100; number++)
      await expect(read(messageWith(at(`bad${number}`)))).rejects.toMatchObject({ code: 'unavailable' });
    expect(fetched).toHaveLength(5);
    expect(await read(messageWith(at('good')))).toMatchObject({ text: 'a text' });
    clock.ms = 600_001;
    await expect(read(messageWith(at('late')))).rejects.toMatchObject({ code: 'unavailable' });
    expect(fetched).toHaveLength(6);
  });

  test.each([
    at('x', 'sns.us-east-1.amazonaws.com'),
    at('x', 'sns.eu-west-1.amazonaws.com.evil.example'),
    at('x', 'snsXeu-west-1.amazonaws.com'),
    `${at('x')}?a=.pem`,
    at('../x'),
  ])('are not fetched from %s', async (url) => {
    const read = createSnsReader(topic, () => Promise.reject(new Error('fetched')));
    expect(await read(messageWith(url))).toBeNull();
  });

  test('do not make a message valid if they are invalid', async () => {
    const read = createSnsReader(topic, async () => 'no certificate');
    expect(await read(messageWith(at('x')))).toBeNull();
  });
});
