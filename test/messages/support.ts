import { expect } from 'vitest';
import { uspCalls } from '../perks/usp/calls.ts';
import type { TestBase } from '../support/test-modules.ts';

const headers = { authorization: 'Bearer demo-key' };

export type Logged = {
  id: string;
  session_id: string;
  kind: string;
  state: string;
  attempts: number;
  error: string | null;
  refusal: string | null;
  reply: string | null;
  can_retry: boolean;
  next_attempt_at: string | null;
};

/** Returns message-related calls for tests. */
export function messageCalls(t: TestBase) {
  const usp = uspCalls(t);
  const call = (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object, key = 'demo-key') =>
    t.app.inject({
      method,
      url: `/manage/v1/perk-messages${path}`,
      headers: { authorization: `Bearer ${key}` },
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

/** Returns the headers of an email, each on one line. */
export const headOf = (raw: string): string =>
  (raw.split('\r\n\r\n')[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' ').replaceAll('\r\n', '\n');

/** Returns one decoded part of an email. */
export function partOf(raw: string, type: string): string {
  const part =
    raw.split(/\r\n--[^\r]*\r\n/).find((section) => section.toLowerCase().startsWith(`content-type: ${type}`)) ?? '';
  const body = part.slice(part.indexOf('\r\n\r\n') + 4);
  if (/base64/i.test(part.slice(0, 200))) return Buffer.from(body, 'base64').toString();
  const joined = body.replaceAll(/=\r\n/g, '');
  const latin = joined.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(latin, 'latin1').toString();
}
