import { describe, expect, test } from 'vitest';
import { readReply } from '../../src/messages/replies.ts';
import { missingMailboxes, otherRefusals } from './reply-samples.ts';

const mail = { sender: 'perks@relay.example', recipient: 'reader@shop.example' };

describe('mail server replies', () => {
  test.each(missingMailboxes)('%s reports a missing mailbox: %s', (_server, text) => {
    expect(readReply({ ...mail, text }).refusal).toBe('recipient');
  });

  test.each(otherRefusals)('attributes the refusal to %s (%s) instead of the recipient: %s', (refusal, _kind, text) => {
    expect(readReply({ ...mail, text }).refusal).toBe(refusal);
  });

  test('ignores keywords in e-mail addresses', () => {
    const text = '550 5.7.1 <no-such-user@shop.example>: rejected';
    expect(readReply({ text, recipient: 'no-such-user@shop.example' }).refusal).toBe('sender');
    const gone = '550 5.1.1 <relay-spam-sender@shop.example>: User unknown';
    expect(readReply({ text: gone, recipient: 'relay-spam-sender@shop.example' }).refusal).toBe('recipient');
  });

  test('parses the reply code and the enhanced status code', () => {
    expect(readReply({ text: '550-5.1.1 gone\n550 5.1.1 gone' })).toMatchObject({ code: 550, status: '5.1.1' });
    expect(readReply({ text: 'smtp; 552 5.2.2 full' })).toMatchObject({ code: 552, status: '5.2.2' });
    expect(readReply({ text: '' })).toEqual({ refusal: 'unclear', code: 0, status: null });
  });

  test.each([
    ['spaces', ' '.repeat(100_000)],
    ['words', 'user '.repeat(20_000)],
    ['dots', '5.1.'.repeat(20_000)],
    ['addresses', 'a@'.repeat(20_000)],
    ['a long word', 'x'.repeat(100_000)],
    ['links', 'https://'.repeat(10_000)],
  ])('parses a huge reply of %s quickly', (_name, text) => {
    const start = process.cpuUsage();
    readReply({ text: `550 5.1.1 ${text}` });
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(200);
  });
});
