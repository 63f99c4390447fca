import { parseEmail } from '../../accounts/users.ts';
import type { Config } from '../../config.ts';
import { createCodeDigests, foldCode } from '../../coupons/issuer.ts';
import { equivalentSql } from '../../coupons/redemption.ts';
import { findUserDecisions } from '../../offers/user-decisions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { isPossibleUuid7 } from '../../platform/lib/uuid7.ts';
import { createAddressKeys } from '../../platform/security/address-key.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import type { Tracking } from '../../tracking/module.ts';
import { readDeliveryId } from '../../webhooks/delivery-filter.ts';
import { findDelivery } from '../../webhooks/delivery-store.ts';
import { hasRows } from './read.ts';

/** Kinds of IDs that lead to a session. */
export type IdKind =
  | 'session'
  | 'delivery'
  | 'click'
  | 'transaction'
  | 'conversion'
  | 'coupon'
  | 'user'
  | 'message'
  | 'address';

/** Sessions that an ID leads to, newest first. */
export type Match = { kind: IdKind; sessionIds: readonly string[] };

export type ResolveDeps = {
  config: Config;
  clickIds: Tracking['clickIds'];
  now: () => number;
};

/** Maximum number of sessions of one ID. */
const maxSessions = 50;
const maxLength = 256;

/**
 * Creates a function that finds the sessions of a publisher to which an ID belongs: a session, delivery, click,
 * transaction, conversion, coupon code, user, message or e-mail address. IDs of other publishers match nothing.
 */
export function createResolve({ config, clickIds, now }: ResolveDeps) {
  const digestsOf = createCodeDigests(config);
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const addressKeys = createAddressKeys(config);

  type Scope = { executor: Executor; publisherId: number };

  async function bySession({ executor, publisherId }: Scope, kind: IdKind, sessionId: string): Promise<Match[]> {
    if (!isPossibleUuid7(sessionId, now())) return [];
    return (await hasRows(executor, publisherId, sessionId)) ? [{ kind, sessionIds: [sessionId] }] : [];
  }

  async function byDelivery(scope: Scope, text: string): Promise<Match[]> {
    const id = readDeliveryId(text, now());
    const delivery = id === null ? null : await findDelivery(scope.executor, scope.publisherId, id);
    const sessionId = delivery?.session_id ?? null;
    return sessionId === null ? [] : bySession(scope, 'delivery', sessionId);
  }

  /** Finds a session by the ID of a conversion or message. For a message, the Message-ID header also works. */
  async function byRow(scope: Scope, text: string): Promise<Match[]> {
    const { executor, publisherId } = scope;
    const [id = ''] = text.toLowerCase().replace(/^</, '').split('@');
    if (!isPossibleUuid7(id, now())) return [];
    const [conversion, message] = await Promise.all([
      sessionOfConversion(executor, publisherId, id),
      sessionOfMessage(executor, publisherId, id),
    ]);
    return [
      ...(conversion === null ? [] : await bySession(scope, 'conversion', conversion)),
      ...(message === null ? [] : await bySession(scope, 'message', message)),
    ];
  }

  async function byAddress(scope: Scope, text: string): Promise<string[]> {
    const { executor, publisherId } = scope;
    const email = parseEmail(text);
    if (email === null) return [];
    return sessionsOfAddress(executor, publisherId, addressKeys(publisherId, email));
  }

  async function byText(scope: Scope, text: string): Promise<Match[]> {
    const { executor, publisherId } = scope;
    const keys = userKeys.allOf(publisherId, text);
    const [transactions, coupons, addresses, sessions] = await Promise.all([
      sessionsOfTransaction(executor, publisherId, text),
      sessionsOfCoupon(executor, publisherId, digestsOf(foldCode(text.trim()))),
      byAddress(scope, text),
      findUserDecisions(executor, { publisherId, userKeys: keys, identifier: text, limit: maxSessions }),
    ]);
    const matches: Match[] = [
      { kind: 'transaction', sessionIds: transactions },
      { kind: 'coupon', sessionIds: coupons },
      { kind: 'address', sessionIds: addresses },
      { kind: 'user', sessionIds: sessions.map(({ sessionId }) => sessionId) },
    ];
    return matches.filter(({ sessionIds }) => sessionIds.length > 0);
  }

  return async (executor: Executor, publisherId: number, typed: string): Promise<Match[]> => {
    const scope: Scope = { executor, publisherId };
    const text = typed.trim();
    if (text === '' || text.length > maxLength || text.includes('\0') || !text.isWellFormed()) return [];
    const click = clickIds.read(text);
    if (click !== null) return bySession(scope, 'click', click.sessionId);
    const matches = await Promise.all([
      bySession(scope, 'session', text.toLowerCase()),
      byDelivery(scope, text),
      byRow(scope, text),
      byText(scope, text),
    ]);
    return matches.flat();
  };
}

async function sessionsOfTransaction(executor: Executor, publisherId: number, txnId: string): Promise<string[]> {
  const { rows } = await executor.query<{ id: string }>({
    name: 'sessions_of_transaction',
    // A transaction ID can occur any number of times, because the key of a conversion contains its session.
    text: `select distinct id from (
        select session_id as id from conversions where publisher_id = $1 and txn_id = $2
        order by day desc limit ${maxSessions * 20}
      ) latest order by id desc limit ${maxSessions}`,
    values: [publisherId, txnId],
  });
  return rows.map(({ id }) => id);
}

async function sessionsOfCoupon(
  executor: Executor,
  publisherId: number,
  digests: readonly string[],
): Promise<string[]> {
  const { rows } = await executor.query<{ id: string }>({
    name: 'sessions_of_coupon',
    text: `select distinct session_id as id from (
        select session_id from (${equivalentSql(
          'c.session_id',
          '$2::uuid[]',
          'c.publisher_id = $1 and c.held_until is null',
        )}) c limit ${maxSessions}
      ) as given order by id desc`,
    values: [publisherId, digests],
  });
  return rows.map(({ id }) => id);
}

async function sessionOfConversion(executor: Executor, publisherId: number, id: string): Promise<string | null> {
  const { rows } = await executor.query<{ session_id: string }>({
    name: 'session_of_conversion',
    text: 'select session_id from conversions where id = $1::uuid and publisher_id = $2 limit 1',
    values: [id, publisherId],
  });
  return rows[0]?.session_id ?? null;
}

async function sessionOfMessage(executor: Executor, publisherId: number, id: string): Promise<string | null> {
  const { rows } = await executor.query<{ session_id: string }>({
    name: 'session_of_message',
    text: 'select session_id from perk_messages where id = $1::uuid and publisher_id = $2',
    values: [id, publisherId],
  });
  return rows[0]?.session_id ?? null;
}

/** Returns the sessions whose messages were sent to an address. */
async function sessionsOfAddress(
  executor: Executor,
  publisherId: number,
  addressKeys: readonly string[],
): Promise<string[]> {
  const { rows } = await executor.query<{ id: string }>({
    name: 'sessions_of_address',
    text: `select distinct session_id as id from perk_messages
      where publisher_id = $1 and address_key = any($2::uuid[]) order by id desc limit ${maxSessions}`,
    values: [publisherId, addressKeys],
  });
  return rows.map(({ id }) => id);
}
