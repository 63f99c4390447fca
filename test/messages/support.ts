import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { expect } from 'vitest';
import { uspCalls } from '../perks/usp/calls.ts';
import type { TestApp } from '../support/test-app.ts';

/** What a mail server does with the next mails. */
type Mood = 'takes' | 'takes and hangs up' | 'refuses the address' | 'refuses the sender' | 'is busy';
export type Received = { to: string; raw: string; messageId: string };

/** A mail server that counts. */
export async function openMailServer() {
  const server = { mood: 'takes' as Mood, received: [] as Received[] };
  const refusals: { [Name in Mood]?: [number, string] } = {
    'refuses the address': [550, '5.1.1 no such mailbox'],
    'refuses the sender': [550, '5.7.1 you may not relay'],
    'is busy': [451, '4.3.2 later'],
  };
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo: (_address, _session, done) => {
      const [responseCode, message] = refusals[server.mood] ?? [0, ''];
      done(responseCode === 0 ? null : Object.assign(new Error(message), { responseCode }));
    },
    onData: (stream, session, done) => {
      text(stream).then((raw) => {
        const messageId = /^message-id: (.*)\r$/im.exec(raw)?.[1] ?? '';
        server.received.push({ to: session.envelope.rcptTo.map(({ address }) => address).join(), raw, messageId });
        // It has the mail, and the sender never learns that.
        if (server.mood === 'takes and hangs up') done(Object.assign(new Error('gone'), { responseCode: 421 }));
        else done();
      }, done);
    },
  });
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve));
  const { port } = smtp.server.address() as AddressInfo;
  return Object.assign(server, {
    mail: { host: '127.0.0.1', port, secure: false, credentials: null, from: 'Perks <perks@example.com>' },
    close: () => new Promise<void>((resolve) => smtp.close(() => resolve())),
  });
}

const headers = { authorization: 'Bearer demo-key' };

export type Logged = {
  id: string;
  session_id: string;
  kind: string;
  state: string;
  attempts: number;
  error: string | null;
  next_attempt_at: string | null;
};

/** What tests do with messages. */
export function messageCalls(t: TestApp) {
  const usp = uspCalls(t);
  const call = (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object, key = 'demo-key') =>
    t.app.inject({
      ...{ method, url: `/manage/v1/perk-messages${path}`, headers: { authorization: `Bearer ${key}` } },
      ...(payload === undefined ? {} : { payload }),
    });
  const logOf = async (session: string): Promise<Logged | undefined> => {
    const answer = await t.app.inject({ url: '/manage/v1/perk-messages', headers });
    return (answer.json().data as Logged[]).find(({ session_id: id }) => id === session);
  };
  return {
    call,
    logOf,
    settings: (payload: object) => call('PATCH', '/settings', payload),
    untilState: (session: string, state: string) => expect.poll(async () => (await logOf(session))?.state).toBe(state),
    wrap: async (user: string, body: object) => {
      const { id, offers } = await usp.fetch({ pub_user_id: user });
      const [offer] = offers;
      const answer = await usp.call('POST', `session/${id}.json`, {
        body: { action: 'wrap', pub_user_id: user, selected: [offer?.campaign_id], ...body },
      });
      return { id, offer: offer as { id: number }, answer };
    },
  };
}

/** The headers, each on one line. */
export const headOf = (raw: string): string =>
  (raw.split('\r\n\r\n')[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' ').replaceAll('\r\n', '\n');

/** A part of a mail, decoded. */
export function partOf(raw: string, type: string): string {
  const part = raw.split(/\r\n--[^\r]*\r\n/).find((one) => one.toLowerCase().startsWith(`content-type: ${type}`)) ?? '';
  const body = part.slice(part.indexOf('\r\n\r\n') + 4);
  if (/base64/i.test(part.slice(0, 200))) return Buffer.from(body, 'base64').toString();
  const joined = body.replaceAll(/=\r\n/g, '');
  const latin = joined.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(latin, 'latin1').toString();
}
