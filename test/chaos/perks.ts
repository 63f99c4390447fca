import type pg from 'pg';
import { createPublisher } from '../../bench/catalogue.ts';
import { couponContext } from '../../src/coupons/seals.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { createSecretBox } from '../../src/platform/security/secret-box.ts';
import { freePort, processSecrets, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { openMailServer } from '../support/smtp-server.ts';

/** Result of a perk run. All values except for the counts must be 0. */
export type PerkVerdict = {
  ok: boolean;
  kills: number;
  /**
   * Number of wraps that were answered with 200. The next field counts those that had to be retried because their
   * process was killed.
   */
  wraps: number;
  repeated: number;
  codes: number;
  /**
   * Number of codes that two users have. The next fields count codes that no user has once the pool is empty, and
   * responses with a different code than the stored one.
   */
  twice: number;
  lost: number;
  wrong: number;
  /** Number of users who got a code although they confirmed after their hold had expired. */
  afterHold: number;
  mails: number;
  messageIds: number;
  /** Number of wraps with consent but without an email. The next field counts emails without such a wrap. */
  missing: number;
  phantom: number;
};

type Size = { kills: number; parallel: number };

const key = 'chaos-perks';
/** Number of users per round who only select, and therefore hold a code. Four times as many users wrap. */
const holdersOf = (parallel: number): number => Math.ceil(parallel / 4);
/** Number of codes in addition to those that the rounds can use. */
const spare = 20;

type Session = { id: string; user: string; campaignId: number };
type Coupon = { code: string } | null;

/**
 * Runs rounds of concurrent wraps on two processes, one of which is killed at a random response. Interrupted calls are
 * retried on the other process. Then the holds expire, new users get the remaining codes, and the holders confirm too
 * late.
 */
export async function perkRun(
  seed: number,
  { databaseUrl, pool, kills, parallel }: Size & { databaseUrl: string; pool: pg.Pool },
): Promise<PerkVerdict> {
  const draw = createRandom(seed);
  const mails = await openMailServer();
  const env = { SMTP_URL: `smtp://127.0.0.1:${mails.mail.port}`, MAIL_FROM: mails.mail.from, LOG_LEVEL: 'fatal' };
  await createPublisher(pool, { key, campaigns: 1 });
  const ports = [await freePort(), await freePort()];
  const start = (at: number): Promise<ServerProcess> =>
    startServerProcess({ databaseUrl, port: ports[at] as number, env });
  const servers = await Promise.all([start(0), start(1)]);
  try {
    const holders = holdersOf(parallel);
    const codes = Array.from({ length: kills * (parallel + holders) + spare }, (_, index) => `CODE-${seed}-${index}`);
    const call = createCalls(ports, key);
    const { offerId } = await setUp(pool, call, codes);
    const couponBySession = new Map<string, Coupon>();
    const consented = new Set<string>();
    const holderSessions: Session[] = [];
    let repeated = 0;
    for (let round = 0; round < kills; round += 1) {
      const [victim, other] = [round % 2, (round + 1) % 2];
      const sessions = await fetchSessions(call, parallel + holders, `r${round}`);
      const killAt = Math.floor(draw() * parallel);
      let answers = 0;
      let killed: Promise<void> | null = null;
      const onAnswer = (): void => {
        answers += 1;
        if (answers >= killAt) killed ??= servers[victim]?.kill() ?? null;
      };
      await Promise.all(
        sessions.map(async (session, index) => {
          if (index >= parallel) {
            holderSessions.push(session);
            const select = `/sdk/v4/usp/${session.id}/${session.campaignId}/select.json`;
            if ((await call(index % 2, select)) === null) await call(other, select);
            return;
          }
          const consents = index % 4 > 0;
          if (consents) consented.add(session.id);
          let answer = await wrap(call, index % 2, session, consents);
          onAnswer();
          if (answer === null) {
            repeated += 1;
            await killed;
            answer = await wrap(call, other, session, consents);
          }
          if (answer !== null) couponBySession.set(session.id, answer.coupon);
        }),
      );
      await killed;
      servers[victim] = await start(victim);
    }
    const rest = await assignRemaining(pool, call, { holderSessions, total: codes.length });
    for (const [session, coupon] of rest.told) couponBySession.set(session, coupon);
    const codeBySession = await readIssued(pool, offerId);
    const issuedCodes = new Set(codeBySession.values());
    const wrong = [...couponBySession].filter(
      ([session, coupon]) => (coupon?.code ?? null) !== (codeBySession.get(session) ?? null),
    );
    const sent = await judgeMails(pool, mails.received, consented);
    const verdict = {
      kills,
      wraps: couponBySession.size,
      repeated,
      codes: codes.length,
      twice: codeBySession.size - issuedCodes.size,
      lost: codes.filter((code) => !issuedCodes.has(code)).length,
      wrong: wrong.length,
      afterHold: rest.afterHold,
      ...sent,
    };
    const broken = verdict.twice + verdict.lost + verdict.wrong + verdict.afterHold + sent.missing + sent.phantom;
    return { ok: broken === 0 && verdict.wraps > 0 && verdict.mails > 0, ...verdict };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await mails.close();
  }
}

export type CallAt = (at: number, path: string, body?: object, method?: string) => Promise<unknown>;

/** Returns a function that calls one of the processes. It resolves with null if the process did not respond. */
export function createCalls(ports: readonly number[], apiKey: string): CallAt {
  return async (at, path, body = {}, method = 'POST') => {
    try {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` };
      const url = `http://127.0.0.1:${ports[at]}${path}`;
      const signal = AbortSignal.timeout(60_000);
      const answer = await fetch(url, { method, headers, signal, body: JSON.stringify(body) });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  };
}

async function setUp(pool: pg.Pool, call: CallAt, codes: readonly string[]): Promise<{ offerId: number }> {
  const { rows } = await pool.query<{ id: number }>(
    'select o.id from offers o join publishers p on p.id = o.publisher_id where p.name = $1',
    [key],
  );
  const offerId = rows[0]?.id ?? 0;
  await call(0, `/manage/v1/offers/${offerId}/coupon-codes`, { codes });
  await call(0, `/manage/v1/offers/${offerId}/coupon-pool`, { hold_minutes: 1440 }, 'PATCH');
  await call(0, '/manage/v1/perk-messages/settings', { enabled: true }, 'PATCH');
  return { offerId };
}

type Fetched = { data: { session_id: string; offers: { campaign_id: number }[] } };

/** Opens sessions of different users that show the offer, on both processes. */
async function fetchSessions(call: CallAt, count: number, prefix: string): Promise<Session[]> {
  const fetchOne = async (index: number): Promise<Session> => {
    const user = `${prefix}-${index}`;
    for (;;) {
      const body = { placement: 'checkout', pub_user_id: user };
      const fetched = (await call(index % 2, '/native/v4/offers.json', body)) as Fetched | null;
      const campaignId = fetched?.data.offers[0]?.campaign_id;
      if (fetched !== null && campaignId !== undefined) return { id: fetched.data.session_id, user, campaignId };
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return Promise.all(Array.from({ length: count }, (_, index) => fetchOne(index)));
}

type Wrapped = { data: { campaigns?: { coupon: Coupon }[] } };

/** @returns the wrap result, or null if there was no response */
async function wrap(call: CallAt, at: number, { id, user, campaignId }: Session, consents: boolean) {
  const consent = consents ? { consent: true, email: `${user}@example.com` } : {};
  const body = { action: 'wrap', selected: [campaignId], ...consent };
  const wrapped = (await call(at, `/sdk/v4/usp/session/${id}.json`, body)) as Wrapped | null;
  return wrapped === null ? null : { coupon: wrapped.data.campaigns?.[0]?.coupon ?? null };
}

/** Expires the holds and gives all remaining codes to new users. The holders confirm afterwards. */
async function assignRemaining(
  pool: pg.Pool,
  call: CallAt,
  { holderSessions, total }: { holderSessions: Session[]; total: number },
) {
  const { rows } = await pool.query<{ given: number }>(
    'select count(*)::int as given from coupons where held_until is null',
  );
  const late = await fetchSessions(call, total - (rows[0]?.given ?? 0), 'late');
  await pool.query("update coupons set held_until = now() - interval '1 second' where held_until is not null");
  const couponBySession = new Map<string, Coupon>();
  const answers = await Promise.all(late.map((session, index) => wrap(call, index % 2, session, false)));
  for (const [index, answer] of answers.entries()) couponBySession.set(late[index]?.id ?? '', answer?.coupon ?? null);
  const ofHolders = await Promise.all(holderSessions.map((session, index) => wrap(call, index % 2, session, false)));
  for (const [index, answer] of ofHolders.entries())
    couponBySession.set(holderSessions[index]?.id ?? '', answer?.coupon ?? null);
  return {
    told: couponBySession,
    afterHold: ofHolders.filter((answer) => answer === null || answer.coupon !== null).length,
  };
}

/** Returns the codes that users have, by session. */
async function readIssued(pool: pg.Pool, offerId: number): Promise<Map<string, string>> {
  const box = createSecretBox(Buffer.from(processSecrets.SECRETS_KEY, 'base64'));
  const { rows } = await pool.query<{ user_key: string; offer_id: number; session_id: string; sealed: Buffer }>(
    'select user_key, offer_id, session_id, sealed from coupons where offer_id = $1 and held_until is null',
    [offerId],
  );
  return new Map(
    rows.map((row) => [row.session_id, box.open(row.sealed, couponContext([row.user_key, row.offer_id]))]),
  );
}

type Received = Awaited<ReturnType<typeof openMailServer>>['received'];

/** Compares the emails that the server accepted, by Message-ID, with the wraps that were confirmed with consent. */
async function judgeMails(pool: pg.Pool, received: Received, consented: ReadonlySet<string>) {
  for (;;) {
    // Messages that a killed process had claimed stay pending until its lease of two minutes expires.
    const { rowCount } = await pool.query(
      "update perk_messages set due_at = least(due_at, now()) where state = 'pending'",
    );
    if (rowCount === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 3000));
  }
  const { rows: wrapped } = await pool.query<{ session_id: string }>(
    "select session_id from usp_sessions where wrapped_at is not null and selected <> '{}'",
  );
  const expectedSessions = new Set(wrapped.map(({ session_id: id }) => id).filter((id) => consented.has(id)));
  const { rows: messages } = await pool.query<{ id: string; session_id: string }>(
    'select id, session_id from perk_messages',
  );
  const sessionOf = new Map(messages.map(({ id, session_id: session }) => [`<${id}@localhost>`, session]));
  const ids = new Set(received.map(({ messageId }) => messageId));
  const mailed = new Set([...ids].map((id) => sessionOf.get(id)));
  return {
    mails: received.length,
    messageIds: ids.size,
    missing: [...expectedSessions].filter((session) => !mailed.has(session)).length,
    phantom: [...ids].filter((id) => !expectedSessions.has(sessionOf.get(id) ?? '')).length + ids.size - mailed.size,
  };
}
